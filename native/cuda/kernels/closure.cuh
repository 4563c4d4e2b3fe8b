// The closure family: the Floyd-Warshall algorithm on a submatrix that stays in registers.
//
// A thread block holds the elements between pivots. If there are other nodes, it also holds either the rows or the
// columns of some of them. Each thread holds a tile of 4 × 4 elements. The row and the column of each pivot pass
// through shared memory, which is double-buffered: one barrier per pivot suffices, because the writes for the next
// pivot go to the other buffer.
//
// Every thread block recomputes the elements between pivots, which costs less than a second launch. Only the last block
// to arrive stores them, because other blocks may still have to read the original values.
#pragma once
#include "core/algebra/arithmetic.h"
#include "core/algebra/sentinels.h"
#include "cuda/kernels/closure_problem.h"

namespace mpmml::cuda {

/// Representation of elements in registers, and the ⊕ and ⊗ on them.
template <class S, bool = is_integer_sum<S>>
struct ClosureWords {
  using Element = typename S::Element;
  /// Elements narrower than 32 bits take one register each.
  using Word = std::conditional_t<sizeof(Element) < sizeof(uint32_t), uint32_t, Element>;
  static constexpr bool kHasApproximateZeros = false;

  static __device__ __forceinline__ Word zero() { return S::zero; }
  static __device__ __forceinline__ Word word_of(Element x) { return Plain<S>::encode(x); }
  static __device__ __forceinline__ Element element_of(Word word) {
    bool overflowed = false;
    return Plain<S>::finish(static_cast<Element>(word), S::zero, overflowed);
  }
  static __device__ __forceinline__ Word candidate(Word a, Word b) { return S::extend(a, b); }
  static __device__ __forceinline__ Word step(Word acc, Word a, Word b) { return S::accumulate(acc, a, b); }
};

/// Words of integer sums. Zero has the encoding of NativeArithmetic and needn't absorb exactly: it acts as an edge
/// with the encoded zero as its weight. A best walk to an unreachable node contains exactly one such edge, because two
/// are worse, and no cycle with such an edge is improving. So its length is the encoded zero plus a finite sum within
/// EncodedZero::limit. That is beyond NativeArithmetic's threshold, so finish() returns zero, and sums of two such
/// lengths don't wrap.
template <class S>
struct ClosureWords<S, true> {
  using Element = typename S::Element;
  using Word = int32_t;
  static constexpr bool kHasApproximateZeros = true;

  static constexpr Word kThreshold = NativeArithmetic<S>::for_operands(ArithmeticKind::kTranslated).encoding.threshold;
  static __device__ __forceinline__ NativeArithmetic<S> narrow() { return {{EncodedZero<S>::value, kThreshold}}; }
  static __device__ __forceinline__ Word zero() { return EncodedZero<S>::value; }
  static __device__ __forceinline__ Word word_of(Element x) { return narrow().encode(x); }
  static __device__ __forceinline__ Element element_of(Word word) {
    bool overflowed = false;
    return narrow().finish(word, S::zero, overflowed);
  }
  static __device__ __forceinline__ Word candidate(Word a, Word b) { return wrapping_add(a, b); }
  static __device__ __forceinline__ Word step(Word acc, Word a, Word b) {
    return S::maximizes ? __viaddmax_s32(a, b, acc) : __viaddmin_s32(a, b, acc);
  }
};

/// Returns whether x is strictly better than y, i.e. x ⊕ y isn't y. NaN is never better.
template <class S, class Word>
__device__ __forceinline__ bool is_better(Word x, Word y) {
  return S::combine_kind == OperatorKind::kMinimum ? x < y : x > y;
}

/// Whether improving cycles can exist: only if ⊗ is a sum or a product. A minimum or a maximum is never better than
/// one.
template <class S>
constexpr bool can_gain = S::extend_kind == OperatorKind::kSum || S::extend_kind == OperatorKind::kProduct;

/// Copies kCount neighbours in chunks of four elements, or of 16 bytes if that is less. Both pointers must be aligned
/// to a chunk.
template <int kCount, class T>
__device__ __forceinline__ void copy_chunks(T* to, const T* from) {
  constexpr int kChunk = sizeof(T) == 8 ? 2 : 4;
  static_assert(kCount % kChunk == 0, "whole chunks");
  struct alignas(sizeof(T) * kChunk) Chunk {
    T values[kChunk];
  };
#pragma unroll
  for (int first = 0; first < kCount; first += kChunk) {
    *reinterpret_cast<Chunk*>(to + first) = *reinterpret_cast<const Chunk*>(from + first);
  }
}

/// Launch parameters that differ between the launches of a batch.
struct ClosureGrid {
  unsigned row_blocks;  ///< the first blocks of the grid have rows of other nodes, the rest have columns
  /// Whether all matrices take chunks of four columns, counted from the first pivot or from other nodes.
  bool takes_chunks;
};

template <class Config, class S, bool kNext>
__global__ void closure_kernel(ClosureProblem problem, ClosureGrid grid);

/// Tile configuration. kOthers is 0 if all nodes are pivots.
template <int pivots_, int others_>
struct ClosureConfig {
  static constexpr int kPivots = pivots_, kOthers = others_;
  static constexpr int kSide = 4;  ///< side of a thread's tile of elements
  static constexpr int kThreads = (kPivots + kOthers) / kSide * (kPivots / kSide);

