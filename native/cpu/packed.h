// The packed family, after Goto and BLIS. Both operands are first copied into panels (MR rows of A, NR columns of B,
// k-major), so that the micro-kernel reads memory in order and keeps an MR × NR tile of accumulators in registers.
// Compiled once for each instruction set (see vector.h).
#pragma once
#include "core/algebra/arithmetic.h"
#include "cpu/bit_packing.h"
#include "cpu/boolean_witness.h"
#include "cpu/kernel.h"
#include "cpu/packing.h"
#include "cpu/tile.h"

namespace mpmml::cpu::MPMML_ISA {

template <int MR, int NR>
struct Packed {
  /// `First` computes the arithmetic kinds that it supports, `Others` compute the rest. All encode operands alike.
  template <class First, class... Others>
  static constexpr Kernel kernel() {
    static_assert((std::is_same_v<typename First::Operand, typename Others::Operand> && ...),
                  "the arithmetics of a kernel share their panels");
    return {paths_of<First, Others...>(),
            {MR, NR, kStepsAtOnce, steps_per_operand<First>, sizeof(typename First::Operand),
             sizeof(Broadcast<typename First::Operand>), sizeof(typename First::Accumulator), takes_offsets<First>,
             window<First>(), pack_panels<First, MR, Broadcast<typename First::Operand>>, pack_panels<First, NR>,
             fill_border_a<First, Others...>, fill_border_b<First, Others...>, pack_windows<First>,
             multiply<First, Others...>},
            {},
            {},
            first_true<First>()};
  }

 private:
  template <class Arithmetic, int width, class Stored = typename Arithmetic::Operand>
  static Range pack_panels(const PackRequest& request) {
    if constexpr (steps_per_operand<Arithmetic> > 1) {
      return pack_bits<Arithmetic, width>(request);
    } else {
      return pack<Arithmetic, width, Stored>(request);
    }
  }

  template <class Arithmetic>
  static constexpr int window() {
    if constexpr (has_windows<Arithmetic>) {
      return Windows<Arithmetic>::kWindow;
    } else {
      return 0;
    }
  }

  template <class Arithmetic>
  static constexpr FirstTrueKernel first_true() {
    if constexpr (steps_per_operand<Arithmetic> > 1 && Arithmetic::Semiring::idempotent) {
      return FirstTrue<typename Arithmetic::Semiring>::kernel();
    } else {
      return {};
    }
  }

  template <class Arithmetic>
  static Range pack_windows(const PackRequest& request) {
    if constexpr (has_windows<Arithmetic>) {
      return pack<Arithmetic, Windows<Arithmetic>::kWindow>(request);
    } else {
      return {};
    }
  }

  template <class Arithmetic, class... Others>
  static void fill_border_a(const PackRequest& request, ArithmeticKind path) {
    with_arithmetic<Arithmetic, Others...>(path, [&](auto arithmetic) __attribute__((always_inline)) {
      if constexpr (takes_offsets<Arithmetic>) {
        fill_border<Arithmetic, MR>(request, repeated(arithmetic.border_a()));
      } else {
        fill_border<Arithmetic, MR>(request, repeated(arithmetic.encode(Arithmetic::Semiring::border_a)));
      }
    });
  }

  template <class Arithmetic, class... Others>
  static void fill_border_b(const PackRequest& request, ArithmeticKind path) {
    with_arithmetic<Arithmetic, Others...>(path, [&](auto arithmetic) __attribute__((always_inline)) {
      if constexpr (takes_offsets<Arithmetic>) {
        fill_border<Arithmetic, NR>(request, arithmetic.border_b());
      } else {
        fill_border<Arithmetic, NR>(request, arithmetic.encode(Arithmetic::Semiring::border_b));
      }
    });
  }

  template <class Arithmetic, class... Others>
  static int64_t multiply(const BlockRequest& request) {
    int64_t overflow = kNoOverflow;
    with_arithmetic<Arithmetic, Others...>(request.path, [&](auto arithmetic) __attribute__((always_inline)) {
      overflow = multiply_block<MR, NR>(arithmetic, request);
    });
    return overflow;
  }
};

}  // namespace mpmml::cpu::MPMML_ISA
