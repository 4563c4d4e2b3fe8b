// Products that find the witness of each result on the way: 16-bit sums (core/arithmetic.h, Half) share a word with the
// number of their step. They take as long as products of 32-bit sums.
#pragma once
#include "cuda/kernels/kernel.h"
#include "cuda/kernels/words.cuh"

namespace mpmml::cuda {

/// A sum is in the upper half of a word. The lower half numbers the steps so that of equal sums the first wins. Only B's
/// operands have numbers: A's have 0 there.
template <class S>
struct Numbered {
  using Semiring = S;
  using Element = typename S::Element;
  using Operand = uint32_t;
  using Accumulator = uint32_t;

  Half<S> half;

  static constexpr PathSet paths = Half<S>::paths;
  static Numbered for_operands(RangePath path, const ValueRange& a, const ValueRange& b) {
    return {Half<S>::for_operands(path, a, b)};
  }

  __device__ Operand encode_a(Element x) const { return uint32_t{half.encode_a(x)} << 16; }
  __device__ Operand encode_b(Element x, int64_t k) const {
    return uint32_t{half.encode_b(x)} << 16 | mirrored(static_cast<uint32_t>(k));
  }
  // Their sum is initial(), with no carry from the lower half.
  __device__ static Operand border_a() { return uint32_t{Half<S>::border_a()} << 16; }
  __device__ static Operand border_b() { return initial() & kNumber; }
  __device__ static Accumulator initial() { return S::maximizes ? 0 : ~0u; }

  __device__ Element finish(Accumulator acc, Element c0, bool& overflowed) const {
    return half.finish(static_cast<uint16_t>(acc >> 16), c0, overflowed);
  }
  /// The step that the sum is of, unless it is zero.
  __device__ static int32_t step_of(Accumulator acc) { return static_cast<int32_t>(mirrored(acc & kNumber)); }

 private:
  static constexpr uint32_t kNumber = kMostNumbered - 1;
  __device__ static uint32_t mirrored(uint32_t number) { return S::maximizes ? kNumber - number : number; }
};

/// Whether an arithmetic numbers the steps.
template <class Arithmetic>
constexpr bool numbers_steps = false;
template <class S>
constexpr bool numbers_steps<Numbered<S>> = true;

template <class S>
struct Words<Numbered<S>> {
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
  static constexpr __host__ __device__ bool by_multiply(int i, int j) { return Words<Narrow<S>>::by_multiply(i, j); }
};

}  // namespace mpmml::cuda
