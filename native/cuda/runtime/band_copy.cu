#include <algorithm>

#include "core/algebra/dispatch.h"
#include "core/problem/with_size.h"
#include "cuda/device/error.h"
#include "cuda/launch/kernel.h"
#include "cuda/runtime/band_copy.h"
#include "cuda/runtime/elements.cuh"
#include "cuda/runtime/range.cuh"

namespace mpmml::cuda {
namespace {

constexpr int kThreads = kWalkThreads;

/// Returns a walk over matrices that are read and written in place.
Walk walk_in_place(int64_t batch, const MatrixView& view) { return walk_of(items_of(view, batch), view, view); }

/// Elements of a line that a thread moves per iteration, so that their loads overlap.
constexpr int kMoved = 4;

template <Move kMove, class T>
__global__ void __launch_bounds__(kThreads)
    move_kernel(Walk walk, InsideBand band, T* batch, const StridedLines* places) {
  const int64_t all = walk.items * walk.lines, step = int64_t{gridDim.x} * kThreads;
  for (int64_t index = blockIdx.y; index < all; index += gridDim.y) {
    const int64_t item = index / walk.lines, line = index - item * walk.lines;
    const StridedLines& placed = places[item];
    T* const single = static_cast<T*>(placed.data) + line * placed.line_stride;
    T* const gathered = batch + item * walk.to.item + line * walk.to.line;
    const int64_t single_stride = placed.element_stride, gathered_stride = walk.to.element;
    const Span inside = band.of_line(line, walk.length);
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

template <class Stored>
__global__ void __launch_bounds__(kThreads)
    facts_kernel(Walk walk, InsideBand band, const Stored* data, ScanResult* result) {
  FoundFacts<Stored> found;
  visit_elements(walk, band, [&](int64_t place, int64_t) { found.include(data[place]); });
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
  const Walk walk = walk_of(items_of(to, batch), to, from);
  with_size(stored_bytes(dtype, from.storage), [&](auto element) {
    using T = decltype(element);
    for_elements(walk, InsideBand(band, walk), stream,
                 CopyElement<T>{static_cast<T*>(to.data), static_cast<const T*>(from.data)});
  });
}

void move_inside(Move move, DataType dtype, int64_t batch, const MatrixView& gathered, const Band& band,
                 const StridedLines* places, cudaStream_t stream) {
  const Walk walk = walk_in_place(batch, gathered);
  const InsideBand inside(band, walk);
  with_size(stored_bytes(dtype, gathered.storage), [&](auto element) {
    using T = decltype(element);
    auto* const data = static_cast<T*>(const_cast<void*>(gathered.data));
    dim3 grid = grid_of(walk, inside);
    grid.x = static_cast<unsigned>(ceil_div(grid.x, kMoved));
    if (move == Move::kGather) {
      move_kernel<Move::kGather><<<grid, kThreads, 0, stream>>>(walk, inside, data, places);
    } else {
      move_kernel<Move::kScatter><<<grid, kThreads, 0, stream>>>(walk, inside, data, places);
    }
  });
  MPMML_CUDA(cudaGetLastError());
}

void clear_outside(const Operation& operation, int64_t batch, const MatrixView& view, const Band& band,
                   cudaStream_t stream) {
  if (band.is_all(view.rows, view.cols)) return;
  const Walk walk = walk_in_place(batch, view);
  with_semiring(operation, [&](auto semiring) {
    using S = decltype(semiring);
    const auto clear = [&](auto zero) {
      using Stored = decltype(zero);
      auto* const data = static_cast<Stored*>(const_cast<void*>(view.data));
      for_elements(walk, OutsideBand(band, walk), stream, FillElement<Stored>{data, zero});
    };
    with_stored<S>(view.storage, clear);
  });
}

void repair_nan(const Operation& operation, const Launch& launch) {
  with_semiring(operation, [&](auto semiring) {
    using S = decltype(semiring);
    if constexpr (S::adds_floats) {
      for_instances(launch, [](const Launch& part) {
        constexpr int64_t kBlocksOfARow = 16;
        const dim3 grid(static_cast<unsigned>(std::min(kBlocksOfARow, ceil_div(part.n, kThreads))),
                        static_cast<unsigned>(std::min(kMaxBlocks, part.m)), static_cast<unsigned>(part.batch));
        repair_kernel<S><<<grid, kThreads, 0, part.stream>>>(part);
      });
    }
  });
  MPMML_CUDA(cudaGetLastError());
}

void find_facts_inside(DataType dtype, int64_t batch, const MatrixView& view, const Band& band, ScanResult* result,
                       cudaStream_t stream) {
  const Walk walk = walk_in_place(batch, view);
  if (walk.items * walk.lines * walk.length == 0) return;
  const InsideBand inside(band, walk);
  constexpr int64_t kMaxAtomics = 512;  // limit of blocks, because the warps of each block end with atomic operations
  with_scanned(dtype, view.storage, [&](auto stored) {
    facts_kernel<<<grid_of(walk, inside, kMaxAtomics), kThreads, 0, stream>>>(
        walk, inside, static_cast<const decltype(stored)*>(view.data), result);
  });
  MPMML_CUDA(cudaGetLastError());
}

}  // namespace mpmml::cuda
