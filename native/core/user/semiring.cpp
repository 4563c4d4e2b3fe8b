#include "core/user/semiring.h"

#include <cstring>
#include <utility>

#include "core/status.h"
#include "core/user/skip.h"

namespace mpmml {
namespace {

/// Maximum number of nodes of a lowered expression. Expressions of kMaxUserNodes nodes exceed it only if nearly all
/// nodes are exponentials and logarithms.
constexpr size_t kMaxLoweredNodes = 4096;
constexpr size_t kMaxNameBytes = 1000;

constexpr int kPlusSide = 2;  ///< number of sides of arguments: x or y

[[noreturn]] void refuse(const UserDefinition& definition, const std::string& what) {
  throw Error(ErrorCode::kOption, "semiring '" + definition.name + "': " + what);
}

uint32_t stored_bits(UserType type, uint32_t bits) {
  return type == UserType::kFloat32 && is_user_nan(bits) ? kUserNan : bits;
}

/// Checks the nodes in order, so that operands are checked before their users.
class Check {
 public:
  Check(const UserDefinition& definition, const char* name, UserExpression& expression)
      : definition_(definition), name_(name), expression_(expression) {}

  void run() {
    auto& nodes = expression_.nodes;
    if (nodes.empty() || nodes.size() > kMaxUserNodes) {
      refuse(definition_, std::string(name_) + " has " + std::to_string(nodes.size()) +
                              " nodes, but it must have 1 to " + std::to_string(kMaxUserNodes) +
                              ": write it with fewer operations");
    }
    for (size_t at = 0; at < nodes.size(); ++at) {
      check_node(at);
      clear_unused(nodes[at]);
    }
    if (expression_.results.size() != definition_.lanes.size()) {
      refuse(definition_, std::string(name_) + " has " + std::to_string(expression_.results.size()) +
                              " results, but there are " + std::to_string(definition_.lanes.size()) + " lanes");
    }
    for (size_t lane = 0; lane < expression_.results.size(); ++lane) {
      const int32_t result = expression_.results[lane];
      const std::string which = std::string(name_) + "'s result " + std::to_string(lane);
      if (result < 0 || static_cast<size_t>(result) >= nodes.size()) {
        refuse(definition_, which + " is node " + std::to_string(result) + ", which isn't there");
      }
      require_type(which, nodes[static_cast<size_t>(result)].type, definition_.lanes[lane]);
    }
  }

 private:
  void check_node(size_t at) {
    const UserNode& node = expression_.nodes[at];
    const std::string which = std::string(name_) + "'s node " + std::to_string(at);
    if (static_cast<size_t>(node.op) >= std::size(kUserOpNames) ||
        static_cast<size_t>(node.type) >= std::size(kUserTypeNames)) {
      refuse(definition_, which + " has an operation or a type that isn't known");
    }
    const UserRule& rule = user_rule(node.op);
    const std::string named = which + ", " + user_op_name(node.op) + ",";
    if (rule.becomes == UserBecomes::kInternal) refuse(definition_, named + " is no operation that may be written");
    if (!(rule.gives >> static_cast<int>(node.type) & 1)) {
      refuse(definition_, named + " can't give " + user_type_name(node.type));
    }
    if (node.op == UserOp::kArgument) return check_argument(named, node);
    std::optional<UserType> alike;
    for (int i = 0; i < rule.arity; ++i) {
      const int32_t operand = node.operands[static_cast<size_t>(i)];
      if (operand < 0 || static_cast<size_t>(operand) >= at) {
        refuse(definition_, named + " takes node " + std::to_string(operand) + ", which doesn't come before it");
      }
      const UserType type = expression_.nodes[static_cast<size_t>(operand)].type;
      const bool is_number = type != UserType::kPredicate;
      switch (rule.takes[i]) {
        case UserTakes::kSame:
          require_type(named + " as operand " + std::to_string(i), type, node.type);
          break;
        case UserTakes::kPredicate:
          require_type(named + " as operand " + std::to_string(i), type, UserType::kPredicate);
          break;
        case UserTakes::kNumber:
        case UserTakes::kAlike:
          if (!is_number) refuse(definition_, named + " takes numbers, but operand " + std::to_string(i) + " is none");
          if (rule.takes[i] == UserTakes::kAlike && alike) {
            require_type(named + " as operand " + std::to_string(i), type, *alike);
          }
          alike = type;
          break;
        case UserTakes::kNothing:
          break;
      }
    }
  }

