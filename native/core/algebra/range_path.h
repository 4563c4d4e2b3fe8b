// Kinds of arithmetics, and sets of them. Kernels include this header, so it includes nothing of the host.
#pragma once
#include <cstdint>
#include <initializer_list>

namespace mpmml {

/// Kinds of arithmetics, cheapest first. The operands' values decide which kinds are exact for a product (range.h).
/// Each struct of arithmetic.h implements some of them.
enum class ArithmeticKind : uint8_t {
  kExponent,         ///< one operand has few levels, or both with zero do: as exponents of numbers (ExponentScale)
  kExponentWide,     ///< kExponent with some more levels
  kExponentBounded,  ///< one operand has few levels within each chunk of K
  kByte,             ///< sums fit 8 bits after an offset is subtracted from each operand; no zero in the operands
  kByteTranslated,   ///< kByte with zero in the operands
  kHalf,             ///< sums fit 16 bits after an offset is subtracted from each operand; no zero in the operands
  kHalfTranslated,   ///< kHalf with zero in the operands
  kDirect,      ///< plain elements: nothing can overflow; or no zero in the operands and no sum wraps (or sums may)
  kTranslated,  ///< zero in the operands, finite values within ±EncodedZero::limit
  kWide,        ///< 64-bit sums
  kWrapping     ///< 64-bit sums reduced modulo 2^32, for the wrapping policy
};
constexpr const char* kRangePathNames[] = {"exponent",        "exponent-wide", "exponent-bounded", "byte",
                                           "byte-translated", "half",          "half-translated",  "direct",
                                           "translated",      "wide",          "wrapping"};
constexpr int kRangePaths = 11;

/// A set of kinds of arithmetics.
class ArithmeticSet {
 public:
  constexpr ArithmeticSet() = default;
  constexpr ArithmeticSet(std::initializer_list<ArithmeticKind> paths) {
    for (const ArithmeticKind path : paths) add(path);
  }
  constexpr void add(ArithmeticKind path) { bits_ |= 1u << static_cast<unsigned>(path); }
  constexpr void remove(ArithmeticKind path) { bits_ &= ~(1u << static_cast<unsigned>(path)); }
  constexpr bool has(ArithmeticKind path) const { return (bits_ >> static_cast<unsigned>(path)) & 1u; }
  /// Returns the cheapest kind of the set, which must not be empty.
  constexpr ArithmeticKind cheapest() const {
    int path = 0;
    while (!has(static_cast<ArithmeticKind>(path))) ++path;
    return static_cast<ArithmeticKind>(path);
  }
  constexpr bool meets(ArithmeticSet other) const { return (bits_ & other.bits_) != 0; }
  constexpr bool operator==(ArithmeticSet other) const { return bits_ == other.bits_; }

 private:
  unsigned bits_ = 0;
};

}  // namespace mpmml
