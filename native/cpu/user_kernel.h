// Kernels of custom semirings for the instruction set MPMML_ISA: loops of single operations, and tiles for semirings
// whose ⊕ and ⊗ are single operations. Compiled without contraction of products and sums.
#pragma once
#include <cmath>
#include <cstring>
#include <utility>

#include "core/host_device.h"
#include "cpu/intrinsics.h"
#include "cpu/user_kernels.h"
#include "cpu/vector.h"

namespace mpmml::cpu::MPMML_ISA {

using Ints = Vector<int32_t>;
using Words = Vector<uint32_t>;
using Floats = Vector<float>;

constexpr int kLanes = VectorOf<uint32_t>::lanes;
static_assert(kUserAlignment % kLanes == 0, "blocks consist of whole vectors");

#if defined(__AVX512F__)
/// All lanes: GCC 12 warns of the undefined lanes of the intrinsics without a mask.
constexpr __mmask16 kAll = 0xffff;
#endif

MPMML_INLINE Floats fused(Floats x, Floats y, Floats z) {
#if defined(__AVX512F__)
  return (Floats)_mm512_fmadd_ps((__m512)x, (__m512)y, (__m512)z);
#elif defined(__FMA__) && defined(__AVX2__)
  return (Floats)_mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)z);
#else
  Floats sum;
  for (int i = 0; i < kLanes; ++i) sum[i] = std::fma(x[i], y[i], z[i]);
  return sum;
#endif
}

MPMML_INLINE Floats root(Floats x) {
#if defined(__AVX512F__)
  return (Floats)_mm512_maskz_sqrt_ps(kAll, (__m512)x);
#elif defined(__AVX2__)
  return (Floats)_mm256_sqrt_ps((__m256)x);
#elif defined(__SSE2__)
  return (Floats)_mm_sqrt_ps((__m128)x);
#else
  for (int i = 0; i < kLanes; ++i) x[i] = std::sqrt(x[i]);
  return x;
#endif
}

/// The greater or the lesser. NaN is quiet in all operands, because operands of products are packed so.
template <bool is_max>
MPMML_INLINE Floats extreme(Floats x, Floats y) {
#if defined(__AVX512DQ__)
  constexpr int kLesser = 0x4, kGreater = 0x5;  // with the sign of the result
  return (Floats)_mm512_maskz_range_ps(kAll, (__m512)x, (__m512)y, is_max ? kGreater : kLesser);
#else
  // The comparison may select either of two zeros, so the bits of both orders are combined. NaN is handled separately.
  const Floats one = is_max ? (x > y ? x : y) : (x < y ? x : y);
  const Floats other = is_max ? (y > x ? y : x) : (y < x ? y : x);
  const Words both = is_max ? (Words)one & (Words)other : (Words)one | (Words)other;
  const Floats of_numbers = (Floats)both;
  return y != y ? x : x != x ? y : of_numbers;
#endif
}

constexpr float kTwoTo31 = 2147483648.0f, kTwoTo32 = 4294967296.0f;

MPMML_INLINE Ints to_ints(Floats x) {
  const auto in_range = (x >= -kTwoTo31) & (x < kTwoTo31);
  const Ints inside = __builtin_convertvector(in_range ? x : Floats{}, Ints);
  return x >= kTwoTo31 ? splat<int32_t>(INT32_MAX) : x < -kTwoTo31 ? splat<int32_t>(INT32_MIN) : inside;
}

MPMML_INLINE Words to_words(Floats x) {
  // As signed numbers, less 2^31 if they are beyond these.
  const auto is_high = x >= kTwoTo31;
  const Floats low = is_high ? x - kTwoTo31 : x;
  const auto in_range = (low >= 0) & (low < kTwoTo31);
  const Words inside = (Words) __builtin_convertvector(in_range ? low : Floats{}, Ints);
  const Words shifted = is_high ? inside + 0x80000000u : inside;
  return x >= kTwoTo32 ? splat<uint32_t>(UINT32_MAX) : shifted;
}

