// Shared by the kernels of the ladder: the mapping of threads to cells of C. The ladder goes from one thread per cell
// to tiles in shared memory, as in textbooks, with one technique per file:
//
//   naive.cuh     one thread per cell, operands from global memory
//   tiled.cuh     square tiles of both operands in shared memory
//   prefetch.cuh  tiles in shared memory, with the next tile prefetched into registers
//   padding.cuh   padded operands instead of a guard at every read
//
// Tiles in registers are the MPMML family (lab/thesis/mpmml.cuh), asynchronous copies the pipelined one
// (cuda/kernels/pipelined.cuh).
//
// Sources: J. Sun, "CS 4444 – Report for Homework 5" (University of Virginia, 2017), its listing; A. Pöpl, "Dense
// Linear Algebra", tutorial of the course HPC – Algorithms and Applications (Technical University of Munich, 2016).
// Both are about square plus-times float32 matrices. Here the semiring is a parameter, and any sizes and strides are
// allowed.
#pragma once
#include "core/algebra/arithmetic.h"
#include "cuda/kernels/device_problem.h"
#include "cuda/kernels/epilogue.cuh"

namespace mpmml::cuda::ladder {

/// Mapping of neighbouring threads of a warp (threadIdx.x) to C. Along a row they read neighbours of B and write
/// neighbours of C. Along a column their accesses are a row's stride apart.
enum class Order { kCoalesced, kUncoalesced };

/// Handling of tiles that reach past an operand: a comparison at every read, or padding of the operand beforehand.
enum class Borders { kGuards, kPadding };

/// A thread's cell of C: its position in the block's tile, and in the matrix.
template <int kTile, Order order>
struct Cell {
  int i, j;
  int64_t row, col;

  /// `first_tile` counts tiles along the grid's second dimension.
  __device__ __forceinline__ explicit Cell(int64_t first_tile) {
    const int64_t fast = int64_t{blockIdx.x} * kTile, slow = (first_tile + blockIdx.y) * kTile;
    constexpr bool kCoalesced = order == Order::kCoalesced;
    i = kCoalesced ? threadIdx.y : threadIdx.x;
    j = kCoalesced ? threadIdx.x : threadIdx.y;
    row = (kCoalesced ? slow : fast) + i;
    col = (kCoalesced ? fast : slow) + j;
  }
};

}  // namespace mpmml::cuda::ladder
