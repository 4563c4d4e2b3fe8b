// Walks over the elements of device matrices: all elements, or only the elements inside or outside a band. Views may
// have any strides.
#pragma once
#include <algorithm>
#include <type_traits>

#include "core/problem/layout.h"
#include "core/problem/structure.h"
#include "cuda/device/error.h"

namespace mpmml::cuda {

constexpr int kWalkThreads = 256;

struct WalkStrides {
  int64_t item, line, element;
};

/// Two views of equal sizes as items × lines × length elements.
struct Walk {
  int64_t items, lines, length;
  WalkStrides to, from;
  bool by_columns;  ///< a line is a column
};

/// Returns a walk along the lines of `to`, or along its rows unless `may_be_columns`.
template <class View>
Walk walk_of(int64_t batch, const View& to, const MatrixView& from, bool may_be_columns = true) {
  const Lines lines(to, may_be_columns);
  const auto strides = [&](const auto& view) {
    return WalkStrides{view.batch_stride, lines.are_columns ? view.col_stride : view.row_stride,
                       lines.are_columns ? view.row_stride : view.col_stride};
  };
  return {batch, lines.count, lines.length, strides(to), strides(from), lines.are_columns};
}

/// Returns the walk with consecutive lines merged where both views are contiguous.
inline Walk joined(Walk walk) {
  const auto are_neighbours = [&](int64_t to_stride, int64_t from_stride) {
    return to_stride == walk.length * walk.to.element && from_stride == walk.length * walk.from.element;
  };
  if (walk.lines == 1 || are_neighbours(walk.to.line, walk.from.line)) {
    walk.length *= walk.lines;
    walk.lines = 1;
    if (walk.items == 1 || are_neighbours(walk.to.item, walk.from.item)) {
      walk.length *= walk.items;
      walk.items = 1;
    }
  }
  return walk;
}

/// All elements of each line.
struct AllElements {
  static constexpr int64_t kBlocksOfALine = 4096;

  template <class Body>
  __device__ __forceinline__ void visit(int64_t /*line*/, int64_t length, int64_t thread, int64_t step,
                                        const Body& body) const {
    for (int64_t at = thread; at < length; at += step) body(at);
  }
};

/// Band of elements, by line and index in the line.
struct BandOfLines {
  static constexpr int64_t kBlocksOfALine = 8;

  Band band;

  BandOfLines(const Band& of_matrix, const Walk& walk) : band(walk.by_columns ? of_matrix.transposed() : of_matrix) {}
  __device__ __forceinline__ Span of_line(int64_t line, int64_t length) const {
    return band.of_row(line).within({0, length});
  }
};

struct InsideBand : BandOfLines {
  using BandOfLines::BandOfLines;

  template <class Body>
  __device__ __forceinline__ void visit(int64_t line, int64_t length, int64_t thread, int64_t step,
                                        const Body& body) const {
    const Span inside = of_line(line, length);
    for (int64_t at = inside.first + thread; at < inside.end; at += step) body(at);
  }
};

struct OutsideBand : BandOfLines {
  using BandOfLines::BandOfLines;

  template <class Body>
  __device__ __forceinline__ void visit(int64_t line, int64_t length, int64_t thread, int64_t step,
                                        const Body& body) const {
    const Span inside = of_line(line, length);
    const int64_t before = min(inside.first, length), after = max(inside.end, before);
    for (int64_t at = thread; at < before; at += step) body(at);
    for (int64_t at = after + thread; at < length; at += step) body(at);
  }
};

/// Index of an element in the order of a walk.
struct WalkIndex {
  int64_t item, line, element;
};

/// Calls body(offset in `to`, offset in `from`), or body(offset in `to`, offset in `from`, WalkIndex), for the elements
/// that `places` visits. All threads of the grid must call it.
template <class Places, class Body>
__device__ __forceinline__ void visit_elements(const Walk& walk, const Places& places, const Body& body) {
  const int64_t lines = walk.items * walk.lines;
  for (int64_t index = blockIdx.y; index < lines; index += gridDim.y) {
    const int64_t item = walk.lines == 1 ? index : index / walk.lines;
    const int64_t line = index - item * walk.lines;
    const int64_t to = item * walk.to.item + line * walk.to.line;
    const int64_t from = item * walk.from.item + line * walk.from.line;
    places.visit(line, walk.length, int64_t{blockIdx.x} * kWalkThreads + threadIdx.x, int64_t{gridDim.x} * kWalkThreads,
                 [&](int64_t at) {
                   const int64_t target = to + at * walk.to.element, source = from + at * walk.from.element;
                   if constexpr (std::is_invocable_v<const Body&, int64_t, int64_t, WalkIndex>) {
                     body(target, source, WalkIndex{item, line, at});
                   } else {
                     body(target, source);
                   }
                 });
  }
}

template <class Places, class Body>
__global__ void __launch_bounds__(kWalkThreads) visit_kernel(Walk walk, Places places, Body body) {
  visit_elements(walk, places, body);
}

/// Returns the grid for a nonempty walk.
template <class Places>
dim3 grid_of(const Walk& walk, const Places&, int64_t max_lines = 65535) {
  return dim3(static_cast<unsigned>(std::min(Places::kBlocksOfALine, ceil_div(walk.length, kWalkThreads))),
              static_cast<unsigned>(std::min(max_lines, walk.items * walk.lines)));
}

/// Queues a kernel that calls `body` as visit_elements() does.
template <class Places, class Body>
void for_elements(const Walk& walk, const Places& places, cudaStream_t stream, Body body) {
  if (walk.items * walk.lines * walk.length == 0) return;
  visit_kernel<<<grid_of(walk, places), kWalkThreads, 0, stream>>>(walk, places, body);
  MPMML_CUDA(cudaGetLastError());
}

/// Bodies of walks.
template <class T>
struct CopyElement {
  T* to;
  const T* from;
  __device__ void operator()(int64_t target, int64_t source) const { to[target] = from[source]; }
};

template <class T>
struct FillElement {
  T* to;
  T value;
  __device__ void operator()(int64_t target, int64_t /*source*/) const { to[target] = value; }
};

}  // namespace mpmml::cuda
