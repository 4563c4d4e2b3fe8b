#include <algorithm>

#include "core/algebra/dispatch.h"
#include "core/problem/with_size.h"
#include "cuda/device/error.h"
#include "cuda/launch/kernel.h"
#include "cuda/runtime/banded.h"
#include "cuda/runtime/range.cuh"

namespace mpmml::cuda {
namespace {

constexpr int kThreads = 256;

/// A batch of matrices as items × lines × length elements, and the band of the elements (line, place in the line).
struct BandedLines {
  int64_t items, lines, length;
  int64_t item_stride, line_stride, element_stride;
  Band band;

  template <class Pointer>
  BandedLines(int64_t batch, const BasicMatrixView<Pointer>& view, const Band& whole)
      : items(items_of(view, batch)), item_stride(view.batch_stride) {
    const Lines of(view);
    lines = of.count;
    length = of.length;
    line_stride = of.line_stride;
    element_stride = of.element_stride;
    band = of.are_columns ? whole.transposed() : whole;
  }
  /// The places of a line that are inside.
  MPMML_HOST_DEVICE Span inside(int64_t line) const { return band.of_row(line).within({0, length}); }
};

/// Calls body(item, line, place) for the places of all lines that are inside, or for the others.
template <bool kInside, class Body>
__device__ __forceinline__ void for_banded(const BandedLines& lines, const Body& body) {
  const int64_t all = lines.items * lines.lines, step = int64_t{gridDim.x} * kThreads;
  const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (int64_t index = blockIdx.y; index < all; index += gridDim.y) {
    const int64_t item = index / lines.lines, line = index - item * lines.lines;
    const Span inside = lines.inside(line);
    if constexpr (kInside) {
      for (int64_t place = inside.first + thread; place < inside.end; place += step) body(item, line, place);
    } else {
      const int64_t before = min(inside.first, lines.length), after = max(inside.end, before);
      for (int64_t place = thread; place < before; place += step) body(item, line, place);
      for (int64_t place = after + thread; place < lines.length; place += step) body(item, line, place);
    }
  }
}

dim3 grid_of(const BandedLines& lines, int64_t most_blocks = kMostBlocks) {
  constexpr int64_t kBlocksOfALine = 8;
  return dim3(static_cast<unsigned>(std::min(kBlocksOfALine, ceil_div(lines.length, kThreads))),
              static_cast<unsigned>(std::min(most_blocks, lines.items * lines.lines)));
}

/// What a walk through a batch of matrices needs to find an element.
struct Strides {
  int64_t item, line, element;
};

template <class T>
__global__ void __launch_bounds__(kThreads) copy_kernel(BandedLines lines, const T* from, Strides strides, T* to) {
  for_banded<true>(lines, [&](int64_t item, int64_t line, int64_t place) {
    to[item * lines.item_stride + line * lines.line_stride + place * lines.element_stride] =
        from[item * strides.item + line * strides.line + place * strides.element];
  });
}

/// Elements of a line that a thread moves at once, so that it waits for memory only once.
constexpr int kMoved = 4;

template <Move kMove, class T>
__global__ void __launch_bounds__(kThreads) move_kernel(BandedLines lines, T* batch, const Placed* places) {
  const int64_t all = lines.items * lines.lines, step = int64_t{gridDim.x} * kThreads;
  for (int64_t index = blockIdx.y; index < all; index += gridDim.y) {
    const int64_t item = index / lines.lines, line = index - item * lines.lines;
    const Placed& placed = places[item];
    T* const single = static_cast<T*>(placed.data) + line * placed.line_stride;
    T* const gathered = batch + item * lines.item_stride + line * lines.line_stride;
    const int64_t single_stride = placed.element_stride, gathered_stride = lines.element_stride;
    const Span inside = lines.inside(line);
    for (int64_t first = inside.first + int64_t{blockIdx.x} * kThreads + threadIdx.x; first < inside.end;
         first += kMoved * step) {
      T values[kMoved];
#pragma unroll
      for (int i = 0; i < kMoved; ++i) {
        const int64_t place = first + i * step;
        if (place >= inside.end) continue;
        values[i] = kMove == Move::kGather ? single[place * single_stride] : gathered[place * gathered_stride];
      }
#pragma unroll
      for (int i = 0; i < kMoved; ++i) {
        const int64_t place = first + i * step;
        if (place >= inside.end) continue;
        (kMove == Move::kGather ? gathered[place * gathered_stride] : single[place * single_stride]) = values[i];
      }
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) clear_kernel(BandedLines lines, T* data, T zero) {
  for_banded<false>(lines, [&](int64_t item, int64_t line, int64_t place) {
    data[item * lines.item_stride + line * lines.line_stride + place * lines.element_stride] = zero;
  });
}

template <class Stored>
__global__ void __launch_bounds__(kThreads) facts_kernel(BandedLines lines, const Stored* data, ScanResult* result) {
  FoundFacts<Stored> found;
  for_banded<true>(lines, [&](int64_t item, int64_t line, int64_t place) {
    found.include(data[item * lines.item_stride + line * lines.line_stride + place * lines.element_stride]);
  });
  found.add_to(result);
}

template <class S>
__global__ void __launch_bounds__(kThreads) repair_kernel(DeviceProblem launch) {
  using Element = typename S::Element;
  const int64_t instance = blockIdx.z;
  const auto* const a = static_cast<const Element*>(launch.a.data) + instance * launch.a.batch_stride;
  const auto* const b = static_cast<const Element*>(launch.b.data) + instance * launch.b.batch_stride;
  const auto* const c0 = static_cast<const Element*>(launch.c0.data) + instance * launch.c0.batch_stride;
  auto* const c = static_cast<Element*>(launch.c.data) + instance * launch.c.batch_stride;
  for (int64_t row = blockIdx.y; row < launch.m; row += gridDim.y) {
    for (int64_t col = int64_t{blockIdx.x} * kThreads + threadIdx.x; col < launch.n;
         col += int64_t{gridDim.x} * kThreads) {
      Element& result = c[row * launch.c.row_stride + col];
      if (!launch.structure.c.has(row, col) || result == result) continue;
      const Span steps = launch.structure.steps({row, row + 1}, {col, col + 1}, launch.k);
      Element sum = S::zero;
      for (int64_t k = steps.first; k < steps.end; ++k) {
        sum = S::accumulate(sum, a[row * launch.a.row_stride + k * launch.a.col_stride],
                            b[k * launch.b.row_stride + col * launch.b.col_stride]);
      }
      result = launch.c0.data ? S::combine(sum, c0[row * launch.c0.row_stride + col * launch.c0.col_stride]) : sum;
    }
  }
}

}  // namespace

void copy_inside(DataType dtype, int64_t batch, const MatrixView& from, const Band& band, const MutableMatrixView& to,
                 cudaStream_t stream) {
  BandedLines lines(batch, to, band);
  if (lines.items * lines.lines * lines.length == 0) return;
  const bool are_columns = Lines(to).are_columns;
  const Strides strides{from.batch_stride, are_columns ? from.col_stride : from.row_stride,
                        are_columns ? from.row_stride : from.col_stride};
  with_size(stored_bytes(dtype, from.storage), [&](auto element) {
    using T = decltype(element);
    copy_kernel<<<grid_of(lines), kThreads, 0, stream>>>(lines, static_cast<const T*>(from.data), strides,
                                                         static_cast<T*>(to.data));
  });
  MPMML_CUDA(cudaGetLastError());
}

void move_inside(Move move, DataType dtype, int64_t batch, const MatrixView& gathered, const Band& band,
                 const Placed* places, cudaStream_t stream) {
  const BandedLines lines(batch, gathered, band);
  with_size(stored_bytes(dtype, gathered.storage), [&](auto element) {
    using T = decltype(element);
    auto* const data = static_cast<T*>(const_cast<void*>(gathered.data));
    dim3 grid = grid_of(lines);
    grid.x = static_cast<unsigned>(ceil_div(grid.x, kMoved));
    if (move == Move::kGather) {
      move_kernel<Move::kGather><<<grid, kThreads, 0, stream>>>(lines, data, places);
    } else {
      move_kernel<Move::kScatter><<<grid, kThreads, 0, stream>>>(lines, data, places);
    }
  });
  MPMML_CUDA(cudaGetLastError());
}

void clear_outside(const Operation& operation, int64_t batch, const MatrixView& view, const Band& band,
                   cudaStream_t stream) {
  const BandedLines lines(batch, view, band);
  if (band.is_all(view.rows, view.cols) || lines.items * lines.lines * lines.length == 0) return;
  with_semiring(operation, [&](auto semiring) {
    using S = decltype(semiring);
    const auto clear = [&](auto zero) {
      auto* const data = static_cast<decltype(zero)*>(const_cast<void*>(view.data));
      clear_kernel<<<grid_of(lines), kThreads, 0, stream>>>(lines, data, zero);
    };
    with_stored<S>(view.storage, clear);
  });
  MPMML_CUDA(cudaGetLastError());
}

void repair_nan(const Operation& operation, const Launch& launch) {
  with_semiring(operation, [&](auto semiring) {
    using S = decltype(semiring);
    if constexpr (S::adds_floats) {
      for_instances(launch, [](const Launch& part) {
        constexpr int64_t kBlocksOfARow = 16;
        const dim3 grid(static_cast<unsigned>(std::min(kBlocksOfARow, ceil_div(part.n, kThreads))),
                        static_cast<unsigned>(std::min(kMostBlocks, part.m)), static_cast<unsigned>(part.batch));
        repair_kernel<S><<<grid, kThreads, 0, part.stream>>>(part);
      });
    }
  });
  MPMML_CUDA(cudaGetLastError());
}

void find_facts_inside(DataType dtype, int64_t batch, const MatrixView& view, const Band& band, ScanResult* result,
                       cudaStream_t stream) {
  const BandedLines lines(batch, view, band);
  if (lines.items * lines.lines * lines.length == 0) return;
  constexpr int64_t kMostAtomics = 512;  // the warps of each block end with some
  with_scanned(dtype, view.storage, [&](auto stored) {
    facts_kernel<<<grid_of(lines, kMostAtomics), kThreads, 0, stream>>>(
        lines, static_cast<const decltype(stored)*>(view.data), result);
  });
  MPMML_CUDA(cudaGetLastError());
}

}  // namespace mpmml::cuda
