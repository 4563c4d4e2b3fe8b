// The ranked family: pruned max-plus and min-plus of arbitrary int32, which evaluates only pairs of elements near the
// top (docs/ranked.md).
//
// Each line (row of A, column of B) has a reference, about its √K-th best element. The lead of an element is its offset
// from the reference, positive if it is better. For a cutoff d (`depth` in identifiers), every pair (a_ik, b_kj) whose
// leads sum to −d or more is evaluated. If the best of these sums is −d or more, no other pair can be better, so the
// result is certain for every d. d is estimated from a sample such that few results are uncertain; uncertain results
// are recomputed from all of K.
//
// Packing sorts each row of B by lead, into levels (a counting sort). A block computes a row of C, or a slice of it, in
// shared memory: for each k it scans the prefix of B's row k that can reach −d together with a_ik.
#pragma once
#include "core/algebra/arithmetic.h"
#include "cuda/kernels/device_problem.h"
#include "cuda/kernels/epilogue.cuh"
#include "cuda/kernels/ranked_sample.cuh"

namespace mpmml::cuda {

/// An element of B and its column in the slice.
struct alignas(8) RankedEntry {
  int32_t value, col;
};

/// Number of levels of negated leads: 16 per power of two. Elements at or above their reference have level 0.
constexpr int kRankedLevels = 464;
__host__ __device__ __forceinline__ int ranked_level(uint32_t behind) {
  if (behind < 16) return static_cast<int>(behind);
#ifdef __CUDA_ARCH__
  const int power = 31 - __clz(behind);
#else
  int power = 4;
  while (behind >> power > 1) ++power;
#endif
  return (power - 3) * 16 + static_cast<int>(behind >> (power - 4) & 15);
}

/// Packed operands.
struct RankedProblem {
  const int32_t* reference_a;  ///< [item][row]
  const int32_t* rows;         ///< [item][row][k]: A, or a copy of it whose rows are contiguous
  int64_t row_stride;          ///< of `rows`
  int64_t a_batch;             ///< stride between batch entries of `rows`
  const int32_t* reference_b;  ///< [item][column]
  const int64_t* tops;         ///< [item][slice][k]: the greatest lead
  const uint16_t* counts;      ///< [item][slice][k][level]: elements up to this level
  const RankedEntry* entries;  ///< [item][slice][k][width]
  int64_t slices, width;       ///< number of slices of columns, and columns per slice
  bool a_is_shared, b_is_shared;
};

template <class Config, class Arithmetic>
__global__ void ranked_kernel(DeviceProblem problem, RankedProblem operands, const RankedDepths* known,
                              Arithmetic arithmetic);

constexpr int kRankedListThreads = 512;

/// Sorts one row of B within one slice of columns, per block.
template <class S, int kWidth>
__global__ void __launch_bounds__(kRankedListThreads)
    ranked_list_kernel(RankedLines lines, const int32_t* references, int64_t* tops, uint16_t* counts,
                       RankedEntry* entries, int64_t width) {
  constexpr int kWarps = kRankedListThreads / 32, kEach = kWidth / kRankedListThreads;
  static_assert(kRankedLevels <= kRankedListThreads);
  __shared__ int places[kRankedLevels];
  __shared__ int sums[kWarps];
  __shared__ int64_t greatest[kWarps];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int64_t k = blockIdx.x, item = blockIdx.z, first = int64_t{blockIdx.y} * kWidth;
  const int64_t row = (item * gridDim.y + blockIdx.y) * gridDim.x + k;
  const int32_t* const data = lines.data + item * lines.batch_stride + k * lines.k_stride;
  if (thread < kRankedLevels) places[thread] = 0;
  int32_t values[kEach];
  int levels[kEach];
  int64_t top = kRankedNone;
  __syncthreads();
#pragma unroll
  for (int part = 0; part < kEach; ++part) {
    const int64_t col = first + part * kRankedListThreads + thread;
    values[part] = col < lines.count ? data[col * lines.line_stride] : S::zero;
  }
#pragma unroll
  for (int part = 0; part < kEach; ++part) {
    const int64_t col = first + part * kRankedListThreads + thread;
    if (values[part] == S::zero) continue;
    const int64_t ahead = lead<S>(values[part], references[item * lines.count + col]);
    top = max(top, ahead);
    levels[part] = ranked_level(static_cast<uint32_t>(max(-ahead, int64_t{0})));
    atomicAdd(places + levels[part], 1);
  }
  top = reduce_warp(top, [](int64_t x, int64_t y) { return max(x, y); });
  if (lane == 0) greatest[warp] = top;
  __syncthreads();
  // Prefix sum over the levels, one level per thread.
  const int own = thread < kRankedLevels ? places[thread] : 0;
  int until = own;
  for (int offset = 1; offset < 32; offset *= 2) {
    const int other = __shfl_up_sync(~0u, until, offset);
    if (lane >= offset) until += other;
  }
  if (lane == 31) sums[warp] = until;
  __syncthreads();
  for (int other = 0; other < warp; ++other) until += sums[other];
  if (thread < kRankedLevels) {
    places[thread] = until - own;
    counts[row * kRankedLevels + thread] = static_cast<uint16_t>(until);
  }
  if (thread == 0) {
    for (int other = 1; other < kWarps; ++other) top = max(top, greatest[other]);
    tops[row] = top;
  }
  __syncthreads();
#pragma unroll
  for (int part = 0; part < kEach; ++part) {
    if (values[part] == S::zero) continue;
    // Taking positions from the counting pass above would take a fifth longer (H200).
    const int place = atomicAdd(places + levels[part], 1);
    entries[row * width + place] = {values[part], part * kRankedListThreads + thread};
  }
}

template <int BN_, int kThreads_>
struct Ranked {
  static constexpr int BN = BN_, kThreads = kThreads_;
  static constexpr int kSharedBytes = BN * int{sizeof(int32_t)};
  /// Groups of 32 k-steps that a warp tests before it evaluates the pairs that passed the test.
  static constexpr int kGroups = 2;
  static_assert(BN % kRankedListThreads == 0 && BN <= 65535, "counts of a slice fit 16 bits");
};

template <class S>
__device__ __forceinline__ void improve(int32_t* best, int32_t sum) {
  S::maximizes ? atomicMax(best, sum) : atomicMin(best, sum);
}

// Resident threads per multiprocessor. With three quarters of them, products took 5 to 15 % longer (H200).
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
#define MPMML_RANKED_THREADS 2048
#else
#define MPMML_RANKED_THREADS 1024
#endif

template <class Config, class Arithmetic>
__global__ void __launch_bounds__(Config::kThreads, MPMML_RANKED_THREADS / Config::kThreads)
    ranked_kernel(DeviceProblem problem, RankedProblem operands, const RankedDepths* known, Arithmetic arithmetic) {
  using S = typename Arithmetic::Semiring;
  constexpr int kThreads = Config::kThreads, kWarps = kThreads / 32, kFound = 32 * Config::kGroups;
  constexpr int kMaxUncertain = kWarps * kFound;
  extern __shared__ __align__(16) int32_t best[];
  __shared__ int32_t found_steps[kWarps][kFound];
  __shared__ int32_t found_values[kWarps][kFound];
  __shared__ uint16_t found_counts[kWarps][kFound];
  __shared__ int uncertain;
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int64_t row = blockIdx.x, slice = blockIdx.y;
  const int64_t item = blockIdx.z + problem.first_instance;
  const int64_t item_a = operands.a_is_shared ? 0 : item, item_b = operands.b_is_shared ? 0 : item;
  const int64_t first_col = slice * Config::BN;
  const int cols = static_cast<int>(min(int64_t{Config::BN}, problem.n - first_col));
  const int steps = static_cast<int>(problem.k);
  const int32_t* const a = operands.rows + item_a * operands.a_batch + row * operands.row_stride;
  const int64_t reference = operands.reference_a[item_a * problem.m + row];
  const int32_t* const references = operands.reference_b + item_b * problem.n + first_col;
  // `known` is null if pairs can't be compared by their leads.
  const bool tries = known;
  const int64_t depth = tries ? known->depths[known->chosen()] : 0;
  for (int col = thread; col < cols; col += kThreads) best[col] = S::zero;
  if (thread == 0) uncertain = 0;
  __syncthreads();

  if (tries && reference != S::zero) {
    const int64_t first_list = (item_b * operands.slices + slice) * steps;
    const int64_t* const tops = operands.tops + first_list;
    const uint16_t* const counts = operands.counts + first_list * kRankedLevels;
    const RankedEntry* const entries = operands.entries + first_list * operands.width;
    for (int first = warp * kFound; first < steps; first += kWarps * kFound) {
      int32_t values[Config::kGroups];
      int64_t behind[Config::kGroups];  // limit of the negated lead of an element of B within the cutoff
      bool visits[Config::kGroups];
#pragma unroll
      for (int group = 0; group < Config::kGroups; ++group) {
        const int k = first + group * 32 + lane;
        values[group] = k < steps ? a[k] : S::zero;
        behind[group] = depth + lead<S>(values[group], reference);
        visits[group] = values[group] != S::zero && behind[group] + tops[k] >= 0;
      }
      int found = 0;
#pragma unroll
      for (int group = 0; group < Config::kGroups; ++group) {
        const unsigned lanes = __ballot_sync(~0u, visits[group]);
        if (visits[group]) {
          const int k = first + group * 32 + lane;
          const int place = found + __popc(lanes & ((1u << lane) - 1));
          const auto limit = static_cast<uint32_t>(min(max(behind[group], int64_t{0}), int64_t{0xffffffff}));
          found_steps[warp][place] = k;
          found_values[warp][place] = values[group];
          found_counts[warp][place] = counts[int64_t{k} * kRankedLevels + ranked_level(limit)];
        }
        found += __popc(lanes);
      }
      __syncwarp();
      for (int index = 0; index < found; ++index) {
        const RankedEntry* const list = entries + found_steps[warp][index] * operands.width;
        const int count = found_counts[warp][index];
        const int32_t value = found_values[warp][index];
        int place = lane;
        for (; place + 96 < count; place += 128) {
          RankedEntry taken[4];
#pragma unroll
          for (int part = 0; part < 4; ++part) taken[part] = list[place + 32 * part];
#pragma unroll
          for (int part = 0; part < 4; ++part) improve<S>(best + taken[part].col, value + taken[part].value);
        }
        RankedEntry taken[3];
#pragma unroll
        for (int part = 0; part < 3; ++part) {
          if (place + 32 * part < count) taken[part] = list[place + 32 * part];
        }
#pragma unroll
        for (int part = 0; part < 3; ++part) {
          if (place + 32 * part < count) improve<S>(best + taken[part].col, value + taken[part].value);
        }
      }
      __syncwarp();
    }
  }
  __syncthreads();

  // Recomputes uncertain results from all of K.
  int32_t* const listed = &found_steps[0][0];
  if (reference != S::zero && depth < kRankedAll) {
    for (int col = thread; col < cols; col += kThreads) {
      if (references[col] == S::zero) continue;
      const int32_t sum = best[col];
      if (tries && sum != S::zero && lead<S>(sum, reference + references[col]) >= -depth) continue;
      const int place = atomicAdd(&uncertain, 1);
      if (place < kMaxUncertain) listed[place] = col;
    }
  }
  __syncthreads();
  const int count = uncertain;
  if (count > 0) {
    const MatrixView& view = problem.b;
    const int32_t* const b =
        static_cast<const int32_t*>(view.data) + (operands.b_is_shared ? 0 : blockIdx.z) * view.batch_stride;
    if (count <= kMaxUncertain) {
      for (int index = warp; index < count; index += kWarps) {
        const int col = listed[index];
        const int32_t* const column = b + (first_col + col) * view.col_stride;
        int32_t sum = S::zero;
#pragma unroll 8
        for (int k = lane; k < steps; k += 32) {
          const int32_t x = a[k], y = column[k * view.row_stride];
          if (x != S::zero && y != S::zero) sum = S::combine(sum, wrapping_add(x, y));
        }
        improve<S>(best + col, sum);
      }
    } else {
      for (int col = thread; col < cols; col += kThreads) {
        const int32_t* const column = b + (first_col + col) * view.col_stride;
        int32_t sum = S::zero;
#pragma unroll 8
        for (int k = 0; k < steps; ++k) {
          const int32_t x = a[k], y = column[k * view.row_stride];
          if (x != S::zero && y != S::zero) sum = S::combine(sum, wrapping_add(x, y));
        }
        best[col] = sum;
      }
    }
    __syncthreads();
  }

  const Epilogue<Arithmetic> epilogue(problem, arithmetic, blockIdx.z);
  for (int col = thread * 4; col < cols; col += kThreads * 4) {
    const int4 four = *reinterpret_cast<const int4*>(best + col);
    const int32_t sums[4] = {four.x, four.y, four.z, four.w};
    epilogue.store(row, first_col + col, sums);
  }
}

#undef MPMML_RANKED_THREADS

}  // namespace mpmml::cuda
