// Sampling of a product for the ranked family (ranked.cuh): references of lines, the cutoff ("depth") within which
// pairs must be evaluated, and the number of pairs within it.
#pragma once
#include <cstdint>

#include "core/algebra/semiring.h"
#include "core/problem/layout.h"
#include "cuda/kernels/reduce.cuh"

namespace mpmml::cuda {

/// Lines of an operand: rows of A or columns of B.
struct RankedLines {
  const int32_t* data;
  int64_t count, depth, line_stride, k_stride, batch_stride;

  __host__ __device__ bool along_k() const { return k_stride <= line_stride; }
};

constexpr int kRankedSampleRows = 64;
constexpr int kRankedSampleCols = 128;
constexpr int kRankedSampleThreads = 256;

/// Number of candidate cutoffs.
constexpr int kRankedDepths = 4;

/// Candidate cutoffs and their costs, estimated from a sample.
struct RankedDepths {
  int64_t depths[kRankedDepths];            ///< ascending cutoffs; see ranked.cuh
  unsigned long long pairs[kRankedDepths];  ///< pairs of sampled elements within each cutoff

  /// Returns the index of the greatest cutoff whose number of pairs isn't much more than the least.
  __host__ __device__ int chosen() const {
    constexpr unsigned long long kFew = 12ull * kRankedSampleRows * kRankedSampleCols;
    int index = kRankedDepths - 1;
    while (index > 0 && pairs[index] > kFew && pairs[index] > 2 * pairs[0]) --index;
    return index;
  }
};

/// Sample in device memory, initialized by ranked_reset_kernel().
struct RankedSample {
  RankedDepths known;
  int32_t reference_a[kRankedSampleRows], reference_b[kRankedSampleCols];
  int32_t sums[kRankedSampleRows * kRankedSampleCols];
};

/// Cutoff that includes all pairs.
constexpr int64_t kRankedAll = int64_t{1} << 40;
/// Value less than any lead.
constexpr int64_t kRankedNone = -(int64_t{1} << 50);

/// Returns the amount by which x is better than y; negative if it is worse.
template <class S>
__device__ __forceinline__ int64_t lead(int64_t x, int64_t y) {
  return S::maximizes ? x - y : y - x;
}

/// Returns the index of the line with the given index in the sample. Lines that aren't contiguous are sampled in groups
/// of 32 neighbours, because reading these costs as much as reading one.
__device__ __forceinline__ int64_t sampled_line(const RankedLines& lines, int sample) {
  const int group = lines.along_k() ? 1 : 32;
  uint64_t bits = static_cast<uint64_t>(sample / group + 1) * 0x9e3779b97f4a7c15u;
  bits ^= bits >> 32;
  bits *= 0xd6e8feb86659fd93u;
  bits ^= bits >> 32;
  const int64_t first = static_cast<int64_t>(bits % static_cast<uint64_t>(max(lines.count - group + 1, int64_t{1})));
  return min(first + sample % group, lines.count - 1);
}

/// Returns the median over the lanes of a warp, or the best value if the median is the semiring's zero.
template <class S>
__device__ __forceinline__ int32_t median_of_warp(int32_t value) {
  const int lane = threadIdx.x % 32;
  int before = 0;
  int32_t best = value;
#pragma unroll
  for (int other = 0; other < 32; ++other) {
    const int32_t x = __shfl_sync(~0u, value, other);
    before += x < value || (x == value && other < lane);
    best = S::combine(best, x);
  }
  const int32_t median = __shfl_sync(~0u, value, __ffs(__ballot_sync(~0u, before == 16)) - 1);
  return median == S::zero ? best : median;
}

/// references[item][line] = the median of the best elements of 32 groups of the line; zero if all elements are zero.
/// For lines that are contiguous along K, with one block per line.
template <class S>
__global__ void __launch_bounds__(kRankedSampleThreads)
    ranked_reference_kernel(RankedLines lines, int32_t* references, bool sampled) {
  __shared__ int32_t best[kRankedSampleThreads / 32][32];
  const int64_t line = sampled ? sampled_line(lines, blockIdx.x) : int64_t{blockIdx.x};
  const int32_t* const data = lines.data + blockIdx.y * lines.batch_stride + line * lines.line_stride;
  int32_t found = S::zero;
#pragma unroll 8
  for (int64_t k = threadIdx.x; k < lines.depth; k += kRankedSampleThreads) {
    found = S::combine(found, data[k * lines.k_stride]);
  }
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  best[warp][lane] = found;
  __syncthreads();
  if (warp > 0) return;
#pragma unroll
  for (int other = 1; other < kRankedSampleThreads / 32; ++other) found = S::combine(found, best[other][lane]);
  const int32_t reference = median_of_warp<S>(found);
  if (lane == 0) references[int64_t{blockIdx.y} * gridDim.x + blockIdx.x] = reference;
}

constexpr int kRankedAcrossThreads = 1024;

/// Computes references like ranked_reference_kernel(), for lines whose neighbours are contiguous: one block per 32
/// lines, one warp per group of K.
template <class S>
__global__ void __launch_bounds__(kRankedAcrossThreads)
    ranked_reference_across_kernel(RankedLines lines, int32_t* references, int64_t count, bool sampled) {
  __shared__ int32_t best[32][33];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t place = int64_t{blockIdx.x} * 32 + lane;
  const int64_t line = sampled ? sampled_line(lines, static_cast<int>(place)) : place;
  int32_t found = S::zero;
  if (place < count) {
    const int32_t* const data = lines.data + blockIdx.y * lines.batch_stride + line * lines.line_stride;
    const int64_t share = ceil_div(lines.depth, int64_t{32}), end = min((warp + 1) * share, lines.depth);
#pragma unroll 16
    for (int64_t k = warp * share; k < end; ++k) found = S::combine(found, data[k * lines.k_stride]);
  }
  best[warp][lane] = found;
  __syncthreads();
  const int32_t reference = median_of_warp<S>(best[lane][warp]);
  const int64_t own = int64_t{blockIdx.x} * 32 + warp;
  if (lane == 0 && own < count) references[blockIdx.y * count + own] = reference;
}

template <class S>
__global__ void ranked_reset_kernel(RankedSample* sample) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < kRankedSampleRows * kRankedSampleCols) sample->sums[index] = S::zero;
  if (index < kRankedDepths) sample->known.pairs[index] = 0;
}

