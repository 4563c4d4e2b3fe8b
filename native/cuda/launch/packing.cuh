// Queues the packing of operands (kernels/packing.cuh).
#pragma once
#include <utility>

#include "cuda/device/error.h"
#include "cuda/kernels/packing.cuh"
#include "cuda/launch/kernel.h"

namespace mpmml::cuda {

/// Returns an operand as the source of packing.
inline PackSource pack_source(const MatrixView& view, Side side) {
  const bool is_a = side == Side::kA;
  return {view.data,
          is_a ? view.rows : view.cols,
          is_a ? view.cols : view.rows,
          is_a ? view.row_stride : view.col_stride,
          is_a ? view.col_stride : view.row_stride,
          view.batch_stride,
          view.storage};
}
inline PackSource pack_source(const Launch& launch, Side side) {
  const bool is_a = side == Side::kA;
  PackSource source = pack_source(is_a ? launch.a : launch.b, side);
  source.lines = is_a ? launch.m : launch.n;
  source.depth = launch.k;
  source.band = is_a ? launch.structure.a : launch.structure.b.transposed();
  source.is_banded = launch.is_structured;
  return source;
}

/// Returns the source with the roles of lines and K exchanged. Its copy is contiguous along K.
inline PackSource along_k(PackSource source) {
  std::swap(source.lines, source.depth);
  std::swap(source.line_stride, source.k_stride);
  source.band = source.band.transposed();
  return source;
}

/// Calls `body(part of the source, target, grid)` for launches whose blocks write kPackTile lines and `depth_of_block`
/// k-steps of the target.
template <class Stored, class Word, class Body>
void for_pack_grids(const PackSource& source, const PackTarget& target, int depth_of_block, Body&& body) {
  for_runs(target.items, [&](Span items) {
    PackSource part = source;
    part.data = static_cast<const Stored*>(source.data) + items.first * source.batch_stride;
    const dim3 grid(static_cast<unsigned>(ceil_div(target.padded_lines, kPackTile)),
                    static_cast<unsigned>(std::min(kMaxBlocks, ceil_div(target.padded_depth, depth_of_block))),
                    static_cast<unsigned>(items.size()));
    body(part, static_cast<Word*>(target.data) + items.first * target.padded_lines * target.padded_depth, grid);
  });
  MPMML_CUDA(cudaGetLastError());
}

/// Queues the packing of matrices whose elements are stored as `Stored`.
template <class Stored, class Encode>
void pack_stored(const PackSource& source, const PackTarget& target, const Encode& encode, cudaStream_t stream) {
  using Word = typename Encode::Target;
  for_pack_grids<Stored, Word>(source, target, kPackTile, [&](const PackSource& part, Word* to, dim3 grid) {
    pack_kernel<Encode, Stored>
        <<<grid, dim3(kPackTile, kPackRows), 0, stream>>>(part, to, target.padded_lines, target.padded_depth, encode);
  });
}

/// Queues the packing of a batch of matrices.
template <class Encode>
void pack(const PackSource& source, const PackTarget& target, const Encode& encode, cudaStream_t stream) {
  with_stored<typename Encode::Semiring>(
      source.storage, [&](auto zero) { pack_stored<decltype(zero)>(source, target, encode, stream); });
}

/// Queues the packing of truth values into bits.
template <class Arithmetic>
void pack_bits(const PackSource& source, const PackTarget& target, cudaStream_t stream) {
  using Word = typename Arithmetic::Operand;
  for_pack_grids<typename Arithmetic::Element, Word>(
      source, target, kPackRows, [&](const PackSource& part, Word* to, dim3 grid) {
        pack_bits_kernel<Arithmetic>
            <<<grid, dim3(kPackTile, kPackRows), 0, stream>>>(part, to, target.padded_lines, target.padded_depth);
      });
}

}  // namespace mpmml::cuda
