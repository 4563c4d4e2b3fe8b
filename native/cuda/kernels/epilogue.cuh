// The epilogue of all kernel families: decodes accumulators, combines them with C0, detects overflow, stores witnesses
// and writes C with strides. A kernel family only passes its accumulators. Any other processing of results
// belongs here, too.
#pragma once
#include "core/algebra/arithmetic.h"
#include "cuda/kernels/device_problem.h"
#include "cuda/kernels/indexed_sum.cuh"

namespace mpmml::cuda {

/// Neighbours in a row that one vector store writes.
template <class Element, int kCount>
struct alignas(sizeof(Element) * kCount) Chunk {
  Element values[kCount];
};

/// Stores results of one batch entry.
template <class Arithmetic>
class Epilogue {
 public:
  using Element = typename Arithmetic::Element;
  using Accumulator = typename Arithmetic::Accumulator;

  __device__ __forceinline__ Epilogue(const DeviceProblem& problem, const Arithmetic& arithmetic, int64_t instance)
      : problem_(problem), arithmetic_(arithmetic), instance_(instance) {}

  /// Stores the result of a row and a column, unless it is outside C or its band.
  __device__ __forceinline__ void store(int64_t row, int64_t col, Accumulator sum) const {
    if (row >= problem_.m || !is_result(row, col)) return;
    const Element before = problem_.c0.data ? c0_at(row, col) : Arithmetic::Semiring::zero;
    target(row)[col] = finish(row, col, before, sum);
  }

  /// Returns whether store_pair() can store a tile of these rows and columns: all elements inside C are in the band,
  /// and C0 is absent.
  __device__ __forceinline__ bool stores_pairs(Span rows, Span cols) const {
    return !problem_.c0.data && (!problem_.is_structured || problem_.structure.c.has_all(rows, cols));
  }
  /// Stores two results at `first`, whose column is even. `left` is the number of elements of the row from `first` on.
  __device__ __forceinline__ void store_pair(Element* first, int left, Accumulator sum, Accumulator next_sum) const {
    static_assert(!kReportsOverflow, "this doesn't report overflows");
    bool overflowed = false;
    const Element values[] = {arithmetic_.finish(sum, Arithmetic::Semiring::zero, overflowed),
                              arithmetic_.finish(next_sum, Arithmetic::Semiring::zero, overflowed)};
    if (left > 1 && problem_.c.row_stride % chunk_elements(sizeof(Element)) == 0) {
      store_chunk<2>(first, values);
    } else {
      if (left > 0) first[0] = values[0];
      if (left > 1) first[1] = values[1];
    }
  }
  /// Returns the address of the first element of a row of C.
  __device__ __forceinline__ Element* target(int64_t row) const {
    const MutableMatrixView& c = problem_.c;
    return static_cast<Element*>(c.data) + instance_ * c.batch_stride + row * c.row_stride;
  }

  /// Stores kColumns neighbours in a row of C from column `col` on, a multiple of kColumns. Skips elements outside C or
  /// its band.
  template <int kColumns>
  __device__ __forceinline__ void store(int64_t row, int64_t col, const Accumulator (&sums)[kColumns]) const {
    Element before[kColumns], values[kColumns];
    finish(row, col, sums, before, values);
    store_values(row, col, values);
  }

  /// Stores kColumns results like the overload above, and their witnesses. `found` has the index of a k-step or a hint
  /// for each sum; it is stored only for results that a sum decides, not C0.
  template <int kColumns>
  __device__ __forceinline__ void store(int64_t row, int64_t col, const Accumulator (&sums)[kColumns],
                                        const int32_t (&found)[kColumns]) const {
    Element before[kColumns], values[kColumns];
    finish(row, col, sums, before, values);
    // C0 may alias C: all of its elements have been read by now.
    store_values(row, col, values);
    if (problem_.through.data) {
      follow(row, col, before, values, found);
    } else {
      store_witnesses(row, col, sums, values, found);
    }
  }

 private:
  static constexpr bool kReportsOverflow = Arithmetic::paths.has(ArithmeticKind::kWide);

  /// Returns the columns of this row that are in C and its band.
  __device__ __forceinline__ Span results_of(int64_t row) const {
    if (!problem_.is_structured) return {0, problem_.n};
    const Span results = problem_.structure.c.of_row(row);
    return {results.first, min(problem_.n, results.end)};
  }
  __device__ __forceinline__ bool is_result(int64_t row, int64_t col) const {
    const Span results = results_of(row);
    return col >= results.first && col < results.end;
  }
  /// Returns whether kColumns neighbours from `col` on are all in C and its band.
  template <int kColumns>
  __device__ __forceinline__ bool are_results(int64_t row, int64_t col) const {
    const Span results = results_of(row);
    return col >= results.first && col + kColumns <= results.end;
  }

