// Search for next nodes from the distance matrix (NextNodes in core/session/session.h).
//
// A thread block searches for a few rows and a stripe of columns. It visits the candidate nodes in groups: it lists the
// nodes with a tight edge from one of its rows, and tests each listed node for the block's open pairs. Most nodes have
// few tight edges, because in a dense graph an edge is rarely a best path.
//
// A list needs `next` in all columns, while other thread blocks concurrently write its open entries. That doesn't
// change a list: the node written for an open pair is never the pair's own column, and only an entry equal to its
// column is a tight edge.
#pragma once
#include "core/algebra/successors.h"
#include "cuda/kernels/reduce.cuh"
#include "cuda/kernels/witness.cuh"

namespace mpmml::cuda {

/// Operands of a search for next nodes, in device memory: distances `d`, distances `via` from the intermediate nodes
/// `first_via` …, and the result `next` (NextNodes).
struct NextNodeSearch {
  MatrixView d, via;
  MutableMatrixView next;
  int64_t first_via;
};

constexpr int kRowsOfSuccessors = 8;

/// Threads per block, columns per thread, and columns per stripe.
template <int threads_, int columns_>
struct SuccessorConfig {
  static constexpr int kThreads = threads_, kColumns = columns_, kStripe = kThreads * kColumns;
};

template <class Config, class S>
__global__ void __launch_bounds__(Config::kThreads, sizeof(typename S::Element) == 8 ? 1 : 768 / Config::kThreads)
    find_successors_kernel(NextNodeSearch search, typename S::Element best_edge) {
  using Element = typename S::Element;
  constexpr unsigned kAll = ~0u;
  constexpr int kRows = kRowsOfSuccessors, kColumns = Config::kColumns, kThreads = Config::kThreads;
  constexpr int kWarps = kThreads / 32;
  constexpr int kTogether = 2;  // nodes whose loads are in flight at the same time
  __shared__ Element worst_of_warps[kWarps][kRows];
  __shared__ int listed_by_warps[kWarps];
  // The list: rows of `via`, a mask of the block's rows with a tight edge to the node, and the weights of these edges.
  __shared__ int32_t list[kThreads];
  __shared__ unsigned rows_of[kThreads];
  __shared__ Element weights[kThreads][kRows];

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const auto row_blocks = static_cast<unsigned>(ceil_div(search.next.rows, int64_t{kRows}));
  const int64_t row0 = int64_t{blockIdx.x % row_blocks} * kRows, instance = blockIdx.z;
  const int64_t stripe0 = int64_t{blockIdx.x / row_blocks} * Config::kStripe;
  const int rows = static_cast<int>(min(int64_t{kRows}, search.next.rows - row0));
  const int64_t cols = search.next.cols;
  const auto* const d = instance_of<Element>(search.d, instance) + row0 * search.d.row_stride;
  const auto* const via = instance_of<Element>(search.via, instance);
  int32_t* const next = instance_of<int32_t>(search.next, instance) + row0 * search.next.row_stride;

  // Columns beyond the last one read the first column, and have no open pairs.
  const auto exists = [&](int c) { return stripe0 + c * kThreads + threadIdx.x < cols; };
  int32_t column[kColumns];
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    column[c] = exists(c) ? static_cast<int32_t>(stripe0) + c * kThreads + static_cast<int32_t>(threadIdx.x) : 0;
  }
  Element wanted[kRows][kColumns];
  int open = 0;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    Element worst = S::one;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      wanted[r][c] = kUnwanted<S>;
      if (r < rows && exists(c) && next[r * search.next.row_stride + column[c]] == kOpenSuccessor) {
        wanted[r][c] = d[r * search.d.row_stride + column[c]];
        worst = worse<S>(worst, wanted[r][c]);
        ++open;
      }
    }
    worst = reduce_warp(worst, [](auto x, auto y) { return worse<S>(x, y); });
    if (lane == 0) worst_of_warps[warp][r] = worst;
  }
  if (!__syncthreads_or(open > 0)) return;
  if (threadIdx.x < kRows) {
    for (int w = 1; w < kWarps; ++w) {
      worst_of_warps[0][threadIdx.x] = worse<S>(worst_of_warps[0][threadIdx.x], worst_of_warps[w][threadIdx.x]);
    }
  }
  __syncthreads();
  const auto& worst = worst_of_warps[0];

  for (int64_t first = 0; first < search.via.rows; first += kThreads) {
    const int64_t place = first + threadIdx.x, node = search.first_via + place;
    int32_t noted[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      noted[r] = r < rows && place < search.via.rows ? next[r * search.next.row_stride + node] : kNoWitness;
    }
    unsigned leading = 0;
    Element weight[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      weight[r] = S::zero;
      if (noted[r] != node) continue;
      weight[r] = d[r * search.d.row_stride + node];
      if (may_lead_on<S>(weight[r], best_edge, worst[r])) leading |= 1u << r;
    }
    const unsigned listed = __ballot_sync(kAll, leading != 0);
    if (lane == 0) listed_by_warps[warp] = __popc(listed);
    __syncthreads();
    int at = __popc(listed & ((1u << lane) - 1)), count = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      if (w < warp) at += listed_by_warps[w];
      count += listed_by_warps[w];
    }
    if (leading != 0) {
      list[at] = static_cast<int32_t>(place);
      rows_of[at] = leading;
#pragma unroll
      for (int r = 0; r < kRows; ++r) weights[at][r] = weight[r];
    }
    __syncthreads();

#pragma unroll 1
    for (int begin = 0; begin < count; begin += kTogether) {
      Element onward[kTogether][kColumns];
#pragma unroll
      for (int u = 0; u < kTogether; ++u) {
        // The last node is read again to fill the unrolled loop.
        const Element* const from = via + list[min(begin + u, count - 1)] * search.via.row_stride;
#pragma unroll
        for (int c = 0; c < kColumns; ++c) onward[u][c] = from[column[c]];
      }
#pragma unroll
      for (int u = 0; u < kTogether; ++u) {
        if (begin + u >= count) break;
        const unsigned of_rows = rows_of[begin + u];
        const auto found = static_cast<int32_t>(search.first_via + list[begin + u]);
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          if ((of_rows >> r & 1) == 0) continue;
          const Element edge = weights[begin + u][r];
#pragma unroll
          for (int c = 0; c < kColumns; ++c) {
            if (S::extend(edge, onward[u][c]) != wanted[r][c]) continue;
            next[r * search.next.row_stride + column[c]] = found;
            wanted[r][c] = kUnwanted<S>;
            --open;
          }
        }
      }
    }
    // This is also the barrier before the list is overwritten.
    if (!__syncthreads_or(open > 0)) return;
  }
}

}  // namespace mpmml::cuda
