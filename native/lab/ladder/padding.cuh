// Border handling by padding. Operands whose sizes aren't multiples of the tile are copied beforehand into larger ones,
// filled with the semiring's padding values. So the kernel's loop reads without comparisons.
//
// Source: P. Lameski, I. Mishkovski, S. Filiposka, D. Trajanov, L. Djinevski, "Comparison Of Rectangular Matrix
// Multiplication With And Without Border Conditions" (2013), Listing 1 against Algorithm 2. The paper pads with 0,
// plus-times' zero, and also pads the result, which is cropped at the end. Here a thread whose cell is outside C
// doesn't store it, which takes one comparison after the loop. An operand of whole tiles is read in place.
#pragma once
#include "cuda/launch/packing.cuh"

namespace mpmml::cuda::ladder {

/// An operand of the launch and its padded sizes.
struct Padded {
  MatrixView view;
  int64_t rows, cols, padded_rows, padded_cols, items;

  bool is_needed() const { return rows != padded_rows || cols != padded_cols; }
  int64_t elements() const { return items * padded_rows * padded_cols; }
};

template <int kTile>
Padded padded(const Launch& launch, Side side) {
  const bool is_a = side == Side::kA;
  const MatrixView& view = is_a ? launch.a : launch.b;
  const int64_t rows = is_a ? launch.m : launch.k, cols = is_a ? launch.k : launch.n;
  return {view, rows, cols, round_up(rows, kTile), round_up(cols, kTile), items_of(view, launch.batch)};
}

template <int kTile>
int64_t padded_bytes(const Launch& launch, Side side) {
  const Padded sizes = padded<kTile>(launch, side);
  return sizes.is_needed() ? sizes.elements() * element_bytes(launch.dtype) : 0;
}

/// Queues the copy of an operand into launch.packed_a or packed_b.
template <int kTile, class Semiring>
void pad(const Launch& launch, Side side) {
  if (padded_bytes<kTile>(launch, side) == 0) return;
  const Padded sizes = padded<kTile>(launch, side);
  const bool is_a = side == Side::kA;
  pack<CopyElements<Semiring>>(
      {sizes.view.data, sizes.cols, sizes.rows, sizes.view.col_stride, sizes.view.row_stride, sizes.view.batch_stride,
       sizes.view.storage},
      {is_a ? launch.packed_a : launch.packed_b, sizes.items, sizes.padded_cols, sizes.padded_rows},
      CopyElements<Semiring>{is_a ? Semiring::border_a : Semiring::border_b}, launch.stream);
}

/// Returns the launch with the padded operands of pad().
template <int kTile>
Launch with_padded_operands(Launch launch) {
  const auto replace = [&](Side side, MatrixView& view, const void* data) {
    const Padded sizes = padded<kTile>(launch, side);
    if (!sizes.is_needed()) return;
    const int64_t batch_stride = view.batch_stride == 0 ? 0 : sizes.padded_rows * sizes.padded_cols;
    view = {data, sizes.padded_rows, sizes.padded_cols, sizes.padded_cols, 1, batch_stride};
  };
  replace(Side::kA, launch.a, launch.packed_a);
  replace(Side::kB, launch.b, launch.packed_b);
  return launch;
}

}  // namespace mpmml::cuda::ladder
