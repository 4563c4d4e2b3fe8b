// What products on the CPU are measured against, compiled for each instruction set (see vector.h): the ceiling of
// additions and maxima on registers alone, and the loop that a user would write.
#pragma once
#include "core/semiring.h"
#include "cpu/vector.h"
#include "cpu/yardsticks.h"

namespace mpmml::cpu::MPMML_ISA {

/// Accumulators that are independent of each other: enough to hide the latency of a maximum, and few enough to leave
/// the compiler some of x86's 16 registers.
constexpr int kChains = 8;

/// The steps of a round.
template <class T>
constexpr int kStepsOfRound = 3 * kChains * VectorOf<T>::lanes;

/// acc ⊕= x ⊗ y on registers alone, as a tile's steps are: an addition and a maximum each.
template <class T>
static void run_steps(int64_t rounds) {
  Vector<T> acc[kChains];
  MPMML_UNROLL
  for (int i = 0; i < kChains; ++i) acc[i] = splat(T(i));
  Vector<T> x = splat(T{3}), y = splat(T{5});
  for (; rounds > 0; --rounds) {
    MPMML_UNROLL
    for (int step = 0; step < kStepsOfRound<T> / VectorOf<T>::lanes; ++step) {
      // Otherwise x + y is the same for all.
      MPMML_OPAQUE(x);
      Vector<T>& into = acc[step % kChains];
      const Vector<T> sum = x + y;
      into = sum > into ? sum : into;
      MPMML_OPAQUE(into);
    }
  }
  Vector<T> results[kChains];
  MPMML_UNROLL
  for (int i = 0; i < kChains; ++i) results[i] = acc[i];
  // Otherwise nobody would need them.
  asm volatile("" : : "r"(results) : "memory");
}

/// The max-plus product as anyone writes it first: row-major, by rows, left to the compiler.
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

constexpr Yardstick yardstick(const char* isa) {
  return {isa,
          {run_steps<int32_t>, kStepsOfRound<int32_t>},
          {run_steps<uint16_t>, kStepsOfRound<uint16_t>},
          multiply_by_rows};
}

}  // namespace mpmml::cpu::MPMML_ISA
