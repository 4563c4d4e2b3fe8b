// The holes of a template, for each number of lanes: lines of inline assembly which splice.cpp replaces by instructions of a semiring.
// Each names its results first, then its operands, lane by lane.
#pragma once
#include <cstdint>

namespace mpmml::cuda {

using Word = uint32_t;

/// - step: d = z ⊕ x ⊗ y
/// - mark: d = marks + bit if x and y may change z, else marks; mark_always: the same for a z that any step may change
/// - plus: d = x ⊕ y
/// - candidate: d = x ⊗ y, with the bits of NaN that are stored; settle: d = x with those bits
template <int L>
struct Holes;

template <>
struct Holes<1> {
  using Element = Word[1];
  static __device__ __forceinline__ Word mark(Word marks, Word bit, const Element& z, const Element& x,
                                              const Element& y) {
    Word all;
    asm("// @mark %0 %1 %2 %3 %4 %5" : "=r"(all) : "r"(marks), "r"(bit), "r"(z[0]), "r"(x[0]), "r"(y[0]));
    return all;
  }
  static __device__ __forceinline__ Word mark_always(Word marks, Word bit, const Element& z) {
    Word all;
    asm("// @mark_always %0 %1 %2 %3" : "=r"(all) : "r"(marks), "r"(bit), "r"(z[0]));
    return all;
  }
  static __device__ __forceinline__ void step(Element& d, const Element& z, const Element& x, const Element& y) {
    asm("// @step %0 %1 %2 %3" : "=r"(d[0]) : "r"(z[0]), "r"(x[0]), "r"(y[0]));
  }
  static __device__ __forceinline__ void plus(Element& d, const Element& x, const Element& y) {
    asm("// @plus %0 %1 %2" : "=r"(d[0]) : "r"(x[0]), "r"(y[0]));
  }
  static __device__ __forceinline__ void candidate(Element& d, const Element& x, const Element& y) {
    asm("// @candidate %0 %1 %2" : "=r"(d[0]) : "r"(x[0]), "r"(y[0]));
  }
  static __device__ __forceinline__ void settle(Element& d, const Element& x) {
    asm("// @settle %0 %1" : "=r"(d[0]) : "r"(x[0]));
  }
};

template <>
struct Holes<2> {
  using Element = Word[2];
  static __device__ __forceinline__ Word mark(Word marks, Word bit, const Element& z, const Element& x,
                                              const Element& y) {
    Word all;
    asm("// @mark %0 %1 %2 %3 %4 %5 %6 %7 %8"
        : "=r"(all)
        : "r"(marks), "r"(bit), "r"(z[0]), "r"(z[1]), "r"(x[0]), "r"(x[1]), "r"(y[0]), "r"(y[1]));
    return all;
  }
  static __device__ __forceinline__ Word mark_always(Word marks, Word bit, const Element& z) {
    Word all;
    asm("// @mark_always %0 %1 %2 %3 %4" : "=r"(all) : "r"(marks), "r"(bit), "r"(z[0]), "r"(z[1]));
    return all;
  }
  static __device__ __forceinline__ void step(Element& d, const Element& z, const Element& x, const Element& y) {
    asm("// @step %0 %1 %2 %3 %4 %5 %6 %7"
        : "=r"(d[0]), "=r"(d[1])
        : "r"(z[0]), "r"(z[1]), "r"(x[0]), "r"(x[1]), "r"(y[0]), "r"(y[1]));
  }
  static __device__ __forceinline__ void plus(Element& d, const Element& x, const Element& y) {
    asm("// @plus %0 %1 %2 %3 %4 %5" : "=r"(d[0]), "=r"(d[1]) : "r"(x[0]), "r"(x[1]), "r"(y[0]), "r"(y[1]));
  }
  static __device__ __forceinline__ void candidate(Element& d, const Element& x, const Element& y) {
    asm("// @candidate %0 %1 %2 %3 %4 %5" : "=r"(d[0]), "=r"(d[1]) : "r"(x[0]), "r"(x[1]), "r"(y[0]), "r"(y[1]));
  }
  static __device__ __forceinline__ void settle(Element& d, const Element& x) {
    asm("// @settle %0 %1 %2 %3" : "=r"(d[0]), "=r"(d[1]) : "r"(x[0]), "r"(x[1]));
  }
};

template <>
struct Holes<3> {
  using Element = Word[3];
  static __device__ __forceinline__ Word mark(Word marks, Word bit, const Element& z, const Element& x,
                                              const Element& y) {
    Word all;
    asm("// @mark %0 %1 %2 %3 %4 %5 %6 %7 %8 %9 %10 %11"
        : "=r"(all)
        : "r"(marks), "r"(bit), "r"(z[0]), "r"(z[1]), "r"(z[2]), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(y[0]), "r"(y[1]),
          "r"(y[2]));
    return all;
  }
  static __device__ __forceinline__ Word mark_always(Word marks, Word bit, const Element& z) {
    Word all;
    asm("// @mark_always %0 %1 %2 %3 %4 %5" : "=r"(all) : "r"(marks), "r"(bit), "r"(z[0]), "r"(z[1]), "r"(z[2]));
    return all;
  }
  static __device__ __forceinline__ void step(Element& d, const Element& z, const Element& x, const Element& y) {
    asm("// @step %0 %1 %2 %3 %4 %5 %6 %7 %8 %9 %10 %11"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2])
        : "r"(z[0]), "r"(z[1]), "r"(z[2]), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(y[0]), "r"(y[1]), "r"(y[2]));
  }
  static __device__ __forceinline__ void plus(Element& d, const Element& x, const Element& y) {
    asm("// @plus %0 %1 %2 %3 %4 %5 %6 %7 %8"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(y[0]), "r"(y[1]), "r"(y[2]));
  }
  static __device__ __forceinline__ void candidate(Element& d, const Element& x, const Element& y) {
    asm("// @candidate %0 %1 %2 %3 %4 %5 %6 %7 %8"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(y[0]), "r"(y[1]), "r"(y[2]));
  }
  static __device__ __forceinline__ void settle(Element& d, const Element& x) {
    asm("// @settle %0 %1 %2 %3 %4 %5" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]) : "r"(x[0]), "r"(x[1]), "r"(x[2]));
  }
};

