#include <algorithm>

#include "core/algebra/dispatch.h"
#include "cuda/device/error.h"
#include "cuda/kernels/successors.cuh"
#include "cuda/launch/kernel.h"
#include "cuda/runtime/successors.h"

namespace mpmml::cuda {
namespace {

static_assert(kRowsTogether == kRowsOfSuccessors);

template <class Config, class S>
void launch(const NextNodes& successors, cudaStream_t stream) {
  const int64_t blocks =
      ceil_div(successors.next.rows, kRowsTogether) * ceil_div(successors.next.cols, int64_t{Config::kStripe});
  for_runs(successors.batch, [&](Span items) {
    const dim3 grid(static_cast<unsigned>(blocks), 1, static_cast<unsigned>(items.size()));
    const int64_t first = items.first;
    const DataType dtype = successors.operation.dtype;
    const NextNodeSearch search{view_from(successors.d, dtype, first, 0, 0),
                                view_from(successors.via, dtype, first, 0, 0),
                                view_from(successors.next, DataType::kInt32, first, 0, 0), successors.first_via};
    find_successors_kernel<Config, S>
        <<<grid, Config::kThreads, 0, stream>>>(search, static_cast<typename S::Element>(successors.best_edge));
  });
  MPMML_CUDA(cudaGetLastError());
}

}  // namespace

void find_next_nodes(const NextNodes& successors, cudaStream_t stream) {
  if (successors.batch * successors.next.rows * successors.next.cols == 0) return;
  // Few columns in each block if there are few.
  constexpr int64_t kFew = 512;
  with_semiring<HasSuccessors>(successors.operation, [&](auto semiring) {
    using S = decltype(semiring);
    if (successors.next.cols <= kFew) return launch<SuccessorConfig<64, 2>, S>(successors, stream);
    launch<SuccessorConfig<256, 4>, S>(successors, stream);
  });
}

}  // namespace mpmml::cuda
