// Samples of a product, for the ranked family (ranked.cuh): references of lines, the depth to which pairs have to be
// tried, and how many pairs that are.
#pragma once
#include <cstdint>

#include "core/algebra/semiring.h"
#include "core/problem/layout.h"

namespace mpmml::cuda {

/// Lines of an operand as the ranked family sees them: rows of A or columns of B.
struct RankedLines {
  const int32_t* data;
  int64_t count, depth, line_stride, k_stride, batch_stride;

  __host__ __device__ bool along_k() const { return k_stride <= line_stride; }
};

constexpr int kRankedSampleRows = 64;
constexpr int kRankedSampleCols = 128;
constexpr int kRankedSampleThreads = 256;

/// Depths between which one is chosen.
constexpr int kRankedDepths = 4;

/// What is known of a depth from a sample.
struct RankedDepths {
  int64_t depths[kRankedDepths];            ///< ascending. See ranked.cuh for what a depth is
  unsigned long long pairs[kRankedDepths];  ///< of the sampled elements, that are within each

  /// The greatest that doesn't cost many more pairs than the least.
  __host__ __device__ int chosen() const {
    constexpr unsigned long long kFew = 12ull * kRankedSampleRows * kRankedSampleCols;
    int index = kRankedDepths - 1;
    while (index > 0 && pairs[index] > kFew && pairs[index] > 2 * pairs[0]) --index;
    return index;
  }
};

/// In device memory. ranked_reset_kernel() prepares it.
struct RankedSample {
  RankedDepths known;
  int32_t reference_a[kRankedSampleRows], reference_b[kRankedSampleCols];
  int32_t sums[kRankedSampleRows * kRankedSampleCols];
};

/// A depth within which all pairs are.
constexpr int64_t kRankedAll = int64_t{1} << 40;
/// Less than any lead.
constexpr int64_t kRankedNone = -(int64_t{1} << 50);

/// By how much x is better than y.
template <class S>
__device__ __forceinline__ int64_t lead(int64_t x, int64_t y) {
  return S::maximizes ? x - y : y - x;
}

/// The line that is the `sample`th of those sampled. Lines that aren't contiguous come in groups of 32 neighbours,
/// because these are as cheap to read as one.
__device__ __forceinline__ int64_t sampled_line(const RankedLines& lines, int sample) {
  const int group = lines.along_k() ? 1 : 32;
  uint64_t bits = static_cast<uint64_t>(sample / group + 1) * 0x9e3779b97f4a7c15u;
  bits ^= bits >> 32;
  bits *= 0xd6e8feb86659fd93u;
  bits ^= bits >> 32;
  const int64_t first = static_cast<int64_t>(bits % static_cast<uint64_t>(max(lines.count - group + 1, int64_t{1})));
  return min(first + sample % group, lines.count - 1);
}

/// The median over the lanes of a warp. If it is zero, the best.
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

/// references[item][line] = the median of the best elements of 32 groups of the line, for lines along K: a block each.
/// zero if the line has nothing else.
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

/// The same for lines whose neighbours are contiguous: a block for 32 of them, a warp for a group of K.
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
constexpr int kRankedSampleParts = 16;  ///< of K

/// Products of the sampled lines: a block for 4 rows, 32 columns and a part of K. Either their sums, or how many pairs are
/// within each depth.
template <class S, bool kCounts>
__global__ void __launch_bounds__(kRankedSampleThreads)
    ranked_sample_kernel(RankedLines a, RankedLines b, RankedSample* sample) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int col = blockIdx.y * 32 + lane, first_row = blockIdx.x * kRankedRowsAtOnce;
  const int32_t* const data_b = b.data + sampled_line(b, col) * b.line_stride;
  const int32_t* data_a[kRankedRowsAtOnce];
  int32_t found[kRankedRowsAtOnce];
  int64_t reference[kRankedRowsAtOnce];
  int32_t worst[kRankedRowsAtOnce];  // sum within the greatest depth
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
    // One for each block, because they all go to the same places.
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

/// One in e^this many results may be uncertain: computing one from all of K takes as long as some 60 000 pairs (H200). It
/// is the logarithm of that, less what a line through the sample goes too far for uniform elements.
constexpr float kRankedCertainty = 10.3f;

/// Depths from that of all sampled results to one within which nearly all results are. The greatest depths in the rows of
/// the sample follow a Gumbel distribution if results are independent, so that their mean and deviation tell at which
/// depth all but one in e^kRankedCertainty are reached.
template <class S>
__global__ void __launch_bounds__(1024) ranked_depth_kernel(RankedSample* sample) {
  static_assert(kRankedSampleRows == 64, "a lane of a warp has two rows");
  __shared__ int64_t deepest[kRankedSampleRows];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int row = warp; row < kRankedSampleRows; row += 32) {
    int64_t depth = kRankedNone;
    const int32_t a = sample->reference_a[row];
    for (int col = lane; col < kRankedSampleCols; col += 32) {
      const int32_t b = sample->reference_b[col], sum = sample->sums[row * kRankedSampleCols + col];
      if (a == S::zero || b == S::zero) continue;
      depth = max(depth, sum == S::zero ? kRankedAll : -lead<S>(sum, int64_t{a} + b));
    }
    for (int offset = 16; offset > 0; offset /= 2) depth = max(depth, __shfl_xor_sync(~0u, depth, offset));
    if (lane == 0) deepest[row] = depth;
  }
  __syncthreads();
  if (warp > 0) return;
  const int64_t own[2] = {deepest[lane], deepest[lane + 32]};
  int64_t depth = max(own[0], own[1]);
  for (int offset = 16; offset > 0; offset /= 2) depth = max(depth, __shfl_xor_sync(~0u, depth, offset));
  const auto sum_of = [](float x) {
    for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
    return x;
  };
  // How far each is above the deepest. Rows without elements don't count.
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
  // Mean and deviation of the greatest of n: ln n + 0.577 and π / √6 times the scale.
  const float beyond = kRankedCertainty - (logf(kRankedSampleCols) + 0.577f);
  const bool is_all = count == 0 || depth == kRankedAll;
  const int64_t further = is_all ? 0 : max(static_cast<int64_t>(deviation / 1.283f * beyond - mean), int64_t{0});
  for (int index = 0; index < kRankedDepths; ++index) {
    sample->known.depths[index] = is_all ? kRankedAll : depth + further * index / (kRankedDepths - 1);
  }
}

}  // namespace mpmml::cuda
