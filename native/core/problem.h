// What is to be computed: C = C0 ⊕ A ⊗ B for a batch of matrices, with any strides, over one semiring.
#pragma once
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "generated/semirings.h"

namespace mpmml {

enum class BackendKind : uint8_t { kCpu, kCuda };
constexpr const char* kBackendNames[] = {"cpu", "cuda"};

/// What to do with a finite sum that decides a result and lies outside the finite range of an integer element type.
/// Floating-point sums round to infinities there, and know no policy.
enum class OverflowPolicy : uint8_t { kThrow, kSaturate, kWrap };
constexpr const char* kOverflowPolicyNames[] = {"throw", "saturate", "wrap"};

/// The ways to compute a product, cheapest first. Which of them are exact for a product follows from its values
/// (range.h); each arithmetic of arithmetic.h carries out some.
enum class RangePath : uint8_t {
  kHalf,            ///< sums fit 16 bits once an offset is taken off each operand; no zero in the operands
  kHalfTranslated,  ///< the same with zero in the operands
  kDirect,          ///< no zero in the operands, no sum wraps (or wrapping is what was asked for); floating point
  kTranslated,      ///< zero in the operands, finite values within ±Semiring::encoded_limit
  kWide,            ///< 64-bit sums
  kWrapping         ///< 64-bit sums reduced modulo 2^32, for the wrapping policy
};
constexpr const char* kRangePathNames[] = {"half", "half-translated", "direct", "translated", "wide", "wrapping"};
constexpr int kRangePaths = 6;

/// A set of range paths.
class PathSet {
 public:
  constexpr PathSet() = default;
  constexpr PathSet(std::initializer_list<RangePath> paths) {
    for (const RangePath path : paths) add(path);
  }
  constexpr void add(RangePath path) { bits_ |= 1u << static_cast<unsigned>(path); }
  constexpr bool has(RangePath path) const { return (bits_ >> static_cast<unsigned>(path)) & 1u; }
  /// Of a set that isn't empty.
  constexpr RangePath cheapest() const {
    int path = 0;
    while (!has(static_cast<RangePath>(path))) ++path;
    return static_cast<RangePath>(path);
  }
  constexpr bool meets(PathSet other) const { return (bits_ & other.bits_) != 0; }

 private:
  unsigned bits_ = 0;
};

/// How the elements of an operand lie in memory: as the element type, or as int16, among which the semiring's zero is the
/// end of their range that it is at among int32.
enum class Storage : uint8_t { kElement, kInt16 };

/// A batch of matrices in memory. Strides count elements; element (b, i, j) is data[b·batch_stride + i·row_stride +
/// j·col_stride]. Strides are never negative.
template <class Pointer>
struct BasicMatrixView {
  Pointer data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t row_stride = 0;
  int64_t col_stride = 0;
  int64_t batch_stride = 0;
  Storage storage = Storage::kElement;
};
using MatrixView = BasicMatrixView<const void*>;
using MutableMatrixView = BasicMatrixView<void*>;

constexpr int64_t stored_bytes(DataType dtype, Storage storage) {
  return storage == Storage::kInt16 ? 2 : element_bytes(dtype);
}

/// `view` from element (item, row, col) on; its sizes are left as they are. Null stays null.
template <class Pointer>
BasicMatrixView<Pointer> view_from(BasicMatrixView<Pointer> view, DataType dtype, int64_t item, int64_t row,
                                   int64_t col) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const char, char>;
  if (!view.data) return view;
  const int64_t elements = item * view.batch_stride + row * view.row_stride + col * view.col_stride;
  view.data = static_cast<Byte*>(view.data) + elements * stored_bytes(dtype, view.storage);
  return view;
}

struct Problem {
  SemiringId semiring = SemiringId{};
  DataType dtype = DataType::kInt32;
  OverflowPolicy overflow = OverflowPolicy::kThrow;
  int64_t batch = 1;
  MatrixView a;         ///< M × K
  MatrixView b;         ///< K × N
  MatrixView c0;        ///< M × N, or data == nullptr where nothing is accumulated
  MutableMatrixView c;  ///< M × N; may be c0 itself, overlaps nothing else
  /// Whether c must be as it was after an overflow: nobody sees what was allocated for the result.
  bool keeps_c = true;
  /// Set from another thread to ask that the product be given up; null where nobody can.
  const std::atomic<int32_t>* cancelled = nullptr;

  int64_t m() const { return a.rows; }
  int64_t n() const { return b.cols; }
  int64_t k() const { return a.cols; }
  int64_t outputs() const { return batch * m() * n(); }
  /// Whether an operand is stored as int16.
  bool has_int16() const { return a.storage == Storage::kInt16 || b.storage == Storage::kInt16; }
  bool is_cancelled() const { return cancelled && cancelled->load(std::memory_order_relaxed) != 0; }
};

}  // namespace mpmml
