#include "core/user/skip.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace mpmml {
namespace {

/// Minimum number of instructions that a condition must save. Its test takes about as long as these, because later
/// instructions wait for it.
constexpr int kMinSaved = 6;
/// Maximum number of nodes that strengthening may add to a condition.
constexpr size_t kMaxGained = 32;

enum Side { kSum, kOfA, kOfB };

/// A predicate and its value.
using Fact = std::pair<int32_t, bool>;

class Step {
 public:
  explicit Step(const UserSemiring& semiring) : lanes_(semiring.lane_count()) {
    const std::vector<int32_t> candidate = rewrite(
        semiring.lowered_times,
        [&](const UserNode& argument) {
          return add({argument.op, argument.type, {argument.operands[0] + kOfA, argument.operands[1], 0}, 0});
        },
        [&](const UserNode& node) { return add(node); });
    whole_.results = rewrite(
        semiring.lowered_plus,
        [&](const UserNode& argument) {
          return argument.operands[0] == kSum ? add(argument) : candidate[static_cast<size_t>(argument.operands[1])];
        },
        [&](const UserNode& node) { return add(node); });
  }

  std::optional<SkipCondition> skip_condition() {
    const int instructions = instructions_of(needed_of(whole_));
    const std::optional<Fact> kept = when_kept();
    if (!kept) return std::nullopt;
    most_ = whole_.nodes.size() + kMaxGained;
    std::vector<int32_t> of_sum, of_step;
    split(sufficient(kept->first, kept->second), of_sum, of_step);
    const SkipCondition found{all(of_sum), all(of_step)};
    if (found.of_step && instructions_of(*found.of_step) + kMinSaved > instructions) return std::nullopt;
    return found;
  }

 private:
  int32_t add(const UserNode& node) { return whole_.add(node); }
  const UserNode& at(int32_t node) const { return whole_.nodes[size_t(node)]; }

  bool is_sum(int32_t node, size_t lane) const {
    const UserNode& it = at(node);
    return it.op == UserOp::kArgument && it.operands[0] == kSum && it.operands[1] == static_cast<int32_t>(lane);
  }

  /// Returns the predicate by which every lane selects its old value, and the predicate's value for that.
  std::optional<Fact> when_kept() const {
    std::optional<Fact> common;
    for (size_t lane = 0; lane < lanes_; ++lane) {
      const UserNode& result = at(whole_.results[lane]);
      if (result.op != UserOp::kSelect) return std::nullopt;
      const bool is_first = is_sum(result.operands[1], lane);
      if (!is_first && !is_sum(result.operands[2], lane)) return std::nullopt;
      Fact fact{result.operands[0], is_first};
      while (at(fact.first).op == UserOp::kNot) fact = {at(fact.first).operands[0], !fact.second};
      if (common && fact != *common) return std::nullopt;
      common = fact;
    }
    return common;
  }

  /// Returns for each node whether it depends on z only.
  std::vector<bool> of_sum_only() const {
    std::vector<bool> only;
    for (const UserNode& it : whole_.nodes) {
      const auto end = it.operands.begin() + user_rule(it.op).arity;
      only.push_back(it.op == UserOp::kArgument ? it.operands[0] == kSum
                                                : std::all_of(it.operands.begin(), end, [&](int32_t operand) {
                                                    return only[static_cast<size_t>(operand)];
                                                  }));
    }
    return only;
  }

  /// Splits a conjunction into its distinct terms: nodes may be used many times.
  void split(int32_t condition, std::vector<int32_t>& of_sum, std::vector<int32_t>& of_step) const {
    const std::vector<bool> only = of_sum_only();
    std::set<int32_t> seen;
    const std::function<void(int32_t)> visit = [&](int32_t node) {
      if (!seen.insert(node).second) return;
      if (at(node).op == UserOp::kAnd) {
        visit(at(node).operands[0]);
        visit(at(node).operands[1]);
      } else {
        (only[static_cast<size_t>(node)] ? of_sum : of_step).push_back(node);
      }
    };
    visit(condition);
  }

  std::optional<UserExpression> all(const std::vector<int32_t>& conditions) {
    if (conditions.empty()) return std::nullopt;
    int32_t sum = conditions.front();
    for (const int32_t condition : conditions) {
      if (condition != conditions.front()) sum = both(UserOp::kAnd, sum, condition);
    }
    return needed_of({whole_.nodes, {sum}});
  }

  int32_t both(UserOp op, int32_t x, int32_t y) { return add({op, UserType::kPredicate, {x, y, 0}, 0}); }

  /// Returns a predicate that implies that `node` is `wanted`. If a comparison has a select as an operand, both
  /// alternatives of the select must satisfy it: then the select's own condition doesn't matter.
  int32_t sufficient(int32_t node, bool wanted) {
    const auto known = sufficient_.find({node, wanted});
    if (known != sufficient_.end()) return known->second;
    const int32_t found = find_sufficient(node, wanted);
    sufficient_[{node, wanted}] = found;
    return found;
  }

  int32_t find_sufficient(int32_t node, bool wanted) {
    const UserNode it = at(node);
    if (it.op == UserOp::kNot) return sufficient(it.operands[0], !wanted);
    if (it.op == UserOp::kAnd || it.op == UserOp::kOr) {
      const int32_t x = sufficient(it.operands[0], wanted), y = sufficient(it.operands[1], wanted);
      return both((it.op == UserOp::kAnd) == wanted ? UserOp::kAnd : UserOp::kOr, x, y);
    }
    const bool compares = it.op == UserOp::kLess || it.op == UserOp::kLessEqual || it.op == UserOp::kEqual;
    for (size_t side = 0; compares && side < 2 && whole_.nodes.size() < most_; ++side) {
      const UserNode operand = at(it.operands[side]);
      if (operand.op != UserOp::kSelect) continue;
      UserNode first = it, second = it;
      first.operands[side] = operand.operands[1];
      second.operands[side] = operand.operands[2];
      const int32_t x = sufficient(add(first), wanted), y = sufficient(add(second), wanted);
      return both(UserOp::kAnd, x, y);
    }
    return wanted ? node : add({UserOp::kNot, UserType::kPredicate, {node, 0, 0}, 0});
  }

  const size_t lanes_;
  UserExpression whole_;
  size_t most_ = 0;
  std::map<Fact, int32_t> sufficient_;
};

}  // namespace

std::optional<SkipCondition> skip_condition(const UserSemiring& semiring) { return Step(semiring).skip_condition(); }

}  // namespace mpmml
