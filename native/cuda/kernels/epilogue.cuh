// The one way from accumulators to C: decode, ⊕ C0, overflow, strided store. A kernel family passes its accumulators on
// and knows nothing of these. Anything else that results need belongs here too.
#pragma once
#include "core/arithmetic.h"
#include "cuda/kernels/kernel.h"

namespace mpmml::cuda {

/// Neighbours in a row that are stored at once, as wide as an access can be.
template <class Element, int kCount>
struct alignas(sizeof(Element) * kCount) Chunk {
  Element values[kCount];
};

/// Stores results of the block's instance (blockIdx.z).
template <class Arithmetic>
class Epilogue {
 public:
  using Element = typename Arithmetic::Element;
  using Accumulator = typename Arithmetic::Accumulator;

  __device__ __forceinline__ Epilogue(const Launch& launch, const Arithmetic& arithmetic)
      : launch_(launch), arithmetic_(arithmetic) {}

  /// Stores the result of this row and column, unless it is outside C.
  __device__ __forceinline__ void store(int64_t row, int64_t col, Accumulator sum) const {
    if (row < launch_.m && col < launch_.n) *place(row, col) = finish(row, col, sum);
  }

  /// Stores kColumns neighbours in a row of C from column `col` on, a multiple of kColumns. Leaves out those outside C.
  template <int kColumns>
  __device__ __forceinline__ void store(int64_t row, int64_t col, const Accumulator (&sums)[kColumns]) const {
    Element values[kColumns];
#pragma unroll
    for (int v = 0; v < kColumns; ++v) {
      values[v] = col + v < launch_.n ? finish(row, col + v, sums[v]) : Arithmetic::Semiring::zero;
    }
    constexpr int kCount = chunk_elements(sizeof(Element));
    Element* const target = place(row, col);
    if (launch_.c_in_chunks && col + kColumns <= launch_.n) {
#pragma unroll
      for (int v = 0; v < kColumns; v += kCount) {
        Chunk<Element, kCount> chunk;
#pragma unroll
        for (int element = 0; element < kCount; ++element) chunk.values[element] = values[v + element];
        *reinterpret_cast<Chunk<Element, kCount>*>(target + v) = chunk;
      }
    } else {
#pragma unroll
      for (int v = 0; v < kColumns; ++v) {
        if (col + v < launch_.n) target[v * launch_.c.col_stride] = values[v];
      }
    }
  }

 private:
  __device__ __forceinline__ Element* place(int64_t row, int64_t col) const {
    return static_cast<Element*>(launch_.c.data) + offset(launch_.c, row, col);
  }

  template <class View>
  static __device__ __forceinline__ int64_t offset(const View& view, int64_t row, int64_t col) {
    return int64_t{blockIdx.z} * view.batch_stride + row * view.row_stride + col * view.col_stride;
  }

  __device__ __forceinline__ Element finish(int64_t row, int64_t col, Accumulator sum) const {
    const MatrixView& c0 = launch_.c0;
    const Element before =
        c0.data ? static_cast<const Element*>(c0.data)[offset(c0, row, col)] : Arithmetic::Semiring::zero;
    bool overflowed = false;
    const Element result = arithmetic_.finish(sum, before, overflowed);
    if (overflowed && launch_.overflow) {
      // In row-major order of the whole product, of which the launch may be a part.
      const int64_t index =
          ((launch_.first_item + blockIdx.z) * launch_.whole_m + launch_.first_row + row) * launch_.whole_n +
          launch_.first_col + col;
      atomicMin(launch_.overflow, static_cast<unsigned long long>(index));
    }
    return result;
  }

  const Launch& launch_;
  const Arithmetic& arithmetic_;
};

}  // namespace mpmml::cuda
