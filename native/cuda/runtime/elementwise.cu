#include <algorithm>

#include "core/algebra/arithmetic.h"
#include "core/algebra/dispatch.h"
#include "core/algebra/element_types.h"
#include "core/algebra/successors.h"
#include "core/problem/with_size.h"
#include "cuda/device/error.h"
#include "cuda/runtime/elements.cuh"
#include "cuda/runtime/elementwise.h"

namespace mpmml::cuda {
namespace {

template <class S>
struct Widen {
  typename S::Element* to;
  const NarrowType<typename S::Element>* from;
  __device__ void operator()(int64_t target, int64_t source) const { to[target] = widened<S>(from[source]); }
};

template <class S, class Stored>
struct Combine {
  using Element = typename S::Element;
  Element* c;
  const Stored* d;
  __device__ void operator()(int64_t target, int64_t source) const {
    using Arithmetic = typename ByDefinition<S>::Arithmetic;
    bool overflowed = false;
    const auto sum = S::combine(Arithmetic::initial(), Arithmetic::encode(widened<S>(d[source])));
    c[target] = Arithmetic::finish(sum, c[target], overflowed);
  }
};

template <class S>
struct NormalizeResult {
  using Element = typename S::Element;
  Element* c;
  __device__ void operator()(int64_t target, int64_t) const {
    using Arithmetic = typename ByDefinition<S>::Arithmetic;
    bool overflowed = false;
    c[target] = Arithmetic::finish(Arithmetic::initial(), c[target], overflowed);
  }
};

/// Queues a kernel that calls body(offset in `to`, offset in `from`) for all elements.
template <class View, class Body>
void for_all(int64_t batch, const View& to, const MatrixView& from, cudaStream_t stream, Body body) {
  for_elements(joined(walk_of(batch, to, from)), AllElements{}, stream, body);
}

/// Queues a kernel that calls body(offset in `to`, offset in `from`, WalkIndex) for all elements, row by row.
template <class View, class Body>
void for_rows(int64_t batch, const View& to, const MatrixView& from, cudaStream_t stream, Body body) {
  for_elements(walk_of(batch, to, from, false), AllElements{}, stream, body);
}

template <class S>
struct Point {
  int32_t* next;
  const typename S::Element* d;
  __device__ void operator()(int64_t target, int64_t source, const WalkIndex& index) const {
    next[target] = d[source] == S::zero ? -1 : static_cast<int32_t>(index.element);
  }
};

template <class S>
struct Mark {
  int32_t* next;
  const typename S::Element* d;
  int64_t first_row;
  __device__ void operator()(int64_t target, int64_t source, const WalkIndex& index) const {
    next[target] = marked<S>(next[target], d[source], first_row + index.line, index.element);
  }
};

template <class T>
struct FindNan {
  const T* data;
  int64_t rows, cols;
  unsigned long long* found;
  __device__ void operator()(int64_t, int64_t source, const WalkIndex& index) const {
    if (data[source] == data[source]) return;
    atomicMin(found, static_cast<unsigned long long>((index.item * rows + index.line) * cols + index.element));
  }
};

}  // namespace

void copy_matrices(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
                   cudaStream_t stream) {
  with_size(stored_bytes(dtype, from.storage), [&](auto element) {
    using T = decltype(element);
    for_all(batch, to, from, stream, CopyElement<T>{static_cast<T*>(to.data), static_cast<const T*>(from.data)});
  });
}

void fill_matrices(DataType dtype, int64_t batch, const MutableMatrixView& to, double value, cudaStream_t stream) {
  with_element(dtype, [&](auto element) {
    using T = decltype(element);
    for_all(batch, to, read_only(to), stream, FillElement<T>{static_cast<T*>(to.data), static_cast<T>(value)});
  });
}

void set_successors(const Operation& operation, int64_t batch, const MatrixView& d, const MutableMatrixView& next,
                    cudaStream_t stream) {
  with_semiring(operation, [&](auto semiring) {
    using S = decltype(semiring);
    using Element = typename S::Element;
    for_rows(batch, next, d, stream, Point<S>{static_cast<int32_t*>(next.data), static_cast<const Element*>(d.data)});
  });
}

void mark_tight_edges(const NextNodes& successors, cudaStream_t stream) {
  with_semiring<HasSuccessors>(successors.operation, [&](auto semiring) {
    using S = decltype(semiring);
    using Element = typename S::Element;
    const MutableMatrixView& next = successors.next;
    const MatrixView& d = successors.d;
    for_rows(successors.batch, next, d, stream,
             Mark<S>{static_cast<int32_t*>(next.data), static_cast<const Element*>(d.data), successors.first_row});
  });
}

void find_nan(DataType dtype, int64_t batch, const MatrixView& matrix, unsigned long long* index, cudaStream_t stream) {
  const auto find = [&](auto element) {
    using T = decltype(element);
    for_rows(batch, matrix, matrix, stream,
             FindNan<T>{static_cast<const T*>(matrix.data), matrix.rows, matrix.cols, index});
  };
  if (dtype == DataType::kFloat32) return find(float{});
  find(double{});
}

void combine_matrices(const Operation& operation, int64_t batch, const MutableMatrixView& c, const MatrixView& d,
                      cudaStream_t stream) {
  with_semiring(operation, [&](auto semiring) {
    using S = decltype(semiring);
    using Element = typename S::Element;
    with_stored<S>(d.storage, [&](auto zero) {
      using Stored = decltype(zero);
      for_all(batch, c, d, stream,
              Combine<S, Stored>{static_cast<Element*>(c.data), static_cast<const Stored*>(d.data)});
    });
  });
}

void settle_matrices(const Operation& operation, int64_t batch, const MutableMatrixView& c, cudaStream_t stream) {
  with_semiring(operation, [&](auto semiring) {
    using S = decltype(semiring);
    for_all(batch, c, read_only(c), stream, NormalizeResult<S>{static_cast<typename S::Element*>(c.data)});
  });
}

void widen(const Operation& operation, int64_t batch, const MatrixView& from, const MatrixView& to,
           cudaStream_t stream) {
  with_semiring<HasNarrow>(operation, [&](auto semiring) {
    using S = decltype(semiring);
    using Element = typename S::Element;
    for_all(batch, to, from, stream,
            Widen<S>{static_cast<Element*>(const_cast<void*>(to.data)),
                     static_cast<const NarrowType<Element>*>(from.data)});
  });
}

}  // namespace mpmml::cuda