constexpr int kRankedRowsAtOnce = 4;
constexpr int kRankedSampleParts = 16;  ///< parts of K

/// Products of the sampled lines, with one block per 4 rows, 32 columns and part of K. If `kCounts`, counts the pairs
/// within each cutoff; otherwise computes the results.
template <class S, bool kCounts>
__global__ void __launch_bounds__(kRankedSampleThreads)
    ranked_sample_kernel(RankedLines a, RankedLines b, RankedSample* sample) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int col = blockIdx.y * 32 + lane, first_row = blockIdx.x * kRankedRowsAtOnce;
  const int32_t* const data_b = b.data + sampled_line(b, col) * b.line_stride;
  const int32_t* data_a[kRankedRowsAtOnce];
  int32_t found[kRankedRowsAtOnce];
  int64_t reference[kRankedRowsAtOnce];
  int32_t worst[kRankedRowsAtOnce];  // worst sum within the greatest cutoff
  unsigned pairs[kRankedDepths] = {};
  const RankedDepths& known = sample->known;
#pragma unroll
  for (int row = 0; row < kRankedRowsAtOnce; ++row) {
    data_a[row] = a.data + sampled_line(a, first_row + row) * a.line_stride;
    found[row] = S::zero;
    if (kCounts) {
      reference[row] = int64_t{sample->reference_a[first_row + row]} + sample->reference_b[col];
      const int64_t deepest = known.depths[kRankedDepths - 1];
      const int64_t bound = S::maximizes ? reference[row] - deepest : reference[row] + deepest;
      worst[row] = static_cast<int32_t>(min(max(bound, int64_t{INT32_MIN}), int64_t{INT32_MAX}));
    }
  }
  constexpr int kWarps = kRankedSampleThreads / 32;
  const int64_t share = round_up(ceil_div(b.depth, int64_t{gridDim.z}), kWarps), begin = blockIdx.z * share;
