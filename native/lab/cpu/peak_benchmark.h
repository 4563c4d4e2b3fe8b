// Reference measurements for products on the CPU, compiled for each instruction set (vector.h): the peak rate of steps
// that use only registers, and the naive loop that a user would write.
#pragma once
#include "core/algebra/arithmetic.h"
#include "cpu/bits.h"
#include "cpu/tile.h"
#include "cpu/vector.h"
#include "lab/cpu/peak_benchmarks.h"

namespace mpmml::cpu::MPMML_ISA {

/// Number of independent accumulators: enough to hide the latency of a maximum, and few enough for x86's 16 registers.
constexpr int kChains = 8;

/// Vector operations per round.
constexpr int kStepsOfRound = 3 * kChains;

/// Computes acc ⊕= x ⊗ y with registers only, like the steps of a tile.
template <class Arithmetic>
static void run_steps(int64_t rounds) {
  using T = typename Arithmetic::Operand;
  Vector<T> acc[kChains];
  MPMML_UNROLL
  for (int i = 0; i < kChains; ++i) acc[i] = splat(T(i));
  Vector<T> x = splat(T{3}), y = splat(T{5}), one = splat(T{1});
  if constexpr (std::is_same_v<T, int64_t>) {
    // Their maxima are those of doubles, which would be denormal otherwise.
    x = y = splat(Arithmetic::encode(3));
    MPMML_UNROLL
    for (int i = 0; i < kChains; ++i) acc[i] = splat(Arithmetic::initial());
  }
  MPMML_OPAQUE(one);
  for (; rounds > 0; --rounds) {
    MPMML_UNROLL
    for (int index = 0; index < kStepsOfRound; ++index) {
      // The compiler would hoist x ⊗ y out of the loop otherwise.
      MPMML_OPAQUE(x);
      Vector<T>& into = acc[index % kChains];
      into = step<Arithmetic>(into, x, y, one);
      MPMML_OPAQUE(into);
    }
  }
  Vector<T> results[kChains];
  MPMML_UNROLL
  for (int i = 0; i < kChains; ++i) results[i] = acc[i];
  // The compiler would remove the loop otherwise, because no code uses its results.
  asm volatile("" : : "r"(results) : "memory");
}

template <class Arithmetic>
constexpr PeakBenchmark::Steps steps_of(const char* name) {
  return {name, run_steps<Arithmetic>,
          kStepsOfRound * VectorOf<typename Arithmetic::Operand>::lanes * steps_per_operand<Arithmetic>};
}

/// Naive max-plus product: row-major, by rows, and optimized only by the compiler.
static void multiply_by_rows(const int32_t* __restrict a, const int32_t* __restrict b, int32_t* __restrict c, int64_t m,
                             int64_t n, int64_t k) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) c[i * n + j] = MaxPlus<int32_t>::zero;
    for (int64_t step = 0; step < k; ++step) {
      const int32_t x = a[i * k + step];
      for (int64_t j = 0; j < n; ++j) {
        const int32_t sum = x + b[step * n + j];
        c[i * n + j] = sum > c[i * n + j] ? sum : c[i * n + j];
      }
    }
  }
}

constexpr PeakBenchmark peak_benchmark(const char* isa) {
  return {isa,
          {steps_of<NativeArithmetic<MaxPlus<int32_t>>>("int32"), steps_of<Half<MaxPlus<int32_t>>>("int16"),
           steps_of<Byte<MaxPlus<int32_t>>>("int8"), steps_of<Wide<MaxPlus<int32_t>>>("int64"),
           steps_of<Plain<MaxPlus<float>>>("float32"), steps_of<Plain<MaxPlus<double>>>("float64"),
           steps_of<Plain<PlusTimes<float>>>("float32-fma"), steps_of<Plain<PlusTimes<double>>>("float64-fma"),
           steps_of<Plain<MinMax<int32_t>>>("int32-min-max"), steps_of<Plain<MinMax<float>>>("float32-min-max"),
           steps_of<Plain<MinMax<double>>>("float64-min-max"), steps_of<Plain<MaxTimes<float>>>("float32-max-times"),
           steps_of<Plain<MaxTimes<double>>>("float64-max-times"), steps_of<Bits<OrAnd<uint8_t>>>("uint8-or-and")},
          multiply_by_rows};
}

}  // namespace mpmml::cpu::MPMML_ISA