  static_assert(kPivots % kSide == 0 && kOthers % kSide == 0, "a thread's elements are all of the same kind");
  static_assert(kThreads <= 1024 && kThreads % 32 == 0, "a block of threads");

  /// Minimum number of blocks per multiprocessor: 1024 resident threads if the registers suffice, otherwise 512.
  template <class Element, bool kNext>
  static constexpr int blocks_per_multiprocessor() {
    constexpr int kResidentThreads = sizeof(Element) != 4 || kNext ? 512 : 1024;
    return kThreads >= kResidentThreads ? 1 : kResidentThreads / kThreads;
  }
};

/// A pivot's row and column.
template <class Word, int kMaxRows, int kMaxColumns, bool kNext>
struct ClosureBuffers {
  static constexpr int kAlignment = 16;
  alignas(kAlignment) Word row[2][kMaxColumns];
  alignas(kAlignment) Word column[2][kMaxRows];
  alignas(kAlignment) int32_t next[2][kNext ? kMaxRows : 1];
};

/// Flags that the threads of a block share.
struct ClosureSigns {
  int32_t gain;  ///< first pivot with an improving cycle
  bool is_over;  ///< whether there is nothing to do
  bool is_last;  ///< whether this is the last block of threads to arrive
};

/// Work of one thread block. If `kHasRows`, the block holds rows of other nodes, otherwise columns.
template <class Config, class S, bool kNext, bool kHasRows>
class ClosureBlock {
  using W = ClosureWords<S>;
  using Word = typename W::Word;
  using Element = typename S::Element;
  static constexpr int kSide = Config::kSide, kPivots = Config::kPivots, kOthers = Config::kOthers;
  static constexpr int kRows = kPivots + (kHasRows ? kOthers : 0), kColumns = kPivots + (kHasRows ? 0 : kOthers);
  static constexpr int kThreadsN = kColumns / kSide;
  static constexpr bool kRecords = kOthers > 0;

 public:
  using Buffers = ClosureBuffers<Word, kRows, kColumns, kNext>;

  /// `index` is the index of the block among the blocks with the same `kHasRows`.
  __device__ __forceinline__ ClosureBlock(const ClosureProblem& problem, bool takes_chunks, int index, Buffers& buffers,
                                          ClosureSigns& signs)
      : problem_(problem),
        takes_chunks_(takes_chunks),
        index_(index),
        buffers_(buffers),
        signs_(signs),
        thread_m_(threadIdx.x / kThreadsN),
        thread_n_(threadIdx.x % kThreadsN) {}

