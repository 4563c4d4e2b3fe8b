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

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 65535;

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

/// Calls body(place in `to`, place in `from`) for all elements.
template <class Body>
void for_all(int64_t batch, const MutableMatrixView& to, const MatrixView& from, cudaStream_t stream, Body body) {
  for_elements(joined(walk_of(batch, to, from)), AllElements{}, stream, body);
}

/// Calls body(item, row, column, element) for each element.
template <class T, class Body>
__global__ void __launch_bounds__(kThreads) for_places_kernel(int64_t batch, MatrixView matrix, Body body) {
  const int64_t rows = batch * matrix.rows;
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const int64_t item = row / matrix.rows, within = row - item * matrix.rows;
    const T* const from = static_cast<const T*>(matrix.data) + item * matrix.batch_stride + within * matrix.row_stride;
    for (int64_t col = int64_t{blockIdx.x} * kThreads + threadIdx.x; col < matrix.cols;
         col += int64_t{gridDim.x} * kThreads) {
      body(item, within, col, from[col * matrix.col_stride]);
    }
  }
}

template <class T, class Body>
void for_places(int64_t batch, const MatrixView& matrix, cudaStream_t stream, Body body) {
  if (batch * matrix.rows * matrix.cols == 0) return;
  const dim3 grid(static_cast<unsigned>(std::min(kMaxBlocks, ceil_div(matrix.cols, kThreads))),
                  static_cast<unsigned>(std::min(kMaxBlocks, batch * matrix.rows)));
  for_places_kernel<T><<<grid, kThreads, 0, stream>>>(batch, matrix, body);
  MPMML_CUDA(cudaGetLastError());
}

template <class S>
struct Point {
  MutableMatrixView next;
  __device__ void operator()(int64_t item, int64_t row, int64_t col, typename S::Element element) const {
    auto* const to = static_cast<int32_t*>(next.data) + item * next.batch_stride + row * next.row_stride;
    to[col * next.col_stride] = element == S::zero ? -1 : static_cast<int32_t>(col);
  }
};

template <class S>
struct Mark {
  MutableMatrixView next;
  int64_t first_row;
  __device__ void operator()(int64_t item, int64_t row, int64_t col, typename S::Element distance) const {
    auto* const to = static_cast<int32_t*>(next.data) + item * next.batch_stride + row * next.row_stride + col;
    *to = marked<S>(*to, distance, first_row + row, col);
  }
};

template <class T>
struct FindNan {
  int64_t rows, cols;
  unsigned long long* index;
  __device__ void operator()(int64_t item, int64_t row, int64_t col, T element) const {
    if (element != element) atomicMin(index, static_cast<unsigned long long>((item * rows + row) * cols + col));
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
    for_places<typename S::Element>(batch, d, stream, Point<S>{next});
  });
}

void mark_tight_edges(const NextNodes& successors, cudaStream_t stream) {
  with_semiring<HasSuccessors>(successors.operation, [&](auto semiring) {
    using S = decltype(semiring);
    for_places<typename S::Element>(successors.batch, successors.d, stream,
                                    Mark<S>{successors.next, successors.first_row});
  });
}

void find_nan(DataType dtype, int64_t batch, const MatrixView& matrix, unsigned long long* index, cudaStream_t stream) {
  if (dtype == DataType::kFloat32) {
    for_places<float>(batch, matrix, stream, FindNan<float>{matrix.rows, matrix.cols, index});
  } else {
    for_places<double>(batch, matrix, stream, FindNan<double>{matrix.rows, matrix.cols, index});
  }
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
    MutableMatrixView target{
        const_cast<void*>(to.data), to.rows, to.cols, to.row_stride, to.col_stride, to.batch_stride};
    for_all(batch, target, from, stream,
            Widen<S>{static_cast<Element*>(target.data), static_cast<const NarrowType<Element>*>(from.data)});
  });
}

}  // namespace mpmml::cuda
