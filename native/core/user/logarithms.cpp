#include "core/user/logarithms.h"

#include <cmath>
#include <utility>

#include "core/user/writer.h"

namespace mpmml {
namespace {

constexpr UserType kFloat = UserType::kFloat32;

/// Maximum of the exponentials of a row. Sums of products are at most its square times k, which float32 can represent.
constexpr float kMaxExponential = 0x1p+50f;
constexpr float kMinExponential = 0x1p-74f;
constexpr float kMinSum = 0x1p+20f;
constexpr float kUnit = 0x1p-100f;

uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Returns a semiring with ⊕ of arguments x and y, written by `plus`, and an operation as ⊗.
template <class Plus>
std::shared_ptr<const UserSemiring> of_numbers(const char* name, float zero, bool absorbs, Plus plus,
                                               UserOp times = UserOp::kAdd) {
  UserDefinition definition;
  definition.name = name;
  definition.lanes = {kFloat};
  definition.zero = {bits_of(zero)};
  definition.absorbs = absorbs;
  ExpressionWriter of_plus, of_times;
  definition.plus =
      of_plus.finish({plus(of_plus, of_plus.argument(0, 0, kFloat), of_plus.argument(1, 0, kFloat)).node});
  definition.times =
      of_times.finish({of_times.binary(times, of_times.argument(0, 0, kFloat), of_times.argument(1, 0, kFloat)).node});
  return make_user_semiring(std::move(definition));
}

/// Returns a semiring of two lanes for products without steps. Its first result is `first`, an expression of arguments
/// of side 0 only.
std::shared_ptr<const UserSemiring> of_pairs(const char* name, const UserExpression& first) {
  UserDefinition definition;
  definition.name = name;
  definition.lanes = {kFloat, kFloat};
  definition.zero = {bits_of(0), bits_of(0)};
  definition.absorbs = false;
  definition.plus = first;
  definition.plus.results = {first.results[0], definition.plus.add({UserOp::kArgument, kFloat, {0, 1, 0}})};
  ExpressionWriter times;
  definition.times = times.finish({times.argument(0, 0, kFloat).node, times.argument(1, 1, kFloat).node});
  return make_user_semiring(std::move(definition));
}

LogarithmSteps make_steps() {
  LogarithmSteps steps;
  steps.greatest = of_numbers("the greatest", -INFINITY, true,
                              [](ExpressionWriter& w, Written x, Written y) { return w.binary(UserOp::kMax, x, y); });
  // No element equals this semiring's zero unless the greatest of the row is infinite, too.
  steps.to_numbers = of_numbers("exponentials", INFINITY, false, [](ExpressionWriter& w, Written x, Written y) {
    const Written least = w.number(kMinExponential);
    const Written number = w.mul(w.unary(UserOp::kExp, w.sub(x, y)), w.number(kMaxExponential));
    const Written counted = w.select(w.less(number, least), least, number);
    const Written finite = w.select(w.compare(UserOp::kEqual, x, w.number(-INFINITY)), w.number(0), counted);
    return w.select(w.compare(UserOp::kEqual, x, w.number(INFINITY)), y, finite);
  });
  // No sum equals this semiring's zero.
  steps.to_logarithms = of_numbers("logarithms", -1, false, [](ExpressionWriter& w, Written x, Written y) {
    const Written zero = w.number(0);
    const Written log = w.add(y, w.unary(UserOp::kLog, w.mul(x, w.number(kUnit))));
    const Written sure = w.select(w.less(x, w.number(kMinSum)), w.integer(kFloat, kUserNan), log);
    const Written any = w.select(w.compare(UserOp::kEqual, x, zero), w.number(-INFINITY), sure);
    return w.select(w.less(x, zero), y, any);
  });
  // Zero doesn't absorb, because exponentials may be infinite or NaN.
  steps.sum = of_numbers(
      "sums of products", 0, false, [](ExpressionWriter& w, Written x, Written y) { return w.add(x, y); },
      UserOp::kMul);
  ExpressionWriter choose;
  const Written x = choose.argument(0, 0, kFloat);
  const Written is_number = choose.compare(UserOp::kEqual, x, x);
  steps.choose = of_pairs("the other if it is NaN",
                          choose.finish({choose.select(is_number, x, choose.argument(0, 1, kFloat)).node}));
  return steps;
}

}  // namespace

const LogarithmSteps& logarithm_steps() {
  static const auto& steps = *new LogarithmSteps(make_steps());
  return steps;
}

std::shared_ptr<const UserSemiring> joining(const UserSemiring& semiring) {
  UserExpression plus = semiring.plus;
  for (UserNode& node : plus.nodes) {
    // Argument y (side 1) becomes the other lane.
    if (node.op == UserOp::kArgument) node.operands = {0, node.operands[0], 0};
  }
  return of_pairs("both", plus);
}

}  // namespace mpmml
