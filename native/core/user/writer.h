// Writer of expressions in native code.
#pragma once
#include <cstring>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/user/semiring.h"

namespace mpmml {

/// A written node.
struct Written {
  int32_t node = 0;
};

/// Writes an expression node by node, without duplicate nodes.
class ExpressionWriter {
 public:
  Written node(UserOp op, UserType type, std::array<int32_t, 3> operands, uint32_t bits = 0) {
    if (is_commutative(op) && operands[1] < operands[0]) std::swap(operands[0], operands[1]);
    const auto key = std::make_tuple(op, type, operands, bits);
    const auto [place, is_new] = known_.try_emplace(key, static_cast<int32_t>(written_.nodes.size()));
    if (is_new) written_.nodes.push_back({op, type, operands, bits});
    return {place->second};
  }
  const UserNode& at(Written value) const { return written_.nodes[static_cast<size_t>(value.node)]; }

  Written argument(int32_t side, int32_t lane, UserType type) { return node(UserOp::kArgument, type, {side, lane, 0}); }
  Written number(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return node(UserOp::kConstant, UserType::kFloat32, {}, bits);
  }
  Written integer(UserType type, uint32_t bits) { return node(UserOp::kConstant, type, {}, bits); }

  Written unary(UserOp op, Written x) { return node(op, at(x).type, {x.node, 0, 0}); }
  Written binary(UserOp op, Written x, Written y) { return node(op, at(x).type, {x.node, y.node, 0}); }
  Written compare(UserOp op, Written x, Written y) { return node(op, UserType::kPredicate, {x.node, y.node, 0}); }
  Written select(Written condition, Written x, Written y) {
    return node(UserOp::kSelect, at(x).type, {condition.node, x.node, y.node});
  }
  Written fma(Written x, Written y, Written z) {
    return node(UserOp::kFma, UserType::kFloat32, {x.node, y.node, z.node});
  }
  Written add(Written x, Written y) { return binary(UserOp::kAdd, x, y); }
  Written sub(Written x, Written y) { return binary(UserOp::kSub, x, y); }
  Written mul(Written x, Written y) { return binary(UserOp::kMul, x, y); }
  Written less(Written x, Written y) { return compare(UserOp::kLess, x, y); }
  Written bits_as(UserType type, Written x) {
    return at(x).type == type ? x : node(UserOp::kBits, type, {x.node, 0, 0});
  }
  Written shift(UserOp op, Written x, uint32_t count) { return binary(op, x, integer(at(x).type, count)); }

  /// Writes c[0] + c[1] x + c[2] x² + …
  template <size_t count>
  Written polynomial(const float (&c)[count], Written x) {
    Written sum = number(c[count - 1]);
    for (size_t i = count - 1; i-- > 0;) sum = fma(sum, x, number(c[i]));
    return sum;
  }

  UserExpression finish(const std::vector<int32_t>& results) const { return needed_of({written_.nodes, results}); }

 private:
  UserExpression written_;
  std::map<std::tuple<UserOp, UserType, std::array<int32_t, 3>, uint32_t>, int32_t> known_;
};

}  // namespace mpmml
