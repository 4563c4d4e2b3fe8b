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

/// The number of elements from one line to the next, so that each begins where a warp's access may.
int64_t line_elements(const Operation& operation, int64_t depth) {
  constexpr int64_t kAccessBytes = 128;
  return round_up(depth, kAccessBytes / element_bytes(operation.dtype));
}

int64_t lines_of(const MatrixView& view, Side side) { return side == Side::kA ? view.rows : view.cols; }
int64_t depth_of(const MatrixView& view, Side side) { return side == Side::kA ? view.cols : view.rows; }

bool is_along_k(const MatrixView& view, Side side) {
  const int64_t stride = side == Side::kA ? view.col_stride : view.row_stride;
  return view.storage == Storage::kElement && (stride == 1 || depth_of(view, side) == 1);
}

/// Calls `body` for runs of instances that a grid can hold.
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
  if (is_along_k(view, side)) return 0;
  return items_of(view, batch) * lines_of(view, side) * line_elements(operation, depth_of(view, side)) *
         element_bytes(operation.dtype);
}

MatrixView copy_along_k(const Operation& operation, int64_t batch, const MatrixView& view, Side side, void* memory,
                        cudaStream_t stream) {
  if (is_along_k(view, side)) return view;
  const bool is_a = side == Side::kA;
  const int64_t lines = lines_of(view, side), depth = depth_of(view, side), pitch = line_elements(operation, depth);
  // The steps of K take the part of the lines that packing puts side by side.
  const PackSource source{view.data,
                          depth,
                          lines,
                          is_a ? view.col_stride : view.row_stride,
                          is_a ? view.row_stride : view.col_stride,
                          view.batch_stride,
                          view.storage};
  const PackTarget target{memory, items_of(view, batch), pitch, lines};
  with_semiring_that<Idempotent>(operation.semiring, operation.dtype, [&](auto semiring) {
    using S = decltype(semiring);
    pack<CopyElements<S>>(source, target, {S::zero}, stream);
  });
  MatrixView copy{memory, view.rows, view.cols, is_a ? pitch : 1, is_a ? 1 : pitch};
  copy.batch_stride = view.batch_stride == 0 ? 0 : lines * pitch;
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
