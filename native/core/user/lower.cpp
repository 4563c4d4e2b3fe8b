// Lowering of exp, exp2, log and log1p to operations that every backend has. Each operation is rounded separately, so
// that all backends give equal bits.
//
// Arguments are reduced as usual: e^x = 2^n · e^r with n the nearest integer to x / log 2 (W. J. Cody and W.
// Waite, Software Manual for the Elementary Functions, 1980), and log x = n · log 2 + log m with m from 2/3 to 4/3. The
// polynomials are minimax polynomials for the relative error (Lawson's iteration of least squares), with coefficients
// that were rounded to float32 one after the other.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/user/writer.h"

namespace mpmml {
namespace {

constexpr uint32_t kOneBits = 0x3f800000;
constexpr uint32_t kTwoThirdsBits = 0x3f2aaaab;
constexpr uint32_t kExponentBits = 0xff800000;
constexpr uint32_t kMantissaSize = 23;

/// Rounding constant: its sum with a number less than 2^22 has the nearest integer in the lowest bits.
constexpr float kRounder = 12582912;  // 1.5 · 2^23

/// Writes p · 2^n, where n is in the lowest bits of kRounder + n and −151 ≤ n ≤ 129. 2^n is split into two factors,
/// because one float has a smaller range of exponents; only the last product is rounded.
Written scaled(ExpressionWriter& w, Written p, Written rounder_and_n) {
  const Written bits = w.bits_as(UserType::kInt32, rounder_and_n);
  const Written one = w.integer(UserType::kInt32, kOneBits);
  // The shift removes the higher bits of kRounder.
  const Written half = w.shift(UserOp::kShiftLeft, w.shift(UserOp::kShiftRight, bits, 1), kMantissaSize);
  const Written rest = w.sub(w.shift(UserOp::kShiftLeft, bits, kMantissaSize), half);
  const Written by_half = w.mul(p, w.bits_as(UserType::kFloat32, w.add(half, one)));
  return w.mul(by_half, w.bits_as(UserType::kFloat32, w.add(rest, one)));
}

/// Writes max(x, least). NaN stays.
Written at_least(ExpressionWriter& w, Written x, float least) {
  const Written bound = w.number(least);
  return w.select(w.less(x, bound), bound, x);
}

// For x above the bound of n the polynomial is above 1, so the result is infinite, which is correct. NaN goes through
// the polynomial.

Written exp2_of(ExpressionWriter& w, Written argument) {
  constexpr float kPowers[] = {1,
                               0x1.62e430p-1f,
                               0x1.ebfbdcp-3f,
                               0x1.c6af7ap-5f,
                               0x1.3b2dd2p-7f,
                               0x1.5f0948p-10f,
                               0x1.417a68p-13f};  // on [−1/2, 1/2], to 0.05 · 2^−24
  const Written rounder = w.number(kRounder);
  const Written x = at_least(w, argument, -151);
  const Written near = w.add(w.binary(UserOp::kMin, x, w.number(129)), rounder);
  const Written rest = w.sub(x, w.sub(near, rounder));
  return scaled(w, w.polynomial(kPowers, rest), near);
}

Written exp_of(ExpressionWriter& w, Written argument) {
  constexpr float kPowers[] = {1,
                               1,
                               0x1.fffffcp-2f,
                               0x1.555492p-3f,
                               0x1.5558acp-5f,
                               0x1.12397cp-7f,
                               0x1.6a5142p-10f};  // on ±log(2) / 2, to 0.05 · 2^−24
  constexpr float kLog2OfE = 0x1.715476p+0f;
  // log 2 in two parts; the product of the first one and an integer of 8 bits is exact.
  constexpr float kLog2 = 0x1.62e400p-1f, kRestOfLog2 = 0x1.7f7d1cp-20f;
  const Written rounder = w.number(kRounder);
  const Written x = at_least(w, argument, -104);
  const Written near = w.fma(w.binary(UserOp::kMin, x, w.number(89)), w.number(kLog2OfE), rounder);
  const Written n = w.sub(near, rounder);
  const Written rest = w.fma(n, w.number(-kRestOfLog2), w.fma(n, w.number(-kLog2), x));
  return scaled(w, w.polynomial(kPowers, rest), near);
}

/// Writes log(1 + m) + n · log 2 for m from −1/3 to 1/3.
Written log_of_parts(ExpressionWriter& w, Written m, Written n) {
  constexpr float kPowers[] = {
      -0.5f,          0x1.555506p-2f,  -0x1.fffefap-3f, 0x1.99d05cp-3f, -0x1.559c30p-3f,
      0x1.1ed452p-3f, -0x1.f33c06p-4f, 0x1.1e72a2p-3f,  -0x1.07ab82p-3f};  // (log(1 + m) − m) / m², to 0.08 · 2^−24 of the logarithm
  constexpr float kLog2 = 0x1.62e430p-1f;
  const Written log = w.fma(w.polynomial(kPowers, m), w.mul(m, m), m);
  return w.fma(n, w.number(kLog2), log);
}

/// Writes n · 2^23, where x is 2^n times a number from 2/3 to 4/3.
Written exponent_of(ExpressionWriter& w, Written x) {
  const Written above = w.sub(w.bits_as(UserType::kInt32, x), w.integer(UserType::kInt32, kTwoThirdsBits));
  return w.binary(UserOp::kAnd, above, w.integer(UserType::kInt32, kExponentBits));
}

/// Writes `log`, the logarithm of x above `pole`, with −∞ at the pole and NaN below it.
Written with_ends(ExpressionWriter& w, Written log, Written x, float pole) {
  const Written above = w.select(w.less(x, w.number(INFINITY)), log, x);
  const Written at_pole = w.number(pole);
  const Written below =
      w.select(w.compare(UserOp::kEqual, x, at_pole), w.number(-INFINITY), w.integer(UserType::kFloat32, kUserNan));
  return w.select(w.less(at_pole, x), above, below);
}

Written log_of(ExpressionWriter& w, Written x) {
  // Subnormal numbers are scaled first, because their exponent bits are 0.
  const Written is_small = w.less(x, w.number(0x1p-126f));
  const Written normal = w.select(is_small, w.mul(x, w.number(0x1p+23f)), x);
  const Written exponent = exponent_of(w, normal);
  const Written m = w.bits_as(UserType::kFloat32, w.sub(w.bits_as(UserType::kInt32, normal), exponent));
  const Written n = w.fma(w.node(UserOp::kToFloat32, UserType::kFloat32, {exponent.node, 0, 0}), w.number(0x1p-23f),
                          w.select(is_small, w.number(-23), w.number(0)));
  return with_ends(w, log_of_parts(w, w.sub(m, w.number(1)), n), x, 0);
}

Written log1p_of(ExpressionWriter& w, Written x) {
  // The rounded 1 + x may have the exponent of a number nearby, which doesn't affect the accuracy of m. m = (1 + x) /
  // 2^n − 1 is rounded once, except for x / 4, which is exact unless x is so small that log(1 + x) is x. 4 / 2^n is a
  // normal number for all n.
  const Written exponent = exponent_of(w, w.add(x, w.number(1)));
  const Written four = w.bits_as(UserType::kFloat32, w.sub(w.integer(UserType::kInt32, 0x40800000), exponent));
  const Written m = w.fma(w.mul(x, w.number(0.25f)), four, w.fma(four, w.number(0.25f), w.number(-1)));
  const Written n = w.mul(w.node(UserOp::kToFloat32, UserType::kFloat32, {exponent.node, 0, 0}), w.number(0x1p-23f));
  const Written log = log_of_parts(w, m, n);
  const Written is_tiny = w.less(w.unary(UserOp::kAbs, x), w.number(0x1p-25f));
  return w.select(is_tiny, x, with_ends(w, log, x, -1));
}

/// Writes a node, whose operands have been written already.
Written lower_node(ExpressionWriter& w, const UserNode& node) {
  const Written x{node.operands[0]}, y{node.operands[1]};
  switch (node.op) {
    case UserOp::kExp:
      return exp_of(w, x);
    case UserOp::kExp2:
      return exp2_of(w, x);
    case UserOp::kLog:
      return log_of(w, x);
    case UserOp::kLog1p:
      return log1p_of(w, x);
    case UserOp::kShiftLeft:
    case UserOp::kShiftRight: {
      constexpr uint32_t kCountBits = 31;
      const UserNode count = w.at(y);
      if (count.op == UserOp::kConstant) return w.shift(node.op, x, count.bits & kCountBits);
      return w.binary(node.op, x, w.binary(UserOp::kAnd, y, w.integer(count.type, kCountBits)));
    }
    case UserOp::kToInt32:
    case UserOp::kToUint32:
      if (w.at(x).type != UserType::kFloat32) return w.bits_as(node.type, x);
      break;
    case UserOp::kToFloat32:
    case UserOp::kBits:
      if (w.at(x).type == node.type) return x;
      break;
    default:
      break;
  }
  return w.node(node.op, node.type, node.operands, node.bits);
}

}  // namespace

UserExpression needed_of(const UserExpression& expression) {
  const std::vector<UserNode>& nodes = expression.nodes;
  std::vector<int32_t> place(nodes.size(), -1);
  for (const int32_t result : expression.results) place[static_cast<size_t>(result)] = 0;
  const auto arity = [](const UserNode& node) -> size_t { return user_rule(node.op).arity; };
  for (size_t at = place.size(); at-- > 0;) {
    if (place[at] < 0) continue;
    for (size_t i = 0; i < arity(nodes[at]); ++i) place[static_cast<size_t>(nodes[at].operands[i])] = 0;
  }
  UserExpression kept;
  for (size_t at = 0; at < place.size(); ++at) {
    if (place[at] < 0) continue;
    place[at] = static_cast<int32_t>(kept.nodes.size());
    UserNode node = nodes[at];
    for (size_t i = 0; i < arity(node); ++i) node.operands[i] = place[static_cast<size_t>(node.operands[i])];
    kept.nodes.push_back(node);
  }
  for (const int32_t result : expression.results) kept.results.push_back(place[static_cast<size_t>(result)]);
  return kept;
}

int instructions_of(const UserExpression& expression) {
  return static_cast<int>(std::count_if(expression.nodes.begin(), expression.nodes.end(), [](const UserNode& node) {
    return node.op != UserOp::kArgument && node.op != UserOp::kConstant && node.op != UserOp::kBits;
  }));
}

UserExpression lower(const UserExpression& expression) {
  ExpressionWriter writer;
  const auto write = [&](const UserNode& node) { return lower_node(writer, node).node; };
  const std::vector<int32_t> results = rewrite(expression, write, write);
  return writer.finish(results);
}

}  // namespace mpmml
