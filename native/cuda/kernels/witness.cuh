// Search for witnesses (argmax indices) after a product: for each result the smallest k whose candidate a ⊗ b attains
// it. The search visits one chunk of K per result if the product's kernel has noted chunks, and otherwise all of K.
#pragma once
#include "core/algebra/arithmetic.h"
#include "core/algebra/operation.h"
#include "cuda/kernels/device_problem.h"
#include "cuda/kernels/witness_search.h"

namespace mpmml::cuda {

/// Returns whether a ⊗ b, in the form that a product stores, equals `result`, which must not be zero. A zero operand
/// yields no candidate. kWrap is the fastest policy if no sum can leave the type.
template <class S, OverflowPolicy overflow>
__device__ __forceinline__ bool attains(typename S::Element a, typename S::Element b, typename S::Element result) {
  if constexpr (S::can_overflow) {
    if (a == S::zero || b == S::zero) return false;
    if constexpr (overflow == OverflowPolicy::kWrap) return wrapping_add(a, b) == result;
    const int64_t sum = int64_t{a} + b;
    if constexpr (overflow == OverflowPolicy::kThrow) return sum == result;
    return min(max(sum, int64_t{FiniteRange<S>::least}), int64_t{FiniteRange<S>::most}) == result;
  } else {
    return S::extend(Plain<S>::encode(a), Plain<S>::encode(b)) == result;
  }
}

template <class T, class Pointer>
__device__ __forceinline__ auto* instance_of(const BasicMatrixView<Pointer>& view, int64_t instance) {
  using Item = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const T, T>;
  return static_cast<Item*>(view.data) + instance * view.batch_stride;
}

/// Returns the witness to store for a k-step: the step itself, or the element of `through` for it.
__device__ __forceinline__ int32_t witness_at(const MatrixView& through, int64_t instance, int64_t row, int32_t step) {
  if (!through.data) return step;
  return instance_of<int32_t>(through, instance)[row * through.row_stride + step * through.col_stride];
}

/// Columns of C per block of the hinted search. Blocks that run concurrently search in different rows of the same
/// columns, so that they share the columns of B in the L2 cache.
constexpr int kHintStripe = 512;
constexpr int kHintThreads = 256;

/// Replaces hints by witnesses. Rows of A and columns of B must be contiguous. A warp processes 32 neighbours of a row,
/// one after the other, with 32 k-steps at a time.
template <class S>
__global__ void __launch_bounds__(kHintThreads) find_hinted_kernel(WitnessSearch search) {
  using Element = typename S::Element;
  constexpr unsigned kAll = ~0u;
  constexpr int kTogether = 8;  // searches whose loads are in flight at the same time
  const int lane = threadIdx.x % 32;
  const auto rows = static_cast<unsigned>(search.m);
  const int64_t row = blockIdx.x % rows, stripe = blockIdx.x / rows, instance = blockIdx.z;
  const auto* const a = instance_of<Element>(search.a, instance) + row * search.a.row_stride;
  const auto* const b = instance_of<Element>(search.b, instance);
  const auto* const c = instance_of<Element>(search.c, instance) + row * search.c.row_stride;
  int32_t* const witnesses = instance_of<int32_t>(search.witness, instance) + row * search.witness.row_stride;
  const int64_t steps = search.chunk_steps;

  const int64_t end = min((stripe + 1) * kHintStripe, search.n);
  for (int64_t first = stripe * kHintStripe + threadIdx.x - lane; first < end; first += kHintThreads) {
    const int64_t col = first + lane;
    const int32_t hint = col < end ? witnesses[col * search.witness.col_stride] : -1;
    const bool is_hint = hint < -1 && search.band.has(row, col);
    const unsigned hints = __ballot_sync(kAll, is_hint);
    if (hints == 0) continue;
    const Element own = is_hint ? c[col * search.c.col_stride] : S::zero;
    const int chunk = is_hint ? chunk_of_hint(hint) : 0;
    int32_t found = -1;
#pragma unroll 1
    for (int group = 0; group < 32; group += kTogether) {
      if ((hints >> group & ((1u << kTogether) - 1)) == 0) continue;
      // Reads the operands of this lane's k-step among the chunk's 32 steps from `offset` on.
      const auto read = [&](int index, int64_t offset, Element& x, Element& y) {
        const int64_t within = offset + lane, k = __shfl_sync(kAll, chunk, index) * steps + within;
        const bool is_step = (hints >> index & 1) && within < steps && k < search.k;
        x = is_step ? a[k] : S::zero;
        y = is_step ? b[(first + index) * search.b.col_stride + k] : S::zero;
      };
      const auto look = [&](int index, int64_t offset, Element x, Element y) {
        const Element result = __shfl_sync(kAll, own, index);
        const unsigned attained = __ballot_sync(kAll, attains<S, OverflowPolicy::kWrap>(x, y, result));
        if (attained != 0 && lane == index) found = static_cast<int32_t>(chunk * steps + offset) + __ffs(attained) - 1;
        return attained != 0;
      };
      Element x[kTogether], y[kTogether];
#pragma unroll
      for (int index = 0; index < kTogether; ++index) read(group + index, 0, x[index], y[index]);
#pragma unroll
      for (int index = 0; index < kTogether; ++index) {
        bool is_found = look(group + index, 0, x[index], y[index]);
        if ((hints >> (group + index) & 1) == 0) continue;
        for (int64_t offset = 32; offset < steps && !is_found; offset += 32) {
          read(group + index, offset, x[index], y[index]);
          is_found = look(group + index, offset, x[index], y[index]);
        }
      }
    }
    if (is_hint) witnesses[col * search.witness.col_stride] = witness_at(search.through, instance, row, found);
  }
}

/// Tile sizes and threads of the search through all of K. A block searches for the witnesses of a square tile of C,
/// with tiles of A and B in shared memory. Each thread searches for 4 × 4 of them. A block ends as soon as it has found
/// all of its witnesses.
constexpr int kSearchTile = 64, kSearchDepth = 32, kSearchThreads = 256;

/// Loads elements of kSearchTile lines from `line0` on, and of kSearchDepth steps from `k0` on, as tile[step][line].
/// Elements outside the operand are zero, so their candidates attain no result.
template <class S>
__device__ __forceinline__ void load_search_tile(typename S::Element (&tile)[kSearchDepth][kSearchTile + 1],
                                                 const MatrixView& view, int64_t instance, int64_t lines,
                                                 int64_t line_stride, int64_t depth, int64_t k_stride, int64_t line0,
                                                 int64_t k0) {
  const bool along_k = k_stride < line_stride;
#pragma unroll 2
  for (int share = 0; share < kSearchDepth * kSearchTile; share += kSearchThreads) {
    const int place = share + threadIdx.x;
    const int step = along_k ? place % kSearchDepth : place / kSearchTile;
    const int line = along_k ? place / kSearchDepth : place % kSearchTile;
    const bool is_inside = line0 + line < lines && k0 + step < depth;
    tile[step][line] =
        is_inside ? element_at<S>(view.data, view.storage,
                                  instance * view.batch_stride + (line0 + line) * line_stride + (k0 + step) * k_stride)
                  : S::zero;
  }
}

template <class S, OverflowPolicy overflow>
__global__ void __launch_bounds__(kSearchThreads, 2) find_all_kernel(WitnessSearch search) {
  using Element = typename S::Element;
  constexpr int kSide = 4, kLanes = kSearchTile / kSide;
  constexpr int32_t kOpen = 0x7fffffff;  // no witness found yet
  __shared__ Element tile_a[kSearchDepth][kSearchTile + 1], tile_b[kSearchDepth][kSearchTile + 1];
  const int64_t instance = blockIdx.z;
  const auto tiles_m = static_cast<unsigned>(ceil_div(search.m, kSearchTile));
  const int64_t row0 = int64_t{blockIdx.x % tiles_m} * kSearchTile, col0 = int64_t{blockIdx.x / tiles_m} * kSearchTile;
  const int thread_m = threadIdx.x / kLanes, thread_n = threadIdx.x % kLanes;
  const auto row_of = [&](int i) { return row0 + thread_m + i * kLanes; };
  const auto col_of = [&](int j) { return col0 + thread_n + j * kLanes; };
  const auto element = [&](const MatrixView& view, int64_t row, int64_t col) {
    return instance_of<Element>(view, instance)[row * view.row_stride + col * view.col_stride];
  };

  Element result[kSide][kSide];
  int32_t found[kSide][kSide];
#pragma unroll
  for (int i = 0; i < kSide; ++i) {
#pragma unroll
    for (int j = 0; j < kSide; ++j) {
      const bool is_inside = row_of(i) < search.m && col_of(j) < search.n && search.band.has(row_of(i), col_of(j));
      result[i][j] = is_inside ? element(search.c, row_of(i), col_of(j)) : S::zero;
      Element before = S::zero;
      if (is_inside && search.before.data) before = element(search.before, row_of(i), col_of(j));
      if constexpr (S::is_boolean) before = before != S::zero;
      found[i][j] = result[i][j] == S::zero || result[i][j] == before ? -1 : kOpen;
    }
  }

  for (int64_t k0 = 0; k0 < search.k; k0 += kSearchDepth) {
    load_search_tile<S>(tile_a, search.a, instance, search.m, search.a.row_stride, search.k, search.a.col_stride, row0,
                        k0);
    load_search_tile<S>(tile_b, search.b, instance, search.n, search.b.col_stride, search.k, search.b.row_stride, col0,
                        k0);
    __syncthreads();
#pragma unroll 4
    for (int step = 0; step < kSearchDepth; ++step) {
      Element a[kSide], b[kSide];
#pragma unroll
      for (int i = 0; i < kSide; ++i) a[i] = tile_a[step][thread_m + i * kLanes];
#pragma unroll
      for (int j = 0; j < kSide; ++j) b[j] = tile_b[step][thread_n + j * kLanes];
#pragma unroll
      for (int i = 0; i < kSide; ++i) {
#pragma unroll
        for (int j = 0; j < kSide; ++j) {
          const bool is_first = found[i][j] == kOpen && attains<S, overflow>(a[i], b[j], result[i][j]);
          if (is_first) found[i][j] = static_cast<int32_t>(k0) + step;
        }
      }
    }
    bool is_open = false;
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
#pragma unroll
      for (int j = 0; j < kSide; ++j) is_open |= found[i][j] == kOpen;
    }
    // This is also the barrier before the tiles are overwritten.
    if (!__syncthreads_or(is_open)) break;
  }

#pragma unroll
  for (int i = 0; i < kSide; ++i) {
#pragma unroll
    for (int j = 0; j < kSide; ++j) {
      const int64_t row = row_of(i), col = col_of(j);
      if (row >= search.m || col >= search.n || !search.band.has(row, col)) continue;
      const int32_t step = found[i][j] == kOpen ? -1 : found[i][j];
      if (search.through.data && step < 0) continue;
      instance_of<int32_t>(search.witness,
                           instance)[row * search.witness.row_stride + col * search.witness.col_stride] =
          witness_at(search.through, instance, row, step);
    }
  }
}

}  // namespace mpmml::cuda
