// Instruction streams of the pipelined family: ⊕ and ⊗ on words of one or two elements.
//
// A step is acc ⊕ (a ⊗ b). Hopper's VIADDMNMX computes a step in one instruction of the ALU pipe, at 64 lanes per clock
// and multiprocessor. Concurrently, IMAD (a·1 + b) can add on the FMA pipe, and VIMNMX3 combines two such sums with the
// accumulator. So a mixed stream of both forms exceeds the peak of VIADDMNMX alone. Floating-point sums and
// multiply-adds use the FMA pipe (128 float lanes per clock). Floating-point maxima use the ALU pipe (64 lanes per
// clock). So max-plus of float fills every issue slot of a multiprocessor at 64 steps per clock, unless the sums may be
// compared as integers.
#pragma once
#include <cstdint>

#include "core/algebra/arithmetic.h"

namespace mpmml::cuda {

/// Truth values, 32 k-steps per word.
template <class S>
using Bits = PackedBits<S, uint32_t>;

/// Layout of an arithmetic's operands and accumulators in words, and the instructions for its ⊕ and ⊗.
template <class Arithmetic>
struct Words;

template <class S>
struct Words<NativeArithmetic<S>> {
  using Word = uint32_t;
  static constexpr int kLanes = 1;
  /// Steps per clock and multiprocessor, measured on an H200.
  static constexpr double kStepsPerClock = 71, kStepsPerClockInSlices = 69;
  /// Least compute capability (times 10) whose instructions compute steps at full rate.
  static constexpr int kFullSpeedFrom = 52;

  static __host__ __device__ __forceinline__ Word word_of(int32_t x) { return static_cast<uint32_t>(x); }
  static __device__ __forceinline__ int32_t lane_of(Word word, int) { return static_cast<int32_t>(word); }

  // Intrinsics for the fused instructions. The compiler would fuse plain code, too, but its schedule is 2.5 % slower
  // (H200).
  static __device__ __forceinline__ uint32_t step(uint32_t acc, uint32_t a, uint32_t b) {
    return S::maximizes ? __viaddmax_s32(a, b, acc) : __viaddmin_s32(a, b, acc);
  }
  static __device__ __forceinline__ uint32_t combine(uint32_t x, uint32_t y) {
    return static_cast<uint32_t>(S::combine(static_cast<int32_t>(x), static_cast<int32_t>(y)));
  }
  static __device__ __forceinline__ uint32_t combine(uint32_t x, uint32_t y, uint32_t z) {
    return S::maximizes ? __vimax3_s32(x, y, z) : __vimin3_s32(x, y, z);
  }
  /// Returns whether IMAD computes the sums of element (i, j) of a thread's tile: in even rows. Of the patterns tried
  /// on an H200 (rows, columns, checkerboards, k-steps, 3/8 to 3/4 of the elements) this is the fastest, at 1.09 times
  /// the peak of VIADDMNMX alone. The patterns differ in register-bank conflicts and scheduling.
  static constexpr __host__ __device__ bool by_multiply(int i, int /*j*/) { return i % 2 == 0; }
};

template <class S>
struct Words<Half<S>> {
  using Word = uint32_t;
  static constexpr int kLanes = 2;
  static constexpr double kStepsPerClock = 2 * 71, kStepsPerClockInSlices = 2 * 69;
  /// GPUs before Hopper emulate arithmetic on packed 16-bit integers.
  static constexpr int kFullSpeedFrom = 90;

  /// Returns a word with the element in each lane.
  static __host__ __device__ __forceinline__ Word word_of(uint16_t x) { return uint32_t{x} * 0x10001u; }
  static __device__ __forceinline__ uint16_t lane_of(Word word, int lane) {
    return static_cast<uint16_t>(word >> 16 * lane);
  }

  static __device__ __forceinline__ uint32_t step(uint32_t acc, uint32_t a, uint32_t b) {
    return S::maximizes ? __viaddmax_u16x2(a, b, acc) : __viaddmin_u16x2(a, b, acc);
  }
  static __device__ __forceinline__ uint32_t combine(uint32_t x, uint32_t y) {
    return S::maximizes ? __vmaxu2(x, y) : __vminu2(x, y);
  }
  static __device__ __forceinline__ uint32_t combine(uint32_t x, uint32_t y, uint32_t z) {
    return S::maximizes ? __vimax3_u16x2(x, y, z) : __vimin3_u16x2(x, y, z);
  }
  /// Half a row more than with one element per word, which is 1 % faster for 16-bit lanes (H200).
  static constexpr __host__ __device__ bool by_multiply(int i, int j) { return i % 2 == 0 || (i == 7 && j < 4); }
};

/// Words of unencoded elements.
template <class S>
struct ElementWords {
  using Word = typename S::Element;
  static constexpr int kLanes = 1;
  static constexpr int kFullSpeedFrom = 52;
  /// Steps per clock and multiprocessor, measured on an H200. A 64-bit maximum takes a comparison and two selections.
  static constexpr double kStepsPerClock = sizeof(Word) == 4 ? (S::idempotent ? 63 : 102) : (S::idempotent ? 18.5 : 47);
  static constexpr double kStepsPerClockInSlices = 0.97 * kStepsPerClock;