  void check_argument(const std::string& named, const UserNode& node) const {
    const auto [side, lane, unused] = node.operands;
    static_cast<void>(unused);
    if (side < 0 || side >= kPlusSide || lane < 0 || static_cast<size_t>(lane) >= definition_.lanes.size()) {
      refuse(definition_, named + " is of a lane that isn't there");
    }
    require_type(named, node.type, definition_.lanes[static_cast<size_t>(lane)]);
  }

  void require_type(const std::string& what, UserType is, UserType wanted) const {
    if (is == wanted) return;
    refuse(definition_, what + " is " + user_type_name(is) + ", but must be " + user_type_name(wanted));
  }

  /// Clears unused fields, so that equal nodes compare equal.
  static void clear_unused(UserNode& node) {
    if (node.op == UserOp::kArgument) {
      node.operands[2] = 0;
    } else {
      for (size_t i = user_rule(node.op).arity; i < node.operands.size(); ++i) node.operands[i] = 0;
    }
    node.bits = node.op == UserOp::kConstant ? stored_bits(node.type, node.bits) : 0;
  }

  const UserDefinition& definition_;
  const char* const name_;
  UserExpression& expression_;
};

void check_element(const UserDefinition& definition, const char* name, std::vector<uint32_t>& element) {
  if (element.size() != definition.lanes.size()) {
    refuse(definition, std::string(name) + " has " + std::to_string(element.size()) + " lanes, but elements have " +
                           std::to_string(definition.lanes.size()));
  }
  for (size_t lane = 0; lane < element.size(); ++lane)
    element[lane] = stored_bits(definition.lanes[lane], element[lane]);
}

UserExpression lowered(const UserDefinition& definition, const char* name, const UserExpression& expression) {
  UserExpression result = lower(expression);
  if (result.nodes.size() > kMaxLoweredNodes) {
    refuse(definition, std::string(name) + " has too many exponentials and logarithms: it becomes " +
                           std::to_string(result.nodes.size()) + " operations, but " +
                           std::to_string(kMaxLoweredNodes) + " is the most");
  }
  return result;
}

std::string key_of(const UserSemiring& semiring) {
  std::string key;
  for (size_t lane = 0; lane < semiring.lane_count(); ++lane) {
    key += std::string(lane > 0 ? ", " : "lanes ") + user_type_name(semiring.lanes[lane]) + " from " +
           std::to_string(semiring.zero[lane]);
  }
  return key + (semiring.absorbs ? "\nabsorbs" : "\nabsorbs not") + "\nplus\n" + to_text(semiring.lowered_plus) +
         "times\n" + to_text(semiring.lowered_times);
}

}  // namespace

std::shared_ptr<const UserSemiring> make_user_semiring(UserDefinition definition) {
  if (definition.name.size() > kMaxNameBytes) {
    definition.name.resize(0);
    refuse(definition, "the name is longer than " + std::to_string(kMaxNameBytes) + " bytes");
  }
  if (definition.lanes.empty() || definition.lanes.size() > kMaxUserLanes) {
    refuse(definition, "there are " + std::to_string(definition.lanes.size()) + " lanes, but there must be 1 to " +
                           std::to_string(kMaxUserLanes));
  }
  for (const UserType lane : definition.lanes) {
    if (lane >= UserType::kPredicate) refuse(definition, "a lane must be int32, uint32 or float32");
  }
  check_element(definition, "zero", definition.zero);
  if (definition.one) check_element(definition, "one", *definition.one);
  constexpr uint32_t kMinusInfinity = 0xff800000;
  const bool may_be_logarithms = definition.lanes == std::vector{UserType::kFloat32} &&
                                 definition.zero == std::vector{kMinusInfinity} && definition.absorbs &&
                                 !definition.idempotent && !definition.selective;
  if (definition.logarithms && !may_be_logarithms) {
    refuse(definition,
           "logarithms must be one lane of float32, with zero -Infinity, which absorbs, and not idempotent");
  }
  Check(definition, "plus", definition.plus).run();
  Check(definition, "times", definition.times).run();

  auto semiring = std::make_shared<UserSemiring>();
  static_cast<UserDefinition&>(*semiring) = std::move(definition);
  semiring->lowered_plus = lowered(*semiring, "plus", semiring->plus);
  semiring->lowered_times = lowered(*semiring, "times", semiring->times);
  semiring->skips = skip_condition(*semiring);
  semiring->key = key_of(*semiring);
  return semiring;
}

}  // namespace mpmml
