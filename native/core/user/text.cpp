#include <cmath>
#include <cstdio>
#include <cstring>

#include "core/user/semiring.h"

namespace mpmml {
namespace {

std::string number_of(const UserNode& node) {
  if (node.type == UserType::kInt32) return std::to_string(static_cast<int32_t>(node.bits));
  if (node.type == UserType::kUint32) return std::to_string(node.bits);
  float value;
  std::memcpy(&value, &node.bits, sizeof value);
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  // Nine digits distinguish all float32 numbers.
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g", static_cast<double>(value));
  return digits;
}

std::string argument_of(const UserNode& node, const char* sides) {
  return sides[node.operands[0]] + std::to_string(node.operands[1]);
}

}  // namespace

std::string to_text(const UserExpression& expression, const char* sides) {
  std::string text;
  for (size_t at = 0; at < expression.nodes.size(); ++at) {
    const UserNode& node = expression.nodes[at];
    text += "v" + std::to_string(at) + ": " + user_type_name(node.type) + " = ";
    if (node.op == UserOp::kArgument) {
      text += argument_of(node, sides);
    } else if (node.op == UserOp::kConstant) {
      text += number_of(node);
    } else {
      text += user_op_name(node.op);
      for (size_t i = 0; i < user_rule(node.op).arity; ++i) {
        text += (i == 0 ? "(v" : ", v") + std::to_string(node.operands[i]);
      }
      text += ")";
    }
    text += "\n";
  }
  for (size_t lane = 0; lane < expression.results.size(); ++lane) {
    text += "r" + std::to_string(lane) + " = v" + std::to_string(expression.results[lane]) + "\n";
  }
  return text;
}

}  // namespace mpmml
