// Queues samples of a product, for the ranked family (kernels/ranked_sample.cuh).
#pragma once
#include <cuda_runtime_api.h>

#include "cuda/kernels/ranked_sample.cuh"
#include "cuda/launch/packing.cuh"

namespace mpmml::cuda {

inline RankedLines ranked_lines(const PackSource& source) {
  return {static_cast<const int32_t*>(source.data),
          source.lines,
          source.depth,
          source.line_stride,
          source.k_stride,
          source.batch_stride};
}

template <class S>
void find_references(const RankedLines& lines, int64_t items, int32_t* references, cudaStream_t stream) {
  if (lines.along_k()) {
    const dim3 grid(static_cast<unsigned>(lines.count), static_cast<unsigned>(items));
    ranked_reference_kernel<S><<<grid, kRankedSampleThreads, 0, stream>>>(lines, references, false);
  } else {
    const dim3 grid(static_cast<unsigned>(ceil_div(lines.count, int64_t{32})), static_cast<unsigned>(items));
    ranked_reference_across_kernel<S><<<grid, kRankedAcrossThreads, 0, stream>>>(lines, references, lines.count, false);
  }
}

/// Queues the kernels that compute sample->known. Only the first matrices of a batch are sampled.
template <class S>
void sample_product(const RankedLines& a, const RankedLines& b, RankedSample* sample, cudaStream_t stream) {
  constexpr int kSums = kRankedSampleRows * kRankedSampleCols;
  ranked_reset_kernel<S><<<kSums / 256, 256, 0, stream>>>(sample);
  const auto references = [&](const RankedLines& lines, int32_t* target, int count) {
    if (lines.along_k()) {
      ranked_reference_kernel<S><<<count, kRankedSampleThreads, 0, stream>>>(lines, target, true);
    } else {
      ranked_reference_across_kernel<S><<<count / 32, kRankedAcrossThreads, 0, stream>>>(lines, target, count, true);
    }
  };
  references(a, sample->reference_a, kRankedSampleRows);
  references(b, sample->reference_b, kRankedSampleCols);
  const dim3 grid(kRankedSampleRows / kRankedRowsAtOnce, kRankedSampleCols / 32, kRankedSampleParts);
  ranked_sample_kernel<S, false><<<grid, kRankedSampleThreads, 0, stream>>>(a, b, sample);
  ranked_depth_kernel<S><<<1, 1024, 0, stream>>>(sample);
  ranked_sample_kernel<S, true><<<grid, kRankedSampleThreads, 0, stream>>>(a, b, sample);
}

}  // namespace mpmml::cuda
