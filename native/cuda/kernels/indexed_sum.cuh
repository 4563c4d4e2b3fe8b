// Arithmetic that finds witnesses (argmax indices) in the main loop: a sum and the index of its k-step share one 32-bit
// word. Products take as long as products of 32-bit sums.
#pragma once
#include "cuda/kernels/device_problem.h"
#include "cuda/kernels/simd_step.cuh"

namespace mpmml::cuda {

/// The upper bits of a word hold the sum of the operands, from each of which an offset is subtracted. The lower bits
/// hold the index of the k-step, encoded so that the first of equal sums wins. Only operands of B have indices;
/// operands of A have 0 there. Zero is encoded so that no sum with zero is in the range of the finite sums. Encodings
/// with v bits for sums:
///   max-plus  zero 0, finite values from 2^(v−2), finite sums from 2^(v−1);
///   min-plus  finite values from 0, finite sums to 2^(v−1) − 2, zero 2^(v−1) − 1.
template <class S>
struct IndexedSum {
  using Semiring = S;
  using Element = typename S::Element;
  using Operand = uint32_t;
  using Accumulator = uint32_t;

  Element offset_a, offset_b;  ///< a finite x is encoded as x − offset
  bool has_zero;
  int number_bits;

  static constexpr ArithmeticSet paths{ArithmeticKind::kTranslated, ArithmeticKind::kDirect};
  static IndexedSum for_steps(ArithmeticKind path, const ValueRange& a, const ValueRange& b, int64_t k) {
    const bool has_zero = path == ArithmeticKind::kTranslated;
    const int number_bits = bits_of_numbers(k);
    const int64_t base = has_zero && S::maximizes ? int64_t{1} << (30 - number_bits) : 0;
    const auto offset = [&](const ValueRange& range) {
      return static_cast<Element>((range.has_finite() ? range.minimum : 0) - base);
    };
    return {offset(a), offset(b), has_zero, number_bits};
  }

  __device__ Operand encode_a(Element x) const { return encode(x, offset_a) << number_bits; }
  __device__ Operand encode_b(Element x, int64_t k) const {
    return encode(x, offset_b) << number_bits | mirrored(static_cast<uint32_t>(k));
  }
  // Padding values of A and B. Their sum is initial(), the neutral element of ⊕.
  __device__ static Operand border_a() { return initial(); }
  __device__ static Operand border_b() { return 0; }
  __device__ static Accumulator initial() { return S::maximizes ? 0 : ~0u; }

  __device__ Element finish(Accumulator acc, Element c0, bool& /*overflowed*/) const {
    const uint32_t sum = acc >> number_bits, half = 1u << (31 - number_bits);
    const bool is_zero = has_zero && (S::maximizes ? sum < half : sum >= half - 1);
    const Element element = wrapping_add(static_cast<Element>(sum), wrapping_add(offset_a, offset_b));
    return S::combine(is_zero ? S::zero : element, c0);
  }
  /// Returns the index of the sum's k-step. Undefined if the sum is zero.
  __device__ int32_t step_of(Accumulator acc) const { return static_cast<int32_t>(mirrored(acc & last_number())); }

 private:
  __device__ uint32_t encode(Element x, Element offset) const {
    if (x == S::zero) return S::maximizes ? 0 : (1u << (31 - number_bits)) - 1;
    return static_cast<uint32_t>(wrapping_subtract(x, offset));
  }
  __device__ uint32_t last_number() const { return (1u << number_bits) - 1; }
  __device__ uint32_t mirrored(uint32_t number) const { return S::maximizes ? last_number() - number : number; }
};

/// Whether the accumulators of an arithmetic contain the indices of k-steps.
template <class Arithmetic>
constexpr bool numbers_steps = false;
template <class S>
constexpr bool numbers_steps<IndexedSum<S>> = true;

template <class S>
struct Words<IndexedSum<S>> {
  using Word = uint32_t;
  static constexpr int kLanes = 1;
  static constexpr double kStepsPerClock = 71, kStepsPerClockInSlices = 69;
  static constexpr int kFullSpeedFrom = 52;

  static __host__ __device__ __forceinline__ Word word_of(uint32_t x) { return x; }
  static __device__ __forceinline__ uint32_t lane_of(Word word, int) { return word; }

  static __device__ __forceinline__ uint32_t step(uint32_t acc, uint32_t a, uint32_t b) {
    return S::maximizes ? __viaddmax_u32(a, b, acc) : __viaddmin_u32(a, b, acc);
  }
  static __device__ __forceinline__ uint32_t combine(uint32_t x, uint32_t y) {
    return S::maximizes ? max(x, y) : min(x, y);
  }
  static __device__ __forceinline__ uint32_t combine(uint32_t x, uint32_t y, uint32_t z) {
    return S::maximizes ? __vimax3_u32(x, y, z) : __vimin3_u32(x, y, z);
  }
  static constexpr __host__ __device__ bool by_multiply(int i, int j) {
    return Words<NativeArithmetic<S>>::by_multiply(i, j);
  }
};

}  // namespace mpmml::cuda
