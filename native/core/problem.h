// What is to be computed: C = C0 ⊕ A ⊗ B for a batch of matrices, with any strides, over one semiring.
#pragma once
#include <atomic>
#include <cstdint>
#include <initializer_list>

#include "core/layout.h"
#include "core/structure.h"

namespace mpmml {

enum class BackendKind : uint8_t { kCpu, kCuda };
constexpr const char* kBackendNames[] = {"cpu", "cuda"};

/// What to do if a finite sum decides a result and is outside the finite range of the semiring
/// (Semiring::can_overflow).
enum class OverflowPolicy : uint8_t { kThrow, kSaturate, kWrap };
constexpr const char* kOverflowPolicyNames[] = {"throw", "saturate", "wrap"};

/// The ways to compute a product, cheapest first. Its values decide which of them are exact (range.h). Each arithmetic
/// of arithmetic.h can compute some of them.
enum class RangePath : uint8_t {
  kExponent,         ///< one operand has few levels, or both with zero do: as exponents of numbers (ExponentScale)
  kExponentWide,     ///< the same with some more levels
  kExponentBounded,  ///< one operand has few levels within each chunk of K
  kByte,             ///< sums fit 8 bits after an offset is subtracted from each operand; no zero in the operands
  kByteTranslated,   ///< the same with zero in the operands
  kHalf,             ///< sums fit 16 bits after an offset is subtracted from each operand; no zero in the operands
  kHalfTranslated,   ///< the same with zero in the operands
  kDirect,           ///< as they are: nothing can overflow; or no zero in the operands and no sum wraps (or sums may)
  kTranslated,       ///< zero in the operands, finite values within ±EncodedZero::limit
  kWide,             ///< 64-bit sums
  kWrapping          ///< 64-bit sums reduced modulo 2^32, for the wrapping policy
};
constexpr const char* kRangePathNames[] = {"exponent",        "exponent-wide", "exponent-bounded", "byte",
                                           "byte-translated", "half",          "half-translated",  "direct",
                                           "translated",      "wide",          "wrapping"};
constexpr int kRangePaths = 11;

/// A set of range paths.
class PathSet {
 public:
  constexpr PathSet() = default;
  constexpr PathSet(std::initializer_list<RangePath> paths) {
    for (const RangePath path : paths) add(path);
  }
  constexpr void add(RangePath path) { bits_ |= 1u << static_cast<unsigned>(path); }
  constexpr void remove(RangePath path) { bits_ &= ~(1u << static_cast<unsigned>(path)); }
  constexpr bool has(RangePath path) const { return (bits_ >> static_cast<unsigned>(path)) & 1u; }
  /// The set must not be empty.
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

/// Whether the flag says that work is given up. It may be null: then it can't be.
inline bool is_set(const std::atomic<int32_t>* cancelled) {
  return cancelled && cancelled->load(std::memory_order_relaxed) != 0;
}

/// What is computed: the semiring, the element type, and what happens to sums that leave that type.
struct Operation {
  SemiringId semiring = SemiringId{};
  DataType dtype = DataType::kInt32;
  OverflowPolicy overflow = OverflowPolicy::kThrow;
};

struct ValueRange;

/// The witness of a result that is zero, or that no candidate attains.
constexpr int32_t kNoWitness = -1;

struct Problem {
  Operation operation;
  int64_t batch = 1;
  MatrixView a;         ///< M × K
  MatrixView b;         ///< K × N
  MatrixView c0;        ///< M × N; data is null if nothing is accumulated
  MutableMatrixView c;  ///< M × N; may be the same as c0, must overlap nothing else
  /// Elements of A and B outside of it are zero and are never read. Those of C and the witness are never written.
  Structure structure;
  /// M × N, int32: which k decides each element of C. That is the smallest k whose candidate a ⊗ b attains C, and −1 if C
  /// is zero or only c0 attains it. Data is null if it isn't asked for. Only for semirings whose ⊕ is idempotent.
  MutableMatrixView witness;
  /// M × K, int32, or data is null. If it isn't, `witness` follows paths: if a candidate is strictly better than c0, the
  /// witness becomes the element of `through` in its row and in column k, where k is the smallest that attains C. Other
  /// witnesses stay as they are.
  MatrixView through;
  /// What the caller knows of the finite elements of A, B, C0 and C. Then they aren't scanned. Null: nothing.
  const ValueRange* known = nullptr;
  /// The same of A and B only, if more is known of them; only beside `known`.
  const ValueRange* known_operands = nullptr;
  /// Whether c must be unchanged after an error. Memory that was allocated for the result needn't be, because it
  /// isn't seen then.
  bool keeps_c = true;
  /// Set by another thread to have the product given up; null if it can't be.
  const std::atomic<int32_t>* cancelled = nullptr;
  /// Where the k-steps that are done are counted, for another thread to see; null if they aren't counted.
  std::atomic<double>* steps_done = nullptr;

  int64_t m() const { return a.rows; }
  int64_t n() const { return b.cols; }
  int64_t k() const { return a.cols; }
  int64_t outputs() const { return batch * m() * n(); }
  /// Whether there is anything to compute from.
  bool has_steps() const { return outputs() > 0 && k() > 0; }
  /// Whether an operand is stored as int16.
  bool has_int16() const { return a.storage == Storage::kInt16 || b.storage == Storage::kInt16; }
  bool is_cancelled() const { return is_set(cancelled); }
  /// Counts the steps of `outputs` results, or a share of them.
  void count_steps(double outputs, double share = 1) const {
    if (!steps_done) return;
    const double steps = outputs * static_cast<double>(k()) * share;
    double known = steps_done->load(std::memory_order_relaxed);
    while (!steps_done->compare_exchange_weak(known, known + steps, std::memory_order_relaxed)) {
    }
  }
};

}  // namespace mpmml
