// Semirings of one's own: ⊕ and ⊗ as small typed expressions, checked and made ready for kernels.
//
// An element has 1 to 4 lanes, each an int32, a uint32 or a float32. ⊕ and ⊗ take two elements, x and y, and give one. Each is
// an expression: nodes in an order in which operands come before what takes them, and for each lane the node that is its
// result. There are no loops and no memory, so that any expression that passes the checks can be evaluated, whoever wrote it.
//
// Arithmetic: integers modulo 2^32; float32 by IEEE 754 to nearest, with subnormal numbers, and nothing is contracted. What
// NaN's bits are is seen by nothing: a NaN that is stored has the bits 7fc00000.
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

/// What NaN becomes that is stored.
constexpr uint32_t kUserNan = 0x7fc00000;

/// Whether the bits are those of a NaN in float32.
constexpr bool is_user_nan(uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }

/// NaN's bits are seen by nothing, so sums and products of float32 are too.
constexpr bool is_commutative(UserOp op) {
  return op == UserOp::kAdd || op == UserOp::kMul || op == UserOp::kMin || op == UserOp::kMax || op == UserOp::kAnd ||
         op == UserOp::kOr || op == UserOp::kXor || op == UserOp::kEqual;
}

struct UserNode {
  UserOp op{};
  UserType type{};                    ///< of its value
  std::array<int32_t, 3> operands{};  ///< nodes before it. Of an argument: 0 for x or 1 for y, and the lane
  uint32_t bits = 0;                  ///< of a constant

  bool operator==(const UserNode& other) const {
    return op == other.op && type == other.type && operands == other.operands && bits == other.bits;
  }
};

struct UserExpression {
  std::vector<UserNode> nodes;
  std::vector<int32_t> results;  ///< for each lane the node that it is

  bool operator==(const UserExpression& other) const { return nodes == other.nodes && results == other.results; }
};

/// Writes the nodes of an expression to another place. `argument(node)` and `add(node)`, for those that are none, return the place of
/// what a node becomes, whose operands are places already. Returns the places of the results.
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

/// As its user wrote it. Nothing of it has been checked.
struct UserDefinition {
  std::string name;
  std::vector<UserType> lanes;
  std::vector<uint32_t> zero;                ///< the bits of each lane; the neutral element of ⊕
  std::optional<std::vector<uint32_t>> one;  ///< that of ⊗, if it has one
  UserExpression plus;                       ///< ⊕
  UserExpression times;                      ///< ⊗
  bool absorbs = true;                       ///< whether zero ⊗ x = x ⊗ zero = zero
  bool idempotent = false;                   ///< whether x ⊕ x = x
  bool selective = false;                    ///< whether x ⊕ y is x or y
  bool logarithms = false;                   ///< whether x ⊕ y = log(e^x + e^y) and x ⊗ y = x + y, but for rounding
};

/// When z ⊕ (x ⊗ y) surely is z: if both conditions hold. One that is missing always holds. They are lowered and have one result, a
/// predicate; arguments are of z (side 0), x (side 1) and y (side 2).
struct SkipCondition {
  std::optional<UserExpression> of_sum;  ///< takes z only
  std::optional<UserExpression> of_step;
};

/// One that has been checked. It doesn't change any more, and any number of threads may read it.
struct UserSemiring : UserDefinition {
  /// ⊕ and ⊗ in the operations that kernels have: none that is `lowered` (native/variants/expressions.mjs), the counts of shifts are
  /// less than 32, no node occurs twice, and every node is needed.
  UserExpression lowered_plus, lowered_times;
  /// When a step of a product changes nothing, if that is known (skip.h).
  std::optional<SkipCondition> skips;
  /// Both as text, whatever the semiring is called. Equal texts (with lanes, zero and absorbs) mean equal kernels.
  std::string key;

  size_t lane_count() const { return lanes.size(); }
};

/// Checks and lowers. Throws Error(kOption).
std::shared_ptr<const UserSemiring> make_user_semiring(UserDefinition definition);

/// Writes exp, exp2, log and log1p in other operations, joins equal nodes, and leaves out those that nothing needs. The results
/// differ from the exact ones by at most 2 units in the last place.
UserExpression lower(const UserExpression& expression);

/// The same results without nodes that none of them needs.
UserExpression needed_of(const UserExpression& expression);

/// About how many instructions a lowered expression is.
int instructions_of(const UserExpression& expression);

/// A line for each node, as "v2: int32 = add(v0, v1)", where arguments are x0 and the like, and one for each result: "r0 = v2".
std::string to_text(const UserExpression& expression, const char* sides = "xy");

/// In which matrices of memory a lane lies: of float32, or for both integer types, of int32.
constexpr DataType stored_type(UserType lane) {
  return lane == UserType::kFloat32 ? DataType::kFloat32 : DataType::kInt32;
}

}  // namespace mpmml
