// Rounds over the essential edges of a graph (EssentialEdges in core/session/session.h): the Bellman-Ford algorithm for
// all sources at once, on rows. d[i, ·] = d[i, ·] ⊕ w(i, j) ⊗ d[j, ·] for each listed edge of i whose row j changed in
// the round before.
//
// A warp computes one row in a stripe of columns. Stripes are independent; the blocks of a stripe have consecutive
// indices, so that the rows that they read stay in the L2 cache. Rows are relaxed in place without synchronization: an
// element of another row is the length of a path, old or new, and a changed row is read again in the next round.
#pragma once
#include <cstdint>

#include "core/problem/layout.h"
#include "cuda/kernels/reduce.cuh"

namespace mpmml::cuda {

/// An edge of the list: its head and its weight in the encoding of Lengths.
struct ListedEdge {
  int32_t to;
  uint32_t weight;
};

/// Range of one node's edges in the list.
struct EdgesOfNode {
  uint32_t first, count;
};

/// Number of rounds that the host queues before it waits for their outcome.
constexpr int kRoundsTogether = 4;

/// Outcome of kRoundsTogether rounds.
struct RoundState {
  unsigned changed[kRoundsTogether];  ///< rows that changed in a stripe, all stripes together
};

/// Lengths as unsigned numbers of which the smaller is better: none is negative, and sums of two don't wrap.
template <class S>
struct Lengths {
  static __device__ __forceinline__ uint32_t of(int32_t element) {
    return S::maximizes ? 0u - static_cast<uint32_t>(element) : static_cast<uint32_t>(element);
  }
  static __device__ __forceinline__ int32_t element(uint32_t length) {
    return static_cast<int32_t>(S::maximizes ? 0u - length : length);
  }
};

constexpr int kRoundThreads = 256;
/// Rows per block, columns per lane, and columns per stripe.
constexpr int kRowsOfBlock = kRoundThreads / 32, kColumnsOfLane = 4, kStripe = 32 * kColumnsOfLane;

/// Returns the sum over the lanes of a warp in each lane. GPUs before Ampere have no instruction for it.
static __device__ __forceinline__ int warp_sum(int value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_add_sync(~0u, value);
#else
  return reduce_warp(value, [](int x, int y) { return x + y; });
#endif
}

/// Counts equal elements of two matrices. Each thread block counts one row.
template <class S>
__global__ void count_equal_kernel(MatrixView a, MatrixView b, unsigned long long* counts) {
  const auto* const x = static_cast<const int32_t*>(a.data) + blockIdx.x * a.row_stride;
  const auto* const y = static_cast<const int32_t*>(b.data) + blockIdx.x * b.row_stride;
  int equal = 0, zeros = 0;
  for (int64_t column = threadIdx.x; column < a.cols; column += kRoundThreads) {
    const int32_t element = y[column];
    if (element == S::zero) {
      ++zeros;
    } else if (element == x[column]) {
      ++equal;
    }
  }
  equal = warp_sum(equal);
  zeros = warp_sum(zeros);
  if (threadIdx.x % 32 != 0) return;
  if (equal) atomicAdd(&counts[0], equal);
  if (zeros) atomicAdd(&counts[1], zeros);
}

/// Compacts the threads for which `holds` is true: returns the thread's index from `base` on, and adds the number of
/// such threads to `base`. All threads of the block must call it.
__device__ __forceinline__ uint32_t place_of(bool holds, uint32_t& base, uint32_t (&of_warps)[kRoundThreads / 32]) {
  const unsigned listed = __ballot_sync(~0u, holds), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) of_warps[warp] = __popc(listed);
  __syncthreads();
  uint32_t place = base + __popc(listed & ((1u << lane) - 1));
#pragma unroll
  for (int w = 0; w < kRoundThreads / 32; ++w) {
    if (w < warp) place += of_warps[w];
    base += of_warps[w];
  }
  __syncthreads();
  return place;
}

/// Appends the essential edges of a row to the list, whose current size is `used`.
template <class S>
__global__ void __launch_bounds__(kRoundThreads)
    list_edges_kernel(MatrixView weights, MatrixView d, EdgesOfNode* nodes, ListedEdge* edges, uint32_t* used) {
  __shared__ uint32_t of_warps[kRoundThreads / 32];
  __shared__ uint32_t first;
  const int64_t row = blockIdx.x;
  const auto* const w = static_cast<const int32_t*>(weights.data) + row * weights.row_stride;
  const auto* const ways = static_cast<const int32_t*>(d.data) + row * d.row_stride;
  const auto is_essential = [&](int64_t column) {
    return column < weights.cols && column != row && w[column] == ways[column] && w[column] != S::zero;
  };
  uint32_t count = 0;
  for (int64_t base = 0; base < weights.cols; base += kRoundThreads) {
    count += static_cast<uint32_t>(__syncthreads_count(is_essential(base + threadIdx.x)));
  }
  if (threadIdx.x == 0) {
    first = atomicAdd(used, count);
    nodes[row] = {first, count};
  }
  __syncthreads();
  uint32_t next = first;
  for (int64_t base = 0; base < weights.cols; base += kRoundThreads) {
    const int64_t column = base + threadIdx.x;
    const bool holds = is_essential(column);
    const uint32_t place = place_of(holds, next, of_warps);
    if (holds) edges[place] = {static_cast<int32_t>(column), Lengths<S>::of(w[column])};
  }
}