MPMML_INLINE Words count_ones(Words x) {
  x = x - ((x >> 1) & 0x55555555u);
  x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0fu;
  return (x * 0x01010101u) >> 24;
}

// Operations on vectors. X, Y and Z are the element types of the operands of apply(), and Out that of its result.
struct None {};

template <class T>
struct Unary {
  using X = T;
  using Y = None;
  using Z = None;
  using Out = T;
};
template <class T>
struct Binary : Unary<T> {
  using Y = T;
};

#define MPMML_BINARY(Name, expression)                                                  \
  template <class T>                                                                    \
  struct Name : Binary<T> {                                                             \
    MPMML_INLINE Vector<T> apply(Vector<T> x, Vector<T> y, None) { return expression; } \
  };
#define MPMML_UNARY(Name, expression)                                            \
  template <class T>                                                             \
  struct Name : Unary<T> {                                                       \
    MPMML_INLINE Vector<T> apply(Vector<T> x, None, None) { return expression; } \
  };

MPMML_BINARY(AddOf, x + y)
MPMML_BINARY(SubOf, x - y)
MPMML_BINARY(MulOf, x* y)
MPMML_BINARY(AndOf, x& y)
MPMML_BINARY(OrOf, x | y)
MPMML_BINARY(XorOf, x ^ y)
MPMML_BINARY(LeftOf, x << y)
MPMML_BINARY(RightOf, x >> y)
MPMML_UNARY(NegOf, -x)
MPMML_UNARY(NotOf, ~x)
MPMML_UNARY(CopyOf, x)
MPMML_UNARY(OnesOf, count_ones(x))
MPMML_UNARY(SqrtOf, root(x))

template <class T>
struct MinOf : Binary<T> {
  MPMML_INLINE Vector<T> apply(Vector<T> x, Vector<T> y, None) {
    if constexpr (std::is_floating_point_v<T>)
      return extreme<false>(x, y);
    else
      return x < y ? x : y;
  }
};
template <class T>
struct MaxOf : Binary<T> {
  MPMML_INLINE Vector<T> apply(Vector<T> x, Vector<T> y, None) {
    if constexpr (std::is_floating_point_v<T>)
      return extreme<true>(x, y);
    else
      return x > y ? x : y;
  }
};
template <class T>
struct AbsOf : Unary<T> {
  MPMML_INLINE Vector<T> apply(Vector<T> x, None, None) {
    if constexpr (std::is_floating_point_v<T>)
      return (Vector<T>)((Words)x & 0x7fffffffu);
    else
      return x < 0 ? -x : x;
  }
};
/// |x − y|
template <class T>
struct DistanceOf : Binary<T> {
  MPMML_INLINE Vector<T> apply(Vector<T> x, Vector<T> y, None) { return AbsOf<T>::apply(x - y, {}, {}); }
};

#define MPMML_COMPARE(Name, expression)                                                    \
  template <class T>                                                                       \
  struct Name : Binary<T> {                                                                \
    using Out = int32_t;                                                                   \
    MPMML_INLINE Ints apply(Vector<T> x, Vector<T> y, None) { return (Ints)(expression); } \
  };
MPMML_COMPARE(EqualOf, x == y)
MPMML_COMPARE(LessOf, x < y)
MPMML_COMPARE(LessEqualOf, x <= y)

struct SelectOf {
  using X = int32_t;
  using Y = uint32_t;
  using Z = uint32_t;
  using Out = uint32_t;
  MPMML_INLINE Words apply(Ints condition, Words y, Words z) { return condition ? y : z; }
};

struct FusedOf {
  using X = float;
  using Y = float;
  using Z = float;
  using Out = float;
  MPMML_INLINE Floats apply(Floats x, Floats y, Floats z) { return fused(x, y, z); }
};

