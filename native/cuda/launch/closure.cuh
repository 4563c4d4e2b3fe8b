// The host side of the closure family.
#pragma once
#include <algorithm>

#include "cuda/device/error.h"
#include "cuda/kernels/closure.cuh"
#include "cuda/launch/closure.h"
#include "cuda/launch/kernel.h"

namespace mpmml::cuda {

/// Whether rows of a matrix can be read and written so.
inline bool takes_chunks(const MutableMatrixView& view, int64_t bytes, int64_t batch) {
  const int64_t chunk = bytes == 8 ? 2 : 4;
  return view.row_stride % chunk == 0 && (batch <= 1 || view.batch_stride % chunk == 0) &&
         reinterpret_cast<uintptr_t>(view.data) % (chunk * bytes) == 0;
}

template <int... parameters>
struct Family<ClosureConfig<parameters...>> {
  using Config = ClosureConfig<parameters...>;

  template <class S>
  static constexpr ClosureKernel kernel(SemiringId semiring, DataType dtype) {
    return {semiring, dtype, Config::kPivots, Config::kOthers, &launch<S>};
  }

 private:
  template <class S>
  static void launch(const ClosureLaunch& whole) {
    ClosureGrid grid{1, false};
    unsigned blocks = 1;
    if constexpr (Config::kOthers > 0) {
      const auto blocks_for = [&](int64_t nodes) {
        return static_cast<unsigned>(std::max<int64_t>(1, ceil_div(nodes - whole.count, Config::kOthers)));
      };
      grid.row_blocks = blocks_for(whole.down.rows);
      blocks = grid.row_blocks + blocks_for(whole.along.cols);
    }
    const int64_t most = blocks > 1 ? kArrivals : kMaxBlocks;
    for (int64_t first = 0; first < whole.batch; first += most) {
      ClosureLaunch part = whole;
      part.batch = std::min(most, whole.batch - first);
      part.gain += first * part.gain_stride;
      grid.takes_chunks = whole.first_col % Config::kSide == 0 &&
                          (whole.count % Config::kSide == 0 || whole.first_col + whole.count == whole.along.cols);
      const auto move = [&](MutableMatrixView& view, int64_t bytes) {
        if (!view.data) return;
        view.data = static_cast<char*>(view.data) + first * view.batch_stride * bytes;
        grid.takes_chunks &= takes_chunks(view, bytes, part.batch);
      };
      constexpr int64_t kBytes = sizeof(typename S::Element);
      move(part.down, kBytes);
      move(part.along, kBytes);
      move(part.columns, kBytes);
      move(part.rows, kBytes);
      move(part.next_down, sizeof(int32_t));
      move(part.next_along, sizeof(int32_t));
      move(part.next_columns, sizeof(int32_t));
      const dim3 size(blocks, static_cast<unsigned>(part.batch));
      const auto kernel = part.next_down.data ? &closure_kernel<Config, S, true> : &closure_kernel<Config, S, false>;
      kernel<<<size, Config::kThreads, 0, part.stream>>>(part, grid);
      MPMML_CUDA(cudaGetLastError());
    }
  }
};

}  // namespace mpmml::cuda