  static __host__ __device__ __forceinline__ Word word_of(Word x) { return x; }
  static __device__ __forceinline__ Word lane_of(Word word, int) { return word; }

  static __device__ __forceinline__ Word step(Word acc, Word a, Word b) { return S::accumulate(acc, a, b); }
  static __device__ __forceinline__ Word combine(Word x, Word y) { return S::combine(x, y); }
};

/// Whether a ⊗ b is always a or b. If so, 32-bit elements are represented by their order keys, because the ALU
/// can compare three integers at a time.
template <class S>
constexpr bool is_of_order = (S::extend_kind == OperatorKind::kMinimum || S::extend_kind == OperatorKind::kMaximum) &&
                             sizeof(typename S::Element) == sizeof(int32_t);

/// Words of order keys. Two k-steps take three instructions of the ALU pipe.
template <class S>
struct OrderedWords {
  using Element = typename S::Element;
  using Word = uint32_t;
  static constexpr int kLanes = 1;
  static constexpr int kFullSpeedFrom = 52;
  static constexpr double kStepsPerClock = 42, kStepsPerClockInSlices = 41;

  /// −0 becomes 0, as in results, so that words differ if and only if elements do.
  static __host__ __device__ __forceinline__ Word word_of(Element x) { return static_cast<Word>(order_key(x + 0)); }
  static __device__ __forceinline__ Element lane_of(Word word, int) {
    return from_order_key<Element>(static_cast<int32_t>(word));
  }

  static __device__ __forceinline__ int32_t extend(uint32_t x, uint32_t y) {
    return S::maximizes ? min(static_cast<int32_t>(x), static_cast<int32_t>(y))
                        : max(static_cast<int32_t>(x), static_cast<int32_t>(y));
  }
  static __device__ __forceinline__ uint32_t combine(uint32_t x, uint32_t y) {
    return S::maximizes ? max(static_cast<int32_t>(x), static_cast<int32_t>(y))
                        : min(static_cast<int32_t>(x), static_cast<int32_t>(y));
  }
  static __device__ __forceinline__ uint32_t two_steps(uint32_t acc, uint32_t a0, uint32_t b0, uint32_t a1,
                                                       uint32_t b1) {
    const int32_t x = extend(a0, b0), y = extend(a1, b1);
    return S::maximizes ? __vimax3_s32(acc, x, y) : __vimin3_s32(acc, x, y);
  }
};

template <class S>
struct Words<Plain<S>> : std::conditional_t<is_of_order<S>, OrderedWords<S>, ElementWords<S>> {};

/// Words of 32 truth values along K: 32 k-steps per instruction.
template <class S>
struct Words<Bits<S>> {
  using Word = uint32_t;
  static constexpr int kLanes = 1;
  static constexpr int kFullSpeedFrom = 52;
  static constexpr double kStepsPerClock = 32 * 62, kStepsPerClockInSlices = 32 * 60;

  static __host__ __device__ __forceinline__ Word word_of(Word x) { return x; }
  static __device__ __forceinline__ Word lane_of(Word word, int) { return word; }

  static __device__ __forceinline__ Word combine(Word x, Word y) { return S::combine(x, y); }
  static __device__ __forceinline__ Word two_steps(Word acc, Word a0, Word b0, Word a1, Word b1) {
    return S::accumulate(S::accumulate(acc, a0, b0), a1, b1);
  }
};

/// Returns a + b, computed on the FMA pipe. `one` is a kernel argument with the value 1: the compiler would turn the
/// IMAD into an addition on the ALU pipe if it were a constant. No carry passes between 16-bit lanes, because their
/// sums fit 16 bits.
__device__ __forceinline__ uint32_t sum_by_multiply(uint32_t a, uint32_t one, uint32_t b) { return a * one + b; }

/// Computes two k-steps of a thread's tile of integers.
template <class W, int TM, int TN>
__device__ __forceinline__ void two_mixed_steps(uint32_t (&acc)[TM][TN], const uint32_t (&a)[2][TM],
                                                const uint32_t (&b)[2][TN], uint32_t one) {
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
#if __CUDA_ARCH__ >= 900
      if (W::by_multiply(i, j)) {
        acc[i][j] =
            W::combine(acc[i][j], sum_by_multiply(a[0][i], one, b[0][j]), sum_by_multiply(a[1][i], one, b[1][j]));
        continue;
      }
#elif __CUDA_ARCH__ >= 700
      // Additions use the FMA pipe and maxima the ALU pipe, because GPUs before Hopper have no fused instruction for
      // both.
      acc[i][j] = W::combine(acc[i][j], sum_by_multiply(a[0][i], one, b[0][j]));
      acc[i][j] = W::combine(acc[i][j], sum_by_multiply(a[1][i], one, b[1][j]));
      continue;
#endif
      acc[i][j] = W::step(acc[i][j], a[0][i], b[0][j]);
      acc[i][j] = W::step(acc[i][j], a[1][i], b[1][j]);
    }
  }
}

