// Rounds over the essential edges of a graph (EssentialEdges in core/session/session.h): Bellman and Ford's algorithm for all sources
// at once, on rows. d[i, ·] = d[i, ·] ⊕ w(i, j) ⊗ d[j, ·] for each listed edge of i whose row j changed in the round before.
//
// A block of threads has a row, and a stripe of columns, one for each thread. Stripes don't depend on each other; blocks of one run one
// after the other, so that the rows that they read stay in L2. Rows are improved in place: what a block reads of another row is
// the length of a way, old or new, and a row that changed is read again in the next round.
#pragma once
#include <cstdint>

#include "core/problem/layout.h"

namespace mpmml::cuda {

/// An edge of the list: the node it leads to, and its weight as Lengths has it.
struct ListedEdge {
  int32_t to;
  uint32_t weight;
};

/// The edges of one node, which are neighbours in the list.
struct EdgesOfNode {
  uint32_t first, count;
};

/// Rounds that the host queues before it waits for their outcome.
constexpr int kRoundsTogether = 4;

/// Outcome of kRoundsTogether rounds.
struct RoundState {
  unsigned long long tried;           ///< edges times stripes whose rows were read
  unsigned changed[kRoundsTogether];  ///< whether a row changed
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

/// Counts equal elements. A block of threads has a row.
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
  equal = __reduce_add_sync(~0u, equal);
  zeros = __reduce_add_sync(~0u, zeros);
  if (threadIdx.x % 32 != 0) return;
  if (equal) atomicAdd(&counts[0], equal);
  if (zeros) atomicAdd(&counts[1], zeros);
}

/// Puts numbers of threads for which something holds in a row: returns the thread's place after `base`, and adds how many there are to
/// `base`. All threads call it.
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

/// Lists the essential edges of a row, wherever `used` says that the list goes on.
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

/// One round. changed_before and changed_now have a byte for each stripe and row; if the first is null, all rows count as changed. The
/// round is empty if `go_on` points to 0.
template <class S>
__global__ void __launch_bounds__(kRoundThreads)
    relax_kernel(MutableMatrixView d, const EdgesOfNode* nodes, const ListedEdge* edges, const uint8_t* changed_before,
                 uint8_t* changed_now, const unsigned* go_on, unsigned* any_changed, unsigned long long* tried) {
  using L = Lengths<S>;
  constexpr int kTogether = 4;  // edges whose loads are under way at the same time
  __shared__ uint32_t of_warps[kRoundThreads / 32];
  __shared__ ListedEdge list[kRoundThreads];
  if (go_on && *go_on == 0) return;
  const int64_t row = blockIdx.x, rows = gridDim.x, stripe = blockIdx.y;
  const auto* const matrix = static_cast<const int32_t*>(d.data);
  int32_t* const own = static_cast<int32_t*>(d.data) + row * d.row_stride;
  // Columns past the last one are read as the last, and not written.
  const int64_t wanted = stripe * kRoundThreads + threadIdx.x, column = min(wanted, d.cols - 1);
  const uint32_t before = L::of(own[column]);
  uint32_t best = before, read = 0;
  const EdgesOfNode of_node = nodes[row];
  for (uint32_t base = 0; base < of_node.count; base += kRoundThreads) {
    const bool exists = base + threadIdx.x < of_node.count;
    const ListedEdge edge = exists ? edges[of_node.first + base + threadIdx.x] : ListedEdge{0, 0};
    const bool is_active = exists && (!changed_before || changed_before[stripe * rows + edge.to]);
    uint32_t count = 0;
    const uint32_t place = place_of(is_active, count, of_warps);
    if (count == 0) continue;
    if (is_active) list[place] = edge;
    __syncthreads();
    for (uint32_t begin = 0; begin < count; begin += kTogether) {
      uint32_t length[kTogether];
#pragma unroll
      for (int u = 0; u < kTogether; ++u) {
        // The last one is read again.
        const ListedEdge by = list[min(begin + u, count - 1)];
        length[u] = by.weight + L::of(__ldcg(matrix + by.to * d.row_stride + column));
      }
#pragma unroll
      for (int u = 0; u < kTogether; ++u) best = min(best, length[u]);
    }
    read += count;
    __syncthreads();
  }
  const bool changed = best != before;
  if (changed && wanted < d.cols) own[column] = L::element(best);
  const bool any = __syncthreads_or(changed);
  if (threadIdx.x != 0) return;
  changed_now[stripe * rows + row] = any;
  if (any) *any_changed = 1;
  if (read) atomicAdd(tried, read);
}

}  // namespace mpmml::cuda