template <class From, class To>
struct ConvertOf {
  using X = From;
  using Y = None;
  using Z = None;
  using Out = To;
  MPMML_INLINE Vector<To> apply(Vector<From> x, None, None) {
    if constexpr (std::is_same_v<To, float>)
      return __builtin_convertvector(x, Floats);
    else if constexpr (std::is_same_v<To, int32_t>)
      return to_ints(x);
    else
      return to_words(x);
  }
};

/// An operand of a row, as vectors.
template <class T, bool is_scalar>
struct Row {
  explicit Row(const UserLoop::Operand& operand, int64_t row)
      : from(reinterpret_cast<const T*>(operand.data) + row * operand.stride),
        all(is_scalar ? splat(*from) : Vector<T>{}) {}
  MPMML_HOST_DEVICE Vector<T> at(int64_t col) const {
    if constexpr (is_scalar)
      return all;
    else
      return load(from + col);
  }
  const T* from;
  Vector<T> all;
};
template <bool is_scalar>
struct Row<None, is_scalar> {
  explicit Row(const UserLoop::Operand&, int64_t) {}
  None at(int64_t) const { return {}; }
};

template <class Op, unsigned scalars>
void run(const UserLoop& loop) {
  for (int64_t row = 0; row < loop.rows; ++row) {
    const Row<typename Op::X, (scalars & 1) != 0> x(loop.in[0], row);
    const Row<typename Op::Y, (scalars & 2) != 0> y(loop.in[1], row);
    const Row<typename Op::Z, (scalars & 4) != 0> z(loop.in[2], row);
    auto* const out = reinterpret_cast<typename Op::Out*>(loop.out + row * loop.out_stride);
    // Four vectors at a time, so that the loop itself costs little.
    constexpr int64_t kAtOnce = 4 * kLanes;
    int64_t col = 0;
    for (; col + kAtOnce <= loop.cols; col += kAtOnce) {
      MPMML_UNROLL
      for (int64_t at = col; at < col + kAtOnce; at += kLanes) store(out + at, Op::apply(x.at(at), y.at(at), z.at(at)));
    }
    for (; col < loop.cols; col += kLanes) store(out + col, Op::apply(x.at(col), y.at(col), z.at(col)));
  }
}

template <class Op>
UserLoopFunction unary(unsigned scalars) {
  return scalars == 0 ? run<Op, 0> : nullptr;
}

/// Returns the loop of an operation with two operands. Bit i of `scalars` is set if operand i is a scalar. Commutative
/// operations are called with the scalar as their second operand.
template <class Op, bool is_commutative = false>
UserLoopFunction binary(unsigned scalars) {
  if (scalars == 0) return run<Op, 0>;
  if (scalars == 2) return run<Op, 2>;
  if constexpr (!is_commutative) {
    if (scalars == 1) return run<Op, 1>;
  }
  return nullptr;
}

template <template <class> class Op, bool is_commutative = false>
UserLoopFunction binary_of(UserType type, unsigned scalars) {
  if (type == UserType::kFloat32) return binary<Op<float>, is_commutative>(scalars);
  if (type == UserType::kUint32) return binary<Op<uint32_t>, is_commutative>(scalars);
  return binary<Op<int32_t>, is_commutative>(scalars);
}

/// binary_of() for operations that don't distinguish signed and unsigned integers.
template <template <class> class Op, bool is_commutative = false>
UserLoopFunction binary_of_bits(UserType type, unsigned scalars) {
  if (type == UserType::kFloat32) return binary<Op<float>, is_commutative>(scalars);
  return binary<Op<uint32_t>, is_commutative>(scalars);
}

template <class Op, unsigned... all>
UserLoopFunction ternary(unsigned scalars, std::integer_sequence<unsigned, all...>) {
  UserLoopFunction found = nullptr;
  ((all == scalars ? void(found = run<Op, all>) : void()), ...);
  return found;
}