  __device__ __forceinline__ void run() {
    int32_t* const gain = problem_.gain + blockIdx.y * problem_.gain_stride;
    if (threadIdx.x == 0) {
      signs_.gain = kNoGain;
      signs_.is_over = *gain != kNoGain;
    }
    load();
    publish(0, 0);
    __syncthreads();
    const bool is_over = signs_.is_over;
    if (!is_over) pass();
    if (can_gain<S> && gains_at_ != kNoGain) atomicMin(&signs_.gain, gains_at_);
    if (kRecords && threadIdx.x == 0) arrive();
    __syncthreads();
    if (is_over) return;
    if (can_gain<S> && signs_.gain != kNoGain) {
      // All thread blocks have the same result, so one of them writes it.
      if (threadIdx.x == 0 && blockIdx.x == 0) *gain = problem_.first_node + signs_.gain;
      return;
    }
    store();
  }

 private:
  __device__ __forceinline__ const MutableMatrixView& matrix() const {
    return kHasRows ? problem_.down : problem_.along;
  }
  __device__ __forceinline__ const MutableMatrixView& next_matrix() const {
    return kHasRows ? problem_.next_down : problem_.next_along;
  }

  /// Position in matrix() of line `local` of this block's rows or columns, and whether it exists. Consecutive lines of
  /// the block are consecutive in the matrix.
  struct Line {
    int index;
    bool exists;
  };
  __device__ __forceinline__ Line row_at(int local) const {
    if constexpr (!kHasRows) return {local, local < problem_.count};
    return line(local, problem_.first_row, static_cast<int>(problem_.down.rows));
  }
  __device__ __forceinline__ Line column_at(int local) const {
    if constexpr (kHasRows) return {local, local < problem_.count};
    return line(local, problem_.first_col, static_cast<int>(problem_.along.cols));
  }
  __device__ __forceinline__ Line line(int local, int first, int lines) const {
    if (kOthers == 0 || local < kPivots) return {first + local, local < problem_.count};
    const int other = index_ * kOthers + local - kPivots;
    return {other < first ? other : other + problem_.count, other < lines - problem_.count};
  }

  template <class T>
  static __device__ __forceinline__ T* element_of(const MutableMatrixView& view, int64_t row, int64_t column) {
    return static_cast<T*>(view.data) + blockIdx.y * view.batch_stride + row * view.row_stride + column;
  }

  /// Calls body(row's register, its index) for the rows that exist.
  template <class Body>
  __device__ __forceinline__ void for_rows(Body&& body) const {
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
      const Line row = row_at(thread_m_ * kSide + i);
      if (row.exists) body(i, row.index);
    }
  }

  /// Calls body(column's register, its index) for the columns that exist.
  template <class Body>
  __device__ __forceinline__ void for_columns(Body&& body) const {
#pragma unroll
    for (int j = 0; j < kSide; ++j) {
      const Line column = column_at(thread_n_ * kSide + j);
      if (column.exists) body(j, column.index);
    }
  }

  /// Returns whether the columns of this thread form an aligned chunk.
  __device__ __forceinline__ bool has_chunk() const {
    return takes_chunks_ && column_at(thread_n_ * kSide + kSide - 1).exists;
  }