  __device__ __forceinline__ Element c0_at(int64_t row, int64_t col) const {
    const MatrixView& c0 = problem_.c0;
    const auto* instance = static_cast<const Element*>(c0.data) + instance_ * c0.batch_stride;
    const Element element = instance[row * c0.row_stride + col * c0.col_stride];
    // Any other truth value than 0 is 1.
    if constexpr (Arithmetic::Semiring::is_boolean) return element != 0;
    return element;
  }

  template <int kCount, class T>
  static __device__ __forceinline__ void store_chunk(T* target, const T* values) {
    Chunk<T, kCount> chunk;
#pragma unroll
    for (int element = 0; element < kCount; ++element) chunk.values[element] = values[element];
    *reinterpret_cast<Chunk<T, kCount>*>(target) = chunk;
  }

  template <int kColumns>
  __device__ __forceinline__ void finish(int64_t row, int64_t col, const Accumulator (&sums)[kColumns],
                                         Element (&before)[kColumns], Element (&values)[kColumns]) const {
#pragma unroll
    for (int v = 0; v < kColumns; ++v) {
      // Elements outside C are computed, too, which costs less than a branch.
      before[v] = problem_.c0.data && col + v < problem_.n ? c0_at(row, col + v) : Arithmetic::Semiring::zero;
      values[v] = finish(row, col + v, before[v], sums[v]);
    }
  }

  template <int kColumns>
  __device__ __forceinline__ void store_values(int64_t row, int64_t col, const Element (&values)[kColumns]) const {
    constexpr int kCount = chunk_elements(sizeof(Element));
    Element* const first = target(row) + col;
    if (problem_.c.row_stride % kCount == 0 && are_results<kColumns>(row, col)) {
#pragma unroll
      for (int v = 0; v < kColumns; v += kCount) store_chunk<kCount>(first + v, values + v);
    } else {
#pragma unroll
      for (int v = 0; v < kColumns; ++v) {
        if (is_result(row, col + v)) first[v] = values[v];
      }
    }
  }

  /// Stores the witnesses of the results that are strictly better than C0.
  template <int kColumns>
  __device__ __forceinline__ void follow(int64_t row, int64_t col, const Element (&before)[kColumns],
                                         const Element (&values)[kColumns], const int32_t (&found)[kColumns]) const {
    const MatrixView& through = problem_.through;
    const auto* const ways =
        static_cast<const int32_t*>(through.data) + instance_ * through.batch_stride + row * through.row_stride;
    int32_t* const first = witnesses(row, col);
#pragma unroll
    for (int v = 0; v < kColumns; ++v) {
      if (!is_result(row, col + v) || values[v] == before[v] || values[v] == Arithmetic::Semiring::zero) continue;
      first[v * problem_.witness.col_stride] =
          numbers_steps<Arithmetic> ? ways[found[v] * through.col_stride] : found[v];
    }
  }

  template <int kColumns>
  __device__ __forceinline__ void store_witnesses(int64_t row, int64_t col, const Accumulator (&sums)[kColumns],
                                                  const Element (&values)[kColumns],
                                                  const int32_t (&found)[kColumns]) const {
    int32_t decided[kColumns];
#pragma unroll
    for (int v = 0; v < kColumns; ++v) {
      bool overflowed = false;
      const Element sum = arithmetic_.finish(sums[v], Arithmetic::Semiring::zero, overflowed);
      decided[v] = values[v] == sum && sum != Arithmetic::Semiring::zero ? found[v] : -1;
    }
    int32_t* const first = witnesses(row, col);
    const bool is_chunk = problem_.witness.col_stride == 1 && reinterpret_cast<uintptr_t>(first) % sizeof(decided) == 0;
    if (is_chunk && are_results<kColumns>(row, col)) {
      store_chunk<kColumns>(first, decided);
    } else {
#pragma unroll
      for (int v = 0; v < kColumns; ++v) {
        if (is_result(row, col + v)) first[v * problem_.witness.col_stride] = decided[v];
      }
    }
  }

  __device__ __forceinline__ int32_t* witnesses(int64_t row, int64_t col) const {
    const MutableMatrixView& witness = problem_.witness;
    return static_cast<int32_t*>(witness.data) + instance_ * witness.batch_stride + row * witness.row_stride +
           col * witness.col_stride;
  }

  __device__ __forceinline__ Element finish(int64_t row, int64_t col, Element before, Accumulator sum) const {
    bool overflowed = false;
    const Element result = arithmetic_.finish(sum, before, overflowed);
    if constexpr (kReportsOverflow) {
      if (overflowed && problem_.overflow && is_result(row, col)) report_overflow(row, col);
    }
    return result;
  }

  __device__ __forceinline__ void report_overflow(int64_t row, int64_t col) const {
    // Linear index in row-major order of the whole product, of which this may be a region.
    const int64_t item = problem_.first_item + instance_;
    const int64_t index =
        (item * problem_.whole_m + problem_.first_row + row) * problem_.whole_n + problem_.first_col + col;
    atomicMin(problem_.overflow, static_cast<unsigned long long>(index));
  }

  const DeviceProblem& problem_;
  const Arithmetic& arithmetic_;
  const int64_t instance_;
};

}  // namespace mpmml::cuda