/// Whether sums may be compared as integers: float sums, on GPUs with an instruction for the maximum of three integers.
template <class Arithmetic>
constexpr bool kComparesAsIntegers =
#if __CUDA_ARCH__ >= 900
    has_sum_signs<typename Arithmetic::Semiring>;
#else
    false;
#endif

/// Returns the greatest (max-plus) or the least (min-plus) of three floats by comparing their bits (sign and
/// magnitude). This takes one instruction; comparing floats takes two. The sums must have the signs of
/// SumSigns::kLeading if `kLead`, and otherwise the signs of SumSigns::kTrailing. If `kLead`, it also suffices that
/// `acc` leads, because then it wins against any sum that doesn't.
template <class S, bool kLead>
__device__ __forceinline__ float combine_as_integers(float acc, float x, float y) {
  const uint32_t bits_acc = __float_as_uint(acc), bits_x = __float_as_uint(x), bits_y = __float_as_uint(y);
  if (S::maximizes) {
    return __uint_as_float(kLead ? __vimax3_s32(bits_acc, bits_x, bits_y) : __vimin3_u32(bits_acc, bits_x, bits_y));
  }
  return __uint_as_float(kLead ? __vimax3_u32(bits_acc, bits_x, bits_y) : __vimin3_s32(bits_acc, bits_x, bits_y));
}

/// Returns whether all accumulators of a warp lead. From then on the sums combined with them may be compared as
/// integers.
template <class S, int TM, int TN>
__device__ __forceinline__ bool warp_has_sign(const float (&acc)[TM][TN]) {
  uint32_t bits = S::maximizes ? 0 : ~0u;
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      const uint32_t element = __float_as_uint(acc[i][j]);
      bits = S::maximizes ? bits | element : bits & element;
    }
  }
  const bool sign = static_cast<int32_t>(bits) < 0;
  return __all_sync(~0u, S::maximizes ? !sign : sign);
}

/// Computes two k-steps of a thread's tile of floats with integer comparisons. The sums of a column are computed before
/// its maxima: 33.0 TOPS at 8192³ on an H200. Interleaving sums and maxima takes 2 to 3 % longer, and processing by
/// rows 2 %.
template <class S, bool kLead, int TM, int TN>
__device__ __forceinline__ void two_steps_as_integers(float (&acc)[TM][TN], const float (&a)[2][TM],
                                                      const float (&b)[2][TN]) {
#pragma unroll
  for (int j = 0; j < TN; ++j) {
    float sums[2][TM];
#pragma unroll
    for (int step = 0; step < 2; ++step) {
#pragma unroll
      for (int i = 0; i < TM; ++i) sums[step][i] = S::extend(a[step][i], b[step][j]);
    }
#pragma unroll
    for (int i = 0; i < TM; ++i) acc[i][j] = combine_as_integers<S, kLead>(acc[i][j], sums[0][i], sums[1][i]);
  }
}

/// Whether W has an instruction sequence for two k-steps of one element.
template <class W, class = void>
constexpr bool takes_two_steps = false;
template <class W>
constexpr bool takes_two_steps<W, std::void_t<decltype(&W::two_steps)>> = true;

/// Computes two k-steps of a thread's tile.
template <class W, int TM, int TN>
__device__ __forceinline__ void two_steps(typename W::Word (&acc)[TM][TN], const typename W::Word (&a)[2][TM],
                                          const typename W::Word (&b)[2][TN], uint32_t one) {
  if constexpr (takes_two_steps<W>) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; ++j) acc[i][j] = W::two_steps(acc[i][j], a[0][i], b[0][j], a[1][i], b[1][j]);
    }
  } else if constexpr (std::is_floating_point_v<typename W::Word>) {
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      // Column order. No other order tried for float32 max-plus on an H200 (rows, snakes, squares, sums a few elements
      // ahead) is faster. Row order takes 4 % longer.
#pragma unroll
      for (int j = 0; j < TN; ++j) {
#pragma unroll
        for (int i = 0; i < TM; ++i) acc[i][j] = W::step(acc[i][j], a[step][i], b[step][j]);
      }
    }
  } else {
    two_mixed_steps<W>(acc, a, b, one);
  }
}

}  // namespace mpmml::cuda
