// The vectors that the micro-kernels are written in: the compiler's own (GCC's and Clang's vector extensions), as wide
// as the instruction set that the translation unit is compiled for.
//
// Why no SIMD library: neither Highway nor xsimd is available from npm at install time without a download. Also, the
// kernels need only +, a comparison and a selection. Both compilers choose the right instruction for these from the
// semiring's own source (x > y ? x : y on vectors becomes vpmaxsd), so that a semiring stays one struct.
//
// All code that is compiled for an instruction set is in a namespace with its name and is inlined or static. Otherwise
// the linker could take a function that was compiled for AVX-512 as the one copy for all.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#ifndef MPMML_ISA
#error "included from a translation unit that names its instruction set in MPMML_ISA"
#endif

#if defined(__clang__)
#define MPMML_UNROLL _Pragma("unroll")
#else
#define MPMML_UNROLL _Pragma("GCC unroll 32")
#endif

// Hides the value of `v` from the compiler. Without it GCC regroups the ⊕ of several k-steps into a tree, which takes
// more registers than there are, and computes with scalars instead of broadcasting them.
#if defined(__x86_64__)
#define MPMML_OPAQUE(v) asm("" : "+v"(v))
#elif defined(__aarch64__)
#define MPMML_OPAQUE(v) asm("" : "+w"(v))
#else
#define MPMML_OPAQUE(v) static_cast<void>(v)
#endif

// Keeps the compiler from moving loads from one k-step to another, where they would occupy registers too early.
#define MPMML_FENCE() asm volatile("" ::: "memory")

#define MPMML_INLINE static inline __attribute__((always_inline))

namespace mpmml::cpu::MPMML_ISA {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

/// Whether the processor has 32 vector registers, or 16.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr bool kHasManyRegisters = true;
#else
constexpr bool kHasManyRegisters = false;
#endif

template <class T, int bytes = kVectorBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(bytes)));
  static constexpr int lanes = bytes / sizeof(T);
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T, int lanes>
using ShortVector = typename VectorOf<T, lanes * sizeof(T)>::type;

template <class T>
MPMML_INLINE Vector<T> load(const T* from) {
  Vector<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

template <class T>
MPMML_INLINE void store(T* to, Vector<T> v) {
  __builtin_memcpy(to, &v, sizeof v);
}

template <class T>
MPMML_INLINE Vector<T> splat(T x) {
  return x - Vector<T>{};
}

/// Storage of an element that is broadcast to a vector. Elements of 8 and 16 bits are repeated to 32 bits, because
/// Intel's processors broadcast fewer bits with an instruction that occupies the ports of additions.
template <class T>
using Broadcast = std::conditional_t<sizeof(T) < sizeof(uint32_t), uint32_t, T>;

/// to = the elements of x and y in this order; y's elements are numbered after x's last. Vectors are passed by
/// reference in all code that may use vectors wider than the instruction set's, because compilers warn of an ABI change
/// for those passed by value.
template <int... order, class V>
MPMML_INLINE void shuffle(V& to, const V& x, const V& y) {
#if defined(__clang__)
  to = __builtin_shufflevector(x, y, order...);
#else
  using Mask = decltype(x < y);
  to = __builtin_shuffle(x, y, Mask{order...});
#endif
}

template <class To, class V, int... index>
MPMML_INLINE void narrow_pair(To& to, const V& x, const V& y, std::integer_sequence<int, index...>) {
  shuffle<2 * index...>(to, (To)x, (To)y);
}

/// to = the elements of x and then those of y, modulo 2^32. All three are equally wide. Before AVX-512 compilers split
/// the conversion of 64-bit elements into single elements.
MPMML_INLINE void narrow(Vector<int32_t>& to, const Vector<int64_t>& x, const Vector<int64_t>& y) {
  narrow_pair(to, x, y, std::make_integer_sequence<int, VectorOf<int32_t>::lanes>());
}

template <class V>
MPMML_INLINE bool any(const V& v) {
  constexpr int words = sizeof(V) / sizeof(int64_t);
  int64_t bits[words], all = 0;
  __builtin_memcpy(bits, &v, sizeof bits);
  for (int i = 0; i < words; ++i) all |= bits[i];
  return all != 0;
}

}  // namespace mpmml::cpu::MPMML_ISA
