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

/// Stores results of one instance of the launch.
template <class Arithmetic>
class Epilogue {
 public:
  using Element = typename Arithmetic::Element;
  using Accumulator = typename Arithmetic::Accumulator;

  __device__ __forceinline__ Epilogue(const Launch& launch, const Arithmetic& arithmetic, int64_t instance)
      : launch_(launch), arithmetic_(arithmetic), instance_(instance) {}

  /// Stores the result of this row and column, unless it is outside C.
  __device__ __forceinline__ void store(int64_t row, int64_t col, Accumulator sum) const {
    if (row >= launch_.m || col >= launch_.n) return;
    const Element before = launch_.c0.data ? c0_at(row, col) : Arithmetic::Semiring::zero;
    target(row)[col] = finish(row, col, before, sum);
  }

  /// Stores kColumns neighbours in a row of C from column `col` on, a multiple of kColumns. Leaves out those outside C.
  template <int kColumns>
  __device__ __forceinline__ void store(int64_t row, int64_t col, const Accumulator (&sums)[kColumns]) const {
    constexpr int kCount = chunk_elements(sizeof(Element));
    Element values[kColumns];
#pragma unroll
    for (int v = 0; v < kColumns; ++v) {
      // What is outside C is computed too, which costs less than to branch around it.
      const Element before = launch_.c0.data && col + v < launch_.n ? c0_at(row, col + v) : Arithmetic::Semiring::zero;
      values[v] = finish(row, col + v, before, sums[v]);
    }
    Element* const first = target(row) + col;
    if (launch_.c.row_stride % kCount == 0 && col + kColumns <= launch_.n) {
#pragma unroll
      for (int v = 0; v < kColumns; v += kCount) store_chunk(first + v, values + v);
    } else {
#pragma unroll
      for (int v = 0; v < kColumns; ++v) {
        if (col + v < launch_.n) first[v] = values[v];
      }
    }
  }

 private:
  static constexpr bool kReportsOverflow = Arithmetic::paths.has(RangePath::kWide);

  __device__ __forceinline__ Element c0_at(int64_t row, int64_t col) const {
    const MatrixView& c0 = launch_.c0;
    const auto* instance = static_cast<const Element*>(c0.data) + instance_ * c0.batch_stride;
    return instance[row * c0.row_stride + col * c0.col_stride];
  }

  __device__ __forceinline__ Element* target(int64_t row) const {
    const MutableMatrixView& c = launch_.c;
    return static_cast<Element*>(c.data) + instance_ * c.batch_stride + row * c.row_stride;
  }

  static __device__ __forceinline__ void store_chunk(Element* target, const Element* values) {
    constexpr int kCount = chunk_elements(sizeof(Element));
    Chunk<Element, kCount> chunk;
#pragma unroll
    for (int element = 0; element < kCount; ++element) chunk.values[element] = values[element];
    *reinterpret_cast<Chunk<Element, kCount>*>(target) = chunk;
  }

  __device__ __forceinline__ Element finish(int64_t row, int64_t col, Element before, Accumulator sum) const {
    bool overflowed = false;
    const Element result = arithmetic_.finish(sum, before, overflowed);
    if constexpr (kReportsOverflow) {
      if (overflowed && launch_.overflow && col < launch_.n) report_overflow(row, col);
    }
    return result;
  }

  __device__ __forceinline__ void report_overflow(int64_t row, int64_t col) const {
    // In row-major order of the whole product. The launch may be a part of it.
    const int64_t item = launch_.first_item + instance_;
    const int64_t index =
        (item * launch_.whole_m + launch_.first_row + row) * launch_.whole_n + launch_.first_col + col;
    atomicMin(launch_.overflow, static_cast<unsigned long long>(index));
  }

  const Launch& launch_;
  const Arithmetic& arithmetic_;
  const int64_t instance_;
};

}  // namespace mpmml::cuda
