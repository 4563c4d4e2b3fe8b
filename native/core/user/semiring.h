// Custom semirings: ⊕ and ⊗ as small typed expressions, validated and lowered for kernels.
//
// An element has 1 to 4 lanes, each an int32, a uint32 or a float32. ⊕ and ⊗ map two elements, x and y, to one. Each is
// an expression: nodes in topological order (operands first), and a result node for each lane. Expressions have no
// loops and no memory access, so that every expression that passes the checks is safe to evaluate, even from untrusted
// input.
//
// Arithmetic: integers modulo 2^32; float32 by IEEE 754 with rounding to nearest, subnormal numbers, and no contraction
// to fused operations. The bits of a NaN are not observable: a stored NaN has the bits 7fc00000.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generated/expressions.h"
#include "generated/semirings.h"

namespace mpmml {

/// Bits of every stored NaN.
constexpr uint32_t kUserNan = 0x7fc00000;

/// Returns whether the bits are a NaN of float32.
constexpr bool is_user_nan(uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }

/// Returns whether an operation is commutative. Sums and products of float32 are, because the bits of NaN aren't
/// observable.
constexpr bool is_commutative(UserOp op) {
  return op == UserOp::kAdd || op == UserOp::kMul || op == UserOp::kMin || op == UserOp::kMax || op == UserOp::kAnd ||
         op == UserOp::kOr || op == UserOp::kXor || op == UserOp::kEqual;
}

struct UserNode {
  UserOp op{};
  UserType type{};                    ///< type of its value
  std::array<int32_t, 3> operands{};  ///< earlier nodes; for an argument: 0 for x or 1 for y, and the lane
  uint32_t bits = 0;                  ///< bits of a constant

  bool operator==(const UserNode& other) const {
    return op == other.op && type == other.type && operands == other.operands && bits == other.bits;
  }
};

struct UserExpression {
  std::vector<UserNode> nodes;
  std::vector<int32_t> results;  ///< result node of each lane

  /// Appends a node, and returns its index.
  int32_t add(const UserNode& node) {
    nodes.push_back(node);
    return static_cast<int32_t>(nodes.size()) - 1;
  }
  bool operator==(const UserExpression& other) const { return nodes == other.nodes && results == other.results; }
};

/// Copies the nodes of an expression to another list. `argument(node)` for arguments, and `add(node)` for other nodes,
/// return the index of the new node; the operands of `node` are new indices already. Returns the new indices of the
/// results.
template <class Argument, class Add>
std::vector<int32_t> rewrite(const UserExpression& expression, Argument&& argument, Add&& add) {
  std::vector<int32_t> places;
  places.reserve(expression.nodes.size());
  for (UserNode node : expression.nodes) {
    for (size_t i = 0; i < user_rule(node.op).arity; ++i) {
      node.operands[i] = places[static_cast<size_t>(node.operands[i])];
    }
    places.push_back(node.op == UserOp::kArgument ? argument(node) : add(node));
  }
  std::vector<int32_t> results;
  for (const int32_t result : expression.results) results.push_back(places[static_cast<size_t>(result)]);
  return results;
}

/// Unchecked definition of a semiring, as the user wrote it.
struct UserDefinition {
  std::string name;
  std::vector<UserType> lanes;
  std::vector<uint32_t> zero;                ///< bits of each lane of ⊕'s neutral element
  std::optional<std::vector<uint32_t>> one;  ///< bits of each lane of ⊗'s neutral element, if any
  UserExpression plus;                       ///< ⊕
  UserExpression times;                      ///< ⊗
  bool absorbs = true;                       ///< whether zero ⊗ x = x ⊗ zero = zero
  bool idempotent = false;                   ///< whether x ⊕ x = x
  bool selective = false;                    ///< whether x ⊕ y is x or y
  bool logarithms = false;                   ///< whether x ⊕ y = log(e^x + e^y) and x ⊗ y = x + y, but for rounding
};

/// Sufficient condition for z ⊕ (x ⊗ y) = z: the conjunction of two conditions. A missing condition always holds.
/// Conditions are lowered expressions with one result, a predicate; arguments are of z (side 0), x (side 1) and y (side
/// 2).
struct SkipCondition {
  std::optional<UserExpression> of_sum;  ///< depends on z only
  std::optional<UserExpression> of_step;
};

/// A validated semiring. It is immutable, and any number of threads may read it.
struct UserSemiring : UserDefinition {
  /// ⊕ and ⊗ in the operations of kernels: without operations that are `lowered` (native/variants/expressions.mjs),
  /// with shift counts less than 32, without duplicate or unused nodes.
  UserExpression lowered_plus, lowered_times;
  /// Condition under which a step of a product changes nothing, if known (skip.h).
  std::optional<SkipCondition> skips;
  /// Both expressions as text, without the semiring's name. Equal texts (with lanes, zero and absorbs) mean equal
  /// kernels.
  std::string key;

  size_t lane_count() const { return lanes.size(); }
};

/// Checks and lowers a definition. Throws Error(kOption).
std::shared_ptr<const UserSemiring> make_user_semiring(UserDefinition definition);

/// Lowers exp, exp2, log and log1p to other operations, merges equal nodes, and removes unused ones. Results differ
/// from the exact ones by at most 2 units in the last place.
UserExpression lower(const UserExpression& expression);

/// Returns the expression without unused nodes.
UserExpression needed_of(const UserExpression& expression);

/// Returns the approximate number of instructions of a lowered expression.
int instructions_of(const UserExpression& expression);

/// Returns a line for each node, such as "v2: int32 = add(v0, v1)" with arguments such as x0, and a line for each
/// result, such as "r0 = v2".
std::string to_text(const UserExpression& expression, const char* sides = "xy");

/// Returns the element type of a lane's matrix: float32, or int32 for both integer types.
constexpr DataType stored_type(UserType lane) {
  return lane == UserType::kFloat32 ? DataType::kFloat32 : DataType::kInt32;
}

}  // namespace mpmml