  __device__ __forceinline__ void load() {
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
#pragma unroll
      for (int j = 0; j < kSide; ++j) {
        d_[i][j] = W::zero();
        if constexpr (kNext) next_[i][j] = -1;
      }
    }
    const int first_column = column_at(thread_n_ * kSide).index;
    for_rows([&](int i, int row) {
      if (has_chunk()) {
        alignas(16) Element elements[kSide];
        copy_chunks<kSide>(elements, element_of<Element>(matrix(), row, first_column));
#pragma unroll
        for (int j = 0; j < kSide; ++j) d_[i][j] = W::word_of(elements[j]);
        if constexpr (kNext) copy_chunks<kSide>(next_[i], element_of<int32_t>(next_matrix(), row, first_column));
      } else {
        for_columns([&](int j, int column) {
          d_[i][j] = W::word_of(*element_of<Element>(matrix(), row, column));
          if constexpr (kNext) next_[i][j] = *element_of<int32_t>(next_matrix(), row, column);
        });
      }
    });
  }

  /// Writes the row and the column of pivot group · kSide + u to a buffer, and records their next nodes. `u` is a
  /// compile-time constant after unrolling, so that it can index registers.
  __device__ __forceinline__ void publish(int group, int u) {
    const int buffer = u % 2;
    if (thread_m_ == group) {
      copy_chunks<kSide>(&buffers_.row[buffer][thread_n_ * kSide], d_[u]);
      if constexpr (kRecords && !kHasRows) {
#pragma unroll
        for (int j = 0; j < kSide; ++j) recorded_[u][j] = d_[u][j];
      }
    }
    if (thread_n_ == group) {
      alignas(16) Word column[kSide];
#pragma unroll
      for (int i = 0; i < kSide; ++i) column[i] = d_[i][u];
      copy_chunks<kSide>(&buffers_.column[buffer][thread_m_ * kSide], column);
      if constexpr (kRecords && kHasRows) {
#pragma unroll
        for (int i = 0; i < kSide; ++i) recorded_[i][u] = column[i];
      }
      if constexpr (kNext) {
        alignas(16) int32_t next[kSide];
#pragma unroll
        for (int i = 0; i < kSide; ++i) next[i] = next_[i][u];
        copy_chunks<kSide>(&buffers_.next[buffer][thread_m_ * kSide], next);
        if constexpr (kRecords && kHasRows) {
#pragma unroll
          for (int i = 0; i < kSide; ++i) recorded_next_[i][u] = next[i];
        }
      }
    }
  }

  __device__ __forceinline__ void pass() {
    // Pivots beyond the last one have rows and columns of zeros, which change no element.
    const int groups = ceil_div(problem_.count, kSide);
    for (int group = 0; group < groups; ++group) {
#pragma unroll
      for (int u = 0; u < kSide; ++u) {
        if constexpr (can_gain<S>) {
          const bool has_diagonal = thread_m_ == group && thread_n_ == group;
          if (has_diagonal && is_better<S>(d_[u][u], Word{S::one})) gains_at_ = min(gains_at_, group * kSide + u);
        }
        improve(u % 2);
        if (u + 1 < kSide) {
          publish(group, u + 1);
        } else if (group + 1 < groups) {
          publish(group + 1, 0);
        }
        __syncthreads();
      }
    }
  }

  /// Relaxes the elements of this thread through the pivot in a buffer.
  __device__ __forceinline__ void improve(int buffer) {
    alignas(16) Word row[kSide], column[kSide];
    copy_chunks<kSide>(row, &buffers_.row[buffer][thread_n_ * kSide]);
    copy_chunks<kSide>(column, &buffers_.column[buffer][thread_m_ * kSide]);
    if constexpr (kNext) {
      alignas(16) int32_t next[kSide];
      copy_chunks<kSide>(next, &buffers_.next[buffer][thread_m_ * kSide]);
#pragma unroll
      for (int i = 0; i < kSide; ++i) {
#pragma unroll
        for (int j = 0; j < kSide; ++j) {
          const Word candidate = W::candidate(column[i], row[j]);
          const bool wins = is_better<S>(candidate, d_[i][j]);
          d_[i][j] = wins ? candidate : d_[i][j];
          next_[i][j] = wins ? next[i] : next_[i][j];
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < kSide; ++i) {
#pragma unroll
        for (int j = 0; j < kSide; ++j) d_[i][j] = W::step(d_[i][j], column[i], row[j]);
      }
    }
  }

  /// Counts the arrival of this block. One thread calls it after the block has read all of its input.
  __device__ __forceinline__ void arrive() {
    __threadfence();
    signs_.is_last = atomicAdd(problem_.arrivals + blockIdx.y, 1) + 1 == gridDim.x;
    if (signs_.is_last) problem_.arrivals[blockIdx.y] = 0;
  }

  __device__ __forceinline__ void store() const {
    const bool has_other = kOthers > 0 && (kHasRows ? thread_m_ : thread_n_) >= kPivots / kSide;
    if (!kRecords || has_other || signs_.is_last) {
      store_elements(matrix(), d_);
      if constexpr (kNext) store_next();
    }
    if constexpr (kRecords) {
      if (!has_other && index_ > 0) return;
      if constexpr (kHasRows) {
        store_elements(problem_.columns, recorded_);
        if constexpr (kNext) store_chunks(problem_.next_columns, recorded_next_);
      } else {
        store_elements(problem_.rows, recorded_);
      }
    }
  }

  /// Stores the elements of this thread to a matrix of the shape of matrix().
  __device__ __forceinline__ void store_elements(const MutableMatrixView& view,
                                                 const Word (&words)[kSide][kSide]) const {
    alignas(16) Element elements[kSide][kSide];
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
#pragma unroll
      for (int j = 0; j < kSide; ++j) elements[i][j] = W::element_of(words[i][j]);
    }
    store_chunks(view, elements);
  }

  template <class T>
  __device__ __forceinline__ void store_chunks(const MutableMatrixView& view, const T (&values)[kSide][kSide]) const {
    const int chunk = column_at(thread_n_ * kSide).index;
    for_rows([&](int i, int row) {
      if (has_chunk()) {
        copy_chunks<kSide>(element_of<T>(view, row, chunk), values[i]);
      } else {
        for_columns([&](int j, int column) { *element_of<T>(view, row, column) = values[i][j]; });
      }
    });
  }

  /// Stores the next nodes of this thread. If zeros are approximate, an element that compares as better may still be
  /// zero; its `next` remains −1.
  __device__ __forceinline__ void store_next() const {
    alignas(16) int32_t next[kSide][kSide];
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
#pragma unroll
      for (int j = 0; j < kSide; ++j) {
        const bool is_zero = W::kHasApproximateZeros && W::element_of(d_[i][j]) == S::zero;
        next[i][j] = is_zero ? -1 : next_[i][j];
      }
    }
    store_chunks(next_matrix(), next);
  }

  const ClosureProblem& problem_;
  const bool takes_chunks_;
  const int index_;
  Buffers& buffers_;
  ClosureSigns& signs_;
  const int thread_m_, thread_n_;
  alignas(16) Word d_[kSide][kSide];
  alignas(16) int32_t next_[kNext ? kSide : 1][kSide];
  alignas(16) Word recorded_[kRecords ? kSide : 1][kSide];
  alignas(16) int32_t recorded_next_[kRecords && kNext && kHasRows ? kSide : 1][kSide];
  int32_t gains_at_ = kNoGain;
};

template <class Config, class S, bool kNext>
__global__ void __launch_bounds__(Config::kThreads,
                                  Config::template blocks_per_multiprocessor<typename S::Element, kNext>())
    closure_kernel(ClosureProblem problem, ClosureGrid grid) {
  using WithRows = ClosureBlock<Config, S, kNext, true>;
  __shared__ ClosureSigns signs;
  if constexpr (Config::kOthers == 0) {
    __shared__ typename WithRows::Buffers buffers;
    WithRows(problem, grid.takes_chunks, 0, buffers, signs).run();
  } else {
    using WithColumns = ClosureBlock<Config, S, kNext, false>;
    __shared__ union Shared {
      typename WithRows::Buffers with_rows;
      typename WithColumns::Buffers with_columns;
    } shared;
    if (blockIdx.x < grid.row_blocks) {
      WithRows(problem, grid.takes_chunks, blockIdx.x, shared.with_rows, signs).run();
    } else {
      WithColumns(problem, grid.takes_chunks, blockIdx.x - grid.row_blocks, shared.with_columns, signs).run();
    }
  }
}

}  // namespace mpmml::cuda
