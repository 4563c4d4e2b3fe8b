// Queues the packing of operands (kernels/packing.cuh).
#pragma once
#include "cuda/device/error.h"
#include "cuda/kernels/packing.cuh"
#include "cuda/launch/kernel.h"

namespace mpmml::cuda {

/// The operand on this side of the launch.
inline PackSource pack_source(const Launch& launch, Side side) {
  const bool is_a = side == Side::kA;
  const MatrixView& view = is_a ? launch.a : launch.b;
  return {view.data,
          is_a ? launch.m : launch.n,
          launch.k,
          is_a ? view.row_stride : view.col_stride,
          is_a ? view.col_stride : view.row_stride,
          view.batch_stride,
          view.storage,
          is_a ? launch.structure.a : launch.structure.b.transposed(),
          launch.is_structured};
}

/// Calls `body(part of the source, where it goes, grid)` for launches whose blocks write kPackTile lines and
/// `depth_of_block` steps of k of the target.
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