inline UserLoopFunction find_loop(UserOp op, UserType gives, UserType takes, unsigned scalars) {
  const bool is_float = takes == UserType::kFloat32;
  switch (op) {
    case UserOp::kAdd:
      return binary_of_bits<AddOf, true>(takes, scalars);
    case UserOp::kSub:
      return binary_of_bits<SubOf>(takes, scalars);
    case UserOp::kMul:
      return binary_of_bits<MulOf, true>(takes, scalars);
    case UserOp::kMin:
      return binary_of<MinOf, true>(takes, scalars);
    case UserOp::kMax:
      return binary_of<MaxOf, true>(takes, scalars);
    case UserOp::kAnd:
      return binary<AndOf<uint32_t>, true>(scalars);
    case UserOp::kOr:
      return binary<OrOf<uint32_t>, true>(scalars);
    case UserOp::kXor:
      return binary<XorOf<uint32_t>, true>(scalars);
    case UserOp::kShiftLeft:
      return binary<LeftOf<uint32_t>>(scalars);
    case UserOp::kShiftRight:
      return takes == UserType::kInt32 ? binary<RightOf<int32_t>>(scalars) : binary<RightOf<uint32_t>>(scalars);
    case UserOp::kEqual:
      return binary_of_bits<EqualOf, true>(takes, scalars);
    case UserOp::kLess:
      return binary_of<LessOf>(takes, scalars);
    case UserOp::kLessEqual:
      return binary_of<LessEqualOf>(takes, scalars);
    case UserOp::kNeg:
      return is_float ? unary<NegOf<float>>(scalars) : unary<NegOf<uint32_t>>(scalars);
    case UserOp::kAbs:
      return is_float ? unary<AbsOf<float>>(scalars) : unary<AbsOf<int32_t>>(scalars);
    case UserOp::kNot:
      return unary<NotOf<uint32_t>>(scalars);
    case UserOp::kPopcount:
      return unary<OnesOf<uint32_t>>(scalars);
    case UserOp::kSqrt:
      return unary<SqrtOf<float>>(scalars);
    case UserOp::kToInt32:
      return unary<ConvertOf<float, int32_t>>(scalars);
    case UserOp::kToUint32:
      return unary<ConvertOf<float, uint32_t>>(scalars);
    case UserOp::kToFloat32:
      return takes == UserType::kInt32 ? unary<ConvertOf<int32_t, float>>(scalars)
                                       : unary<ConvertOf<uint32_t, float>>(scalars);
    case UserOp::kBits:
      return scalars == 0 ? run<CopyOf<uint32_t>, 0> : run<CopyOf<uint32_t>, 1>;
    case UserOp::kSelect:
      return ternary<SelectOf>(scalars, std::integer_sequence<unsigned, 0, 1, 2, 3, 4, 5, 6>());
    case UserOp::kFma:
      return ternary<FusedOf>(scalars, std::integer_sequence<unsigned, 0, 2, 3, 4, 6>());
    case UserOp::kArgument:
    case UserOp::kConstant:
    case UserOp::kExp:
    case UserOp::kExp2:
    case UserOp::kLog:
    case UserOp::kLog1p:
      break;
  }
  static_cast<void>(gives);
  return nullptr;
}