template <>
struct Holes<4> {
  using Element = Word[4];
  static __device__ __forceinline__ Word mark(Word marks, Word bit, const Element& z, const Element& x,
                                              const Element& y) {
    Word all;
    asm("// @mark %0 %1 %2 %3 %4 %5 %6 %7 %8 %9 %10 %11 %12 %13 %14"
        : "=r"(all)
        : "r"(marks), "r"(bit), "r"(z[0]), "r"(z[1]), "r"(z[2]), "r"(z[3]), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]),
          "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]));
    return all;
  }
  static __device__ __forceinline__ Word mark_always(Word marks, Word bit, const Element& z) {
    Word all;
    asm("// @mark_always %0 %1 %2 %3 %4 %5 %6"
        : "=r"(all)
        : "r"(marks), "r"(bit), "r"(z[0]), "r"(z[1]), "r"(z[2]), "r"(z[3]));
    return all;
  }
  static __device__ __forceinline__ void step(Element& d, const Element& z, const Element& x, const Element& y) {
    asm("// @step %0 %1 %2 %3 %4 %5 %6 %7 %8 %9 %10 %11 %12 %13 %14 %15"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(z[0]), "r"(z[1]), "r"(z[2]), "r"(z[3]), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]),
          "r"(y[2]), "r"(y[3]));
  }
  static __device__ __forceinline__ void plus(Element& d, const Element& x, const Element& y) {
    asm("// @plus %0 %1 %2 %3 %4 %5 %6 %7 %8 %9 %10 %11"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]));
  }
  static __device__ __forceinline__ void candidate(Element& d, const Element& x, const Element& y) {
    asm("// @candidate %0 %1 %2 %3 %4 %5 %6 %7 %8 %9 %10 %11"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]));
  }
  static __device__ __forceinline__ void settle(Element& d, const Element& x) {
    asm("// @settle %0 %1 %2 %3 %4 %5 %6 %7"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]));
  }
};

}  // namespace mpmml::cuda
