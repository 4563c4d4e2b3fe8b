#include "core/graph/exact.h"

#include <array>
#include <cmath>
#include <cstdint>

namespace mpmml::graph {
namespace {

constexpr int kDigits = 53;

/// A finite number as mantissa · 2^exponent, both integers.
struct Split {
  int64_t mantissa;
  int exponent;
};

Split split(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return {static_cast<int64_t>(std::ldexp(fraction, kDigits)), exponent - kDigits};
}

/// Returns whether the exact sum is below 0. The sum is in digits of 32 bits, from the least float upwards.
bool sum_is_negative(const std::vector<double>& terms) {
  constexpr int kLeast = -1126;  // exponent of the least significant bit of any mantissa
  std::array<int64_t, 72> digits{};
  for (const double term : terms) {
    if (term == 0) continue;
    const auto [mantissa, exponent] = split(term);
    const int place = exponent - kLeast;
    __int128 shifted = static_cast<__int128>(mantissa < 0 ? -mantissa : mantissa) << (place % 32);
    for (size_t at = static_cast<size_t>(place / 32); shifted != 0; ++at, shifted >>= 32) {
      const auto digit = static_cast<int64_t>(shifted & 0xffffffff);
      digits[at] += mantissa < 0 ? -digit : digit;
    }
  }
  // The sum is negative exactly if the last carry is.
  int64_t carry = 0;
  for (int64_t& digit : digits) {
    digit += carry;
    carry = digit >> 32;
    digit -= carry * (int64_t{1} << 32);
  }
  return carry < 0;
}

/// Returns whether the exact product of positive numbers is above 1.
bool product_is_above_one(const std::vector<double>& factors, const ProgressReporter& reporter) {
  std::vector<uint64_t> digits{1};
  int64_t exponent = 0, steps = 0;
  for (const double factor : factors) {
    auto [mantissa, own] = split(factor);
    while ((mantissa & 1) == 0) {
      mantissa >>= 1;
      ++own;
    }
    exponent += own;
    if (mantissa == 1) continue;
    steps += static_cast<int64_t>(digits.size());
    if (steps > kStepsBetweenLooks) {
      reporter.look();
      steps = 0;
    }
    unsigned __int128 carry = 0;
    for (uint64_t& digit : digits) {
      carry += static_cast<unsigned __int128>(digit) * static_cast<uint64_t>(mantissa);
      digit = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
    if (carry != 0) digits.push_back(static_cast<uint64_t>(carry));
  }
  int64_t length = static_cast<int64_t>(digits.size()) * 64;
  for (uint64_t top = digits.back(); !(top >> 63); top <<= 1) --length;
  // The product is in [2^(length − 1), 2^length) · 2^exponent. The integer in `digits` is odd, so the product is a
  // power of two only if it has a single bit.
  const bool is_one_digit = length == 1;
  return length - 1 + exponent > 0 || (length - 1 + exponent == 0 && !is_one_digit);
}

/// Compares the product with 1 in twice the precision of floats. Returns 1 if it is certainly above 1, -1 if it
/// certainly isn't, 0 if undecided.
int approximate_product(const std::vector<double>& factors) {
  double high = 1, low = 0;
  int64_t exponent = 0;
  for (const double factor : factors) {
    int own = 0, shift = 0;
    const double fraction = std::frexp(factor, &own);
    const double product = high * fraction;
    const double rest = std::fma(high, fraction, -product) + low * fraction;
    const double sum = product + rest;
    low = rest - (sum - product);
    high = std::frexp(sum, &shift);
    low = std::ldexp(low, -shift);
    exponent += own + shift;
  }
  if (exponent > 2) return 1;
  if (exponent < -2) return -1;
  const int scale = static_cast<int>(exponent);
  const double above = (std::ldexp(high, scale) - 1) + std::ldexp(low, scale);
  const double slack = static_cast<double>(factors.size() + 4) * std::ldexp(1.0, -98);
  return above > slack ? 1 : above < -slack ? -1 : 0;
}

}  // namespace

bool cycle_gains(Extension extension, const std::vector<double>& keys, const ProgressReporter& reporter) {
  for (const double key : keys) {
    if (!std::isfinite(key)) return true;
  }
  if (extension != Extension::kProduct) return sum_is_negative(keys);
  const int approximate = approximate_product(keys);
  return approximate != 0 ? approximate > 0 : product_is_above_one(keys, reporter);
}

}  // namespace mpmml::graph