/// A tile whose accumulators stay in registers over all steps, in parts that fit them.
template <class Plus, class Times>
void fold_tile(const uint32_t* from_a, const uint32_t* from_b, uint32_t* to, int64_t steps) {
  using T = typename Plus::X;
  constexpr int kRows = kHasManyRegisters ? kUserTileRows : kUserTileRows / 2;
  constexpr int kVectors = kHasManyRegisters ? 3 : 2;
  static_assert(kUserTileCols % (kVectors * kLanes) == 0, "a tile consists of whole parts");
  for (int64_t col = 0; col < kUserTileCols; col += kVectors * kLanes) {
    for (int64_t row = 0; row < kUserTileRows; row += kRows) {
      const T* a = reinterpret_cast<const T*>(from_a) + row;
      const T* b = reinterpret_cast<const T*>(from_b) + col;
      T* const acc = reinterpret_cast<T*>(to) + row * kUserTileCols + col;
      Vector<T> sums[kRows][kVectors];
      MPMML_UNROLL
      for (int i = 0; i < kRows; ++i) {
        MPMML_UNROLL
        for (int j = 0; j < kVectors; ++j) sums[i][j] = load(acc + i * kUserTileCols + j * kLanes);
      }
      for (int64_t step = 0; step < steps; ++step, a += kUserTileRows, b += kUserTileCols) {
        Vector<T> of_b[kVectors];
        MPMML_UNROLL
        for (int j = 0; j < kVectors; ++j) of_b[j] = load(b + j * kLanes);
        MPMML_UNROLL
        for (int i = 0; i < kRows; ++i) {
          const Vector<T> of_a = splat(a[i]);
          MPMML_UNROLL
          for (int j = 0; j < kVectors; ++j) {
            sums[i][j] = Plus::apply(sums[i][j], Times::apply(of_a, of_b[j], {}), {});
          }
        }
      }
      MPMML_UNROLL
      for (int i = 0; i < kRows; ++i) {
        MPMML_UNROLL
        for (int j = 0; j < kVectors; ++j) store(acc + i * kUserTileCols + j * kLanes, sums[i][j]);
      }
    }
  }
}

template <class Plus, class T>
UserTileFunction tile_of_sum(UserTimes times) {
  if (times.is_magnitude) {
    if constexpr (!std::is_same_v<T, uint32_t>) {
      if (times.op == UserOp::kSub) return fold_tile<Plus, DistanceOf<T>>;
    }
    return nullptr;
  }
  switch (times.op) {
    case UserOp::kAdd:
      return fold_tile<Plus, AddOf<T>>;
    case UserOp::kSub:
      return fold_tile<Plus, SubOf<T>>;
    case UserOp::kMul:
      return fold_tile<Plus, MulOf<T>>;
    case UserOp::kMin:
      return fold_tile<Plus, MinOf<T>>;
    case UserOp::kMax:
      return fold_tile<Plus, MaxOf<T>>;
    default:
      break;
  }
  if constexpr (!std::is_floating_point_v<T>) {
    if (times.op == UserOp::kAnd) return fold_tile<Plus, AndOf<T>>;
    if (times.op == UserOp::kOr) return fold_tile<Plus, OrOf<T>>;
    if (times.op == UserOp::kXor) return fold_tile<Plus, XorOf<T>>;
  }
  return nullptr;
}

template <class T>
UserTileFunction tile_of_type(UserOp plus, UserTimes times) {
  switch (plus) {
    case UserOp::kAdd:
      return tile_of_sum<AddOf<T>, T>(times);
    case UserOp::kMin:
      return tile_of_sum<MinOf<T>, T>(times);
    case UserOp::kMax:
      return tile_of_sum<MaxOf<T>, T>(times);
    default:
      break;
  }
  if constexpr (!std::is_floating_point_v<T>) {
    if (plus == UserOp::kAnd) return tile_of_sum<AndOf<T>, T>(times);
    if (plus == UserOp::kOr) return tile_of_sum<OrOf<T>, T>(times);
    if (plus == UserOp::kXor) return tile_of_sum<XorOf<T>, T>(times);
  }
  return nullptr;
}

inline UserTileFunction find_tile(UserType type, UserOp plus, UserTimes times) {
  if (type == UserType::kFloat32) return tile_of_type<float>(plus, times);
  if (type == UserType::kUint32) return tile_of_type<uint32_t>(plus, times);
  return tile_of_type<int32_t>(plus, times);
}

}  // namespace mpmml::cpu::MPMML_ISA