/// Computes one round. `changed_before` and `changed_now` have one byte for each stripe and row; if `changed_before` is
/// null, all rows count as changed. The round does nothing if `go_on` points to 0.
template <class S>
__global__ void __launch_bounds__(kRoundThreads)
    relax_kernel(MutableMatrixView d, const EdgesOfNode* nodes, const ListedEdge* edges, const uint8_t* changed_before,
                 uint8_t* changed_now, const unsigned* go_on) {
  using L = Lengths<S>;
  constexpr int kTogether = 4;  // edges whose loads are in flight at the same time
  constexpr unsigned kAll = ~0u;
  if (go_on && *go_on == 0) return;
  const int lane = threadIdx.x % 32;
  const int64_t rows = d.rows, row = int64_t{blockIdx.x} * kRowsOfBlock + threadIdx.x / 32, stripe = blockIdx.y;
  if (row >= rows) return;
  const auto* const matrix = static_cast<const int32_t*>(d.data);
  int32_t* const own = static_cast<int32_t*>(d.data) + row * d.row_stride;
  const int64_t wanted = stripe * kStripe + lane;
  int64_t column[kColumnsOfLane];
  uint32_t before[kColumnsOfLane], best[kColumnsOfLane];
#pragma unroll
  for (int c = 0; c < kColumnsOfLane; ++c) {
    // Columns beyond the last one read the last column, and aren't written.
    column[c] = min(wanted + 32 * c, d.cols - 1);
    best[c] = before[c] = L::of(own[column[c]]);
  }
  const EdgesOfNode of_node = nodes[row];
  for (uint32_t base = 0; base < of_node.count; base += 32) {
    const bool exists = base + lane < of_node.count;
    const ListedEdge edge = exists ? edges[of_node.first + base + lane] : ListedEdge{0, 0};
    const bool is_active = exists && (!changed_before || changed_before[stripe * rows + edge.to]);
    unsigned active = __ballot_sync(kAll, is_active);
    while (active) {
      uint32_t length[kTogether][kColumnsOfLane];
#pragma unroll
      for (int u = 0; u < kTogether; ++u) {
        const int from = __ffs(active) - 1;
        // The last active edge is read again to fill the unrolled loop.
        if (u == kTogether - 1 || (active & (active - 1))) active &= active - 1;
        const int64_t to = __shfl_sync(kAll, edge.to, from);
        const uint32_t weight = __shfl_sync(kAll, edge.weight, from);
#pragma unroll
        for (int c = 0; c < kColumnsOfLane; ++c) {
          length[u][c] = weight + L::of(__ldcg(matrix + to * d.row_stride + column[c]));
        }
      }
#pragma unroll
      for (int u = 0; u < kTogether; ++u) {
#pragma unroll
        for (int c = 0; c < kColumnsOfLane; ++c) best[c] = min(best[c], length[u][c]);
      }
    }
  }
  bool changed = false;
#pragma unroll
  for (int c = 0; c < kColumnsOfLane; ++c) {
    if (best[c] == before[c]) continue;
    changed = true;
    if (wanted + 32 * c < d.cols) own[column[c]] = L::element(best[c]);
  }
  const bool any = __any_sync(kAll, changed);
  if (lane == 0) changed_now[stripe * rows + row] = any;
}

/// Sums the flags of a round. relax_kernel doesn't count them itself, because one atomic addition per warp to a single
/// address would take most of a round.
static __global__ void __launch_bounds__(kRoundThreads)
    count_changed_kernel(const uint8_t* changed, int64_t flags, const unsigned* go_on, unsigned* count) {
  if (go_on && *go_on == 0) return;
  int changed_here = 0;
  for (int64_t at = int64_t{blockIdx.x} * kRoundThreads + threadIdx.x; at < flags;
       at += int64_t{gridDim.x} * kRoundThreads) {
    changed_here += changed[at];
  }
  changed_here = warp_sum(changed_here);
  if (threadIdx.x % 32 == 0 && changed_here) atomicAdd(count, changed_here);
}

}  // namespace mpmml::cuda