#pragma unroll 8
  for (int64_t k = begin + warp; k < min(begin + share, b.depth); k += kWarps) {
    const int32_t y = data_b[k * b.k_stride];
#pragma unroll
    for (int row = 0; row < kRankedRowsAtOnce; ++row) {
      const int32_t x = data_a[row][k * a.k_stride], sum = wrapping_add(x, y);
      const bool is_pair = x != S::zero && y != S::zero;
      if constexpr (kCounts) {
        if (!is_pair || S::combine(sum, worst[row]) != sum) continue;
        const int64_t depth = -lead<S>(sum, reference[row]);
#pragma unroll
        for (int index = 0; index < kRankedDepths; ++index) pairs[index] += depth <= known.depths[index];
      } else {
        found[row] = S::combine(found[row], is_pair ? sum : S::zero);
      }
    }
  }
  if constexpr (kCounts) {
    __shared__ unsigned sums[kRankedDepths];
    if (threadIdx.x < kRankedDepths) sums[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (int index = 0; index < kRankedDepths; ++index) {
      if (pairs[index] > 0) atomicAdd(sums + index, pairs[index]);
    }
    __syncthreads();
    // One atomic addition per block and cutoff, because all blocks add to the same addresses.
    if (threadIdx.x < kRankedDepths && sums[threadIdx.x] > 0) {
      atomicAdd(&sample->known.pairs[threadIdx.x], static_cast<unsigned long long>(sums[threadIdx.x]));
    }
  } else {
#pragma unroll
    for (int row = 0; row < kRankedRowsAtOnce; ++row) {
      int32_t* const target = sample->sums + (first_row + row) * kRankedSampleCols + col;
      S::maximizes ? atomicMax(target, found[row]) : atomicMin(target, found[row]);
    }
  }
}

/// One in e^kRankedCertainty results may be uncertain. Recomputing a result from all of K takes as long as about 60 000
/// pairs (H200). The constant is the logarithm of that, reduced because linear extrapolation of the sample overshoots
/// for uniform elements.
constexpr float kRankedCertainty = 10.3f;

/// Computes the candidate cutoffs, from the one that includes all sampled results to the one that includes nearly all
/// results. The greatest cutoffs in the rows of the sample follow a Gumbel distribution if results are independent.
/// Their mean and deviation give the cutoff that all but one in e^kRankedCertainty results reach.
template <class S>
__global__ void __launch_bounds__(1024) ranked_depth_kernel(RankedSample* sample) {
  static_assert(kRankedSampleRows == 64, "a lane of a warp has two rows");
  __shared__ int64_t deepest[kRankedSampleRows];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const auto deeper = [](int64_t x, int64_t y) { return max(x, y); };
  for (int row = warp; row < kRankedSampleRows; row += 32) {
    int64_t depth = kRankedNone;
    const int32_t a = sample->reference_a[row];
    for (int col = lane; col < kRankedSampleCols; col += 32) {
      const int32_t b = sample->reference_b[col], sum = sample->sums[row * kRankedSampleCols + col];
      if (a == S::zero || b == S::zero) continue;
      depth = max(depth, sum == S::zero ? kRankedAll : -lead<S>(sum, int64_t{a} + b));
    }
    depth = reduce_warp(depth, deeper);
    if (lane == 0) deepest[row] = depth;
  }
  __syncthreads();
  if (warp > 0) return;
  const int64_t own[2] = {deepest[lane], deepest[lane + 32]};
  const int64_t depth = reduce_warp(max(own[0], own[1]), deeper);
  const auto sum_of = [](float number) { return reduce_warp(number, [](float x, float y) { return x + y; }); };
  // Distance of each row's result from the deepest one. Rows without elements don't count.
  float count = 0, sum = 0, squares = 0;
  for (const int64_t value : own) {
    const float above = value == kRankedNone ? 0.0f : static_cast<float>(depth - value);
    count += value == kRankedNone ? 0.0f : 1.0f;
    sum += above;
    squares += above * above;
  }
  count = sum_of(count);
  const float mean = sum_of(sum) / count, deviation = sqrtf(max(sum_of(squares) / count - mean * mean, 0.0f));
  if (lane > 0) return;
  // The maximum of n samples has the mean ln n + 0.577 and the deviation π / √6, times the scale.
  const float beyond = kRankedCertainty - (logf(kRankedSampleCols) + 0.577f);
  const bool is_all = count == 0 || depth == kRankedAll;
  const int64_t above = is_all ? 0 : max(static_cast<int64_t>(deviation / 1.283f * beyond - mean), int64_t{0});
  for (int index = 0; index < kRankedDepths; ++index) {
    sample->known.depths[index] = is_all ? kRankedAll : depth + above * index / (kRankedDepths - 1);
  }
}

}  // namespace mpmml::cuda
