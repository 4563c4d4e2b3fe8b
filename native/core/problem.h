// What is to be computed: C = C0 ⊕ A ⊗ B for a batch of matrices, with any strides, over one semiring.
#pragma once
#include <atomic>
#include <cstdint>
#include <initializer_list>

#include "core/layout.h"

namespace mpmml {

enum class BackendKind : uint8_t { kCpu, kCuda };
constexpr const char* kBackendNames[] = {"cpu", "cuda"};

/// What to do with a finite sum that decides a result and lies outside the finite range of the semiring
/// (Semiring::can_overflow).
enum class OverflowPolicy : uint8_t { kThrow, kSaturate, kWrap };
constexpr const char* kOverflowPolicyNames[] = {"throw", "saturate", "wrap"};

/// The ways to compute a product, cheapest first. Which of them are exact for a product follows from its values
/// (range.h); each arithmetic of arithmetic.h carries out some.
enum class RangePath : uint8_t {
  kHalf,            ///< sums fit 16 bits once an offset is taken off each operand; no zero in the operands
  kHalfTranslated,  ///< the same with zero in the operands
  kDirect,          ///< as they are: nothing can overflow; or no zero in the operands and no sum wraps (or may wrap)
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
  constexpr bool operator==(PathSet other) const { return bits_ == other.bits_; }

 private:
  unsigned bits_ = 0;
};

/// What is computed: the semiring, over which elements, and what happens to sums that leave them.
struct Operation {
  SemiringId semiring = SemiringId{};
  DataType dtype = DataType::kInt32;
  OverflowPolicy overflow = OverflowPolicy::kThrow;
};

struct Problem {
  Operation operation;
  int64_t batch = 1;
  MatrixView a;         ///< M × K
  MatrixView b;         ///< K × N
  MatrixView c0;        ///< M × N; data is null if nothing is accumulated
  MutableMatrixView c;  ///< M × N; may be c0 itself, overlaps nothing else
  /// Whether c must be as it was after an error; nobody sees what was allocated for the result.
  bool keeps_c = true;
  /// Set from another thread to ask that the product be given up; null if nobody can.
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
