#include <algorithm>

#include "core/algebra/dispatch.h"
#include "cuda/device/error.h"
#include "cuda/kernels/witness.cuh"
#include "cuda/launch/packing.cuh"
#include "cuda/runtime/witness.h"

namespace mpmml::cuda {
namespace {

struct Idempotent {
  template <class S>
  static constexpr bool holds = S::idempotent;
};

/// Returns the pitch of a line in elements, so that every line is aligned to a warp's access.
int64_t line_elements(const Operation& operation, int64_t depth) {
  constexpr int64_t kAccessBytes = 128;
  return round_up(depth, kAccessBytes / element_bytes(operation.dtype));
}

bool is_along_k(const PackSource& source) {
  return source.storage == Storage::kElement && (source.k_stride == 1 || source.depth == 1);
}

/// Calls `body` for runs of batch entries that fit a grid.
template <class Body>
void for_instances_of(const Operation& operation, const WitnessSearch& search, Body&& body) {
  for_runs(search.batch, [&](Span items) {
    WitnessSearch part = search;
    part.batch = items.size();
    for (MatrixView* view : {&part.a, &part.b, &part.c, &part.before}) {
      *view = view_from(*view, operation.dtype, items.first, 0, 0);
    }
    part.witness = view_from(part.witness, DataType::kInt32, items.first, 0, 0);
    part.through = view_from(part.through, DataType::kInt32, items.first, 0, 0);
    body(part);
  });
  MPMML_CUDA(cudaGetLastError());
}

template <class S, OverflowPolicy overflow>
void launch_find_all(const WitnessSearch& part, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(ceil_div(part.m, kSearchTile) * ceil_div(part.n, kSearchTile)), 1,
                  static_cast<unsigned>(part.batch));
  find_all_kernel<S, overflow><<<grid, kSearchThreads, 0, stream>>>(part);
}

}  // namespace

int64_t bytes_along_k(const Operation& operation, int64_t batch, const MatrixView& view, Side side) {
  const PackSource source = pack_source(view, side);
  if (is_along_k(source)) return 0;
  return items_of(view, batch) * source.lines * line_elements(operation, source.depth) * element_bytes(operation.dtype);
}

MatrixView copy_along_k(const Operation& operation, int64_t batch, const MatrixView& view, Side side, void* memory,
                        cudaStream_t stream) {
  const PackSource source = pack_source(view, side);
  if (is_along_k(source)) return view;
  const int64_t pitch = line_elements(operation, source.depth);
  const PackTarget target{memory, items_of(view, batch), pitch, source.lines};
  with_semiring_that<Idempotent>(operation.semiring, operation.dtype, [&](auto semiring) {
    using S = decltype(semiring);
    pack<CopyElements<S>>(along_k(source), target, {S::zero}, stream);
  });
  const bool is_a = side == Side::kA;
  MatrixView copy{memory, view.rows, view.cols, is_a ? pitch : 1, is_a ? 1 : pitch};
  copy.batch_stride = view.batch_stride == 0 ? 0 : source.lines * pitch;
  return copy;
}

void find_hinted(const Operation& operation, const WitnessSearch& search, cudaStream_t stream) {
  with_semiring_that<Idempotent>(operation.semiring, operation.dtype, [&](auto semiring) {
    using S = decltype(semiring);
    for_instances_of(operation, search, [&](const WitnessSearch& part) {
      const dim3 grid(static_cast<unsigned>(part.m * ceil_div(part.n, kHintStripe)), 1,
                      static_cast<unsigned>(part.batch));
      find_hinted_kernel<S><<<grid, kHintThreads, 0, stream>>>(part);
    });
  });
}

void find_all(const Operation& operation, const WitnessSearch& search, cudaStream_t stream) {
  with_semiring_that<Idempotent>(operation.semiring, operation.dtype, [&](auto semiring) {
    using S = decltype(semiring);
    for_instances_of(operation, search, [&](const WitnessSearch& part) {
      if constexpr (S::can_overflow) {
        if (operation.overflow == OverflowPolicy::kWrap) {
          launch_find_all<S, OverflowPolicy::kWrap>(part, stream);
        } else if (operation.overflow == OverflowPolicy::kSaturate) {
          launch_find_all<S, OverflowPolicy::kSaturate>(part, stream);
        } else {
          launch_find_all<S, OverflowPolicy::kThrow>(part, stream);
        }
      } else {
        launch_find_all<S, OverflowPolicy::kThrow>(part, stream);
      }
    });
  });
}

}  // namespace mpmml::cuda
