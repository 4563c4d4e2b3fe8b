#include "cpu/user_program.h"

#include <algorithm>
#include <optional>

namespace mpmml::cpu {
namespace {

bool is_leaf(const UserNode& node) { return node.op == UserOp::kArgument || node.op == UserOp::kConstant; }

int arity_of(const UserNode& node) { return user_rule(node.op).arity; }

UserSide side_of(const UserNode& argument) { return static_cast<UserSide>(argument.operands[0]); }

UserNode argument_of(UserSide side, int32_t lane, UserType type) {
  return {UserOp::kArgument, type, {static_cast<int32_t>(side), lane, 0}, 0};
}

UserType type_taken(const std::vector<UserNode>& nodes, const UserNode& node) {
  const size_t first = node.op == UserOp::kSelect ? 1 : 0;
  return nodes[static_cast<size_t>(node.operands[first])].type;
}

/// Returns the value of an operation on constants.
uint32_t folded(const std::vector<UserNode>& nodes, const UserNode& node, const UserKernels& kernels) {
  uint32_t blocks[4][kUserAlignment] = {};
  UserLoop loop{blocks[3], kUserAlignment, {}, 1, kUserAlignment};
  for (int i = 0; i < arity_of(node); ++i) {
    std::fill_n(blocks[i], kUserAlignment, nodes[static_cast<size_t>(node.operands[i])].bits);
    loop.in[i] = {blocks[i], kUserAlignment};
  }
  kernels.loop(node.op, node.type, type_taken(nodes, node), 0)(loop);
  return blocks[3][0];
}

UserNode unchanged(const UserNode& argument) { return argument; }

/// Returns the expression with `argument(node)` in place of its arguments, and with constants folded.
template <class Argument>
UserExpression fold_constants(const UserExpression& expression, const UserKernels& kernels, Argument&& argument) {
  UserExpression whole;
  const auto add = [&](UserNode node) {
    if (!is_leaf(node)) {
      bool is_constant = true;
      for (int i = 0; i < arity_of(node); ++i) {
        is_constant &= whole.nodes[static_cast<size_t>(node.operands[i])].op == UserOp::kConstant;
      }
      if (is_constant) node = {UserOp::kConstant, node.type, {}, folded(whole.nodes, node, kernels)};
    }
    return whole.add(node);
  };
  whole.results = rewrite(expression, [&](const UserNode& node) { return add(argument(node)); }, add);
  return whole;
}

/// Copy of a node's result to the lane that it belongs to.
struct Copy {
  int32_t node;
  int32_t lane;
};

}  // namespace

SplitUserTimes split_times(const UserExpression& times, const UserKernels& kernels) {
  const UserExpression whole = fold_constants(times, kernels, unchanged);

  // Sides that each node depends on: 1 for A, 2 for B.
  std::vector<unsigned> sides;
  for (const UserNode& node : whole.nodes) {
    unsigned of = 0;
    if (node.op == UserOp::kArgument) of = 1u << node.operands[0];
    for (int i = 0; i < arity_of(node); ++i) of |= sides[static_cast<size_t>(node.operands[i])];
    sides.push_back(of);
  }
  std::vector<int32_t> of_a, of_b;
  SplitUserTimes split;
  const auto result = [](std::vector<int32_t>& results, int32_t node) {
    results.push_back(node);
    return static_cast<int32_t>(results.size()) - 1;
  };
  std::vector<int32_t> places(whole.nodes.size(), -1);
  // Returns the index of a node in the rest, and adds the node if needed.
  const auto place = [&](int32_t at) {
    int32_t& known = places[static_cast<size_t>(at)];
    if (known >= 0) return known;
    const UserNode& node = whole.nodes[static_cast<size_t>(at)];
    const unsigned of = sides[static_cast<size_t>(at)];
    UserNode leaf = node;
    if (of == 1) leaf = argument_of(UserSide::kA, result(of_a, at), node.type);
    if (of == 2) leaf = argument_of(UserSide::kB, result(of_b, at), node.type);
    return known = split.rest.add(leaf);
  };
  for (size_t at = 0; at < whole.nodes.size(); ++at) {
    if (sides[at] != 3) continue;
    UserNode node = whole.nodes[at];
    for (int i = 0; i < arity_of(node); ++i) node.operands[i] = place(node.operands[i]);
    places[at] = split.rest.add(node);
  }
  for (const int32_t result : whole.results) {
    int32_t at = place(result);
    if (sides[static_cast<size_t>(result)] < 2) {
      // The operands of ⊕ must be vectors.
      at = split.rest.add({UserOp::kBits, split.rest.nodes[static_cast<size_t>(at)].type, {at, 0, 0}, 0});
    }
    split.rest.results.push_back(at);
  }
  split.of_a = needed_of({whole.nodes, of_a});
  split.of_b = needed_of({whole.nodes, of_b});
  return split;
}

UserExpression step_of(const UserExpression& rest, const UserExpression& plus, const UserKernels& kernels) {
  // Copies of constants aren't folded: only a copy makes a vector of a constant.
  UserExpression whole = rest;
  const auto add = [&](const UserNode& node) { return whole.add(node); };
  const auto argument = [&](const UserNode& node) {
    if (node.operands[0] == 1) return rest.results[static_cast<size_t>(node.operands[1])];
    return add(argument_of(UserSide::kAcc, node.operands[1], node.type));
  };
  whole.results = rewrite(fold_constants(plus, kernels, unchanged), argument, add);
  return whole;
}

UserExpression of_vectors(const UserExpression& expression, const UserKernels& kernels) {
  return fold_constants(expression, kernels, [](const UserNode& node) {
    return argument_of(node.operands[0] == 0 ? UserSide::kB : UserSide::kAcc, node.operands[1], node.type);
  });
}

class UserProgram::Compiler {
 public:
  Compiler(UserProgram& program, const UserExpression& expression, const UserKernels& kernels, bool in_place)
      : program_(program),
        nodes_(expression.nodes),
        results_(expression.results),
        kernels_(kernels),
        in_place_(in_place),
        places_(nodes_.size()),
        last_use_(nodes_.size(), -1) {}

  void run() {
    for (size_t at = 0; at < nodes_.size(); ++at) {
      if (is_leaf(nodes_[at])) places_[at] = leaf(nodes_[at]);
    }
    order_nodes();
    find_last_uses();
    place_results();
    keep_lanes();
    for (size_t position = 0; position < order_.size(); ++position) emit(position);
    for (const Copy& copy : copies_) {
      emit_copy(lane_place(copy.lane), places_[static_cast<size_t>(resolved(copy.node))]);
    }
    program_.temporaries_ = slots_;
  }

 private:
  Reference leaf(const UserNode& node) {
    if (node.op == UserOp::kArgument) return {Reference::Kind::kLane, side_of(node), node.operands[1]};
    program_.constants_.push_back(node.bits);
    return {Reference::Kind::kConstant, {}, static_cast<int32_t>(program_.constants_.size()) - 1};
  }

  /// Returns the node whose block holds the value of `node`: a reinterpretation of bits shares its operand's block,
  /// unless the operand is a scalar.
  int32_t resolved(int32_t node) const {
    for (;;) {
      const UserNode& it = nodes_[static_cast<size_t>(node)];
      if (it.op != UserOp::kBits) return node;
      const int32_t source = resolved(it.operands[0]);
      return is_leaf(nodes_[static_cast<size_t>(source)]) && places_[static_cast<size_t>(source)].is_scalar() ? node
                                                                                                              : source;
    }
  }
  bool is_computed(int32_t node) const { return !is_leaf(nodes_[static_cast<size_t>(node)]) && resolved(node) == node; }
  Reference lane_place(int32_t lane) const {
    if (in_place_) return {Reference::Kind::kLane, UserSide::kAcc, lane};
    return {Reference::Kind::kOut, {}, lane};
  }
  bool uses_lane(int32_t node, int32_t lane) const {
    const UserNode& it = nodes_[static_cast<size_t>(node)];
    for (int i = 0; i < arity_of(it); ++i) {
      if (is_acc(resolved(it.operands[i]), lane)) return true;
    }
    return false;
  }
  bool is_acc(int32_t node, int32_t lane) const {
    const UserNode& it = nodes_[static_cast<size_t>(node)];
    return it.op == UserOp::kArgument && side_of(it) == UserSide::kAcc && it.operands[1] == lane;
  }

  /// Orders results that no other node reads last, each after the readers of the lane that it replaces, if possible.
  void order_nodes() {
    std::vector<bool> is_taken(nodes_.size(), false);
    for (size_t at = 0; at < nodes_.size(); ++at) {
      if (!is_computed(static_cast<int32_t>(at))) continue;
      for (int i = 0; i < arity_of(nodes_[at]); ++i)
        is_taken[static_cast<size_t>(resolved(nodes_[at].operands[i]))] = true;
    }
    std::vector<std::pair<int32_t, int32_t>> last;  // node and lane
    const auto is_last = [&](int32_t node) {
      return std::any_of(last.begin(), last.end(), [&](const auto& it) { return it.first == node; });
    };
    for (size_t lane = 0; in_place_ && lane < results_.size(); ++lane) {
      const int32_t node = resolved(results_[lane]);
      if (is_computed(node) && !is_taken[static_cast<size_t>(node)] && !is_last(node)) {
        last.emplace_back(node, static_cast<int32_t>(lane));
      }
    }
    for (size_t at = 0; at < nodes_.size(); ++at) {
      const auto node = static_cast<int32_t>(at);
      if (is_computed(node) && !is_last(node)) order_.push_back(node);
    }
    while (!last.empty()) {
      auto next = std::find_if(last.begin(), last.end(), [&](const auto& candidate) {
        return std::none_of(last.begin(), last.end(), [&](const auto& other) {
          return other.first != candidate.first && uses_lane(other.first, candidate.second);
        });
      });
      if (next == last.end()) next = last.begin();
      order_.push_back(next->first);
      last.erase(next);
    }
  }

  void find_last_uses() {
    for (size_t position = 0; position < order_.size(); ++position) {
      const UserNode& node = nodes_[static_cast<size_t>(order_[position])];
      for (int i = 0; i < arity_of(node); ++i) {
        const int32_t operand = resolved(node.operands[i]);
        last_use_[static_cast<size_t>(operand)] = static_cast<int64_t>(position);
      }
    }
  }

  /// Selects the results that are computed directly in their lanes.
  void place_results() {
    for (size_t index = 0; index < results_.size(); ++index) {
      const auto lane = static_cast<int32_t>(index);
      const int32_t node = resolved(results_[index]);
      if (in_place_ && is_acc(node, lane)) continue;
      const bool is_free = is_computed(node) && places_[static_cast<size_t>(node)].kind == Reference::Kind::kNone &&
                           (!in_place_ || is_replaceable(lane, node));
      if (is_free) {
        places_[static_cast<size_t>(node)] = lane_place(lane);
      } else {
        copies_.push_back({node, lane});
        if (is_computed(node)) last_use_[static_cast<size_t>(node)] = static_cast<int64_t>(order_.size());
      }
    }
  }

  /// Returns whether no node reads the lane of kAcc after `node` has been computed.
  bool is_replaceable(int32_t lane, int32_t node) const {
    const auto position = std::find(order_.begin(), order_.end(), node) - order_.begin();
    for (size_t at = 0; at < nodes_.size(); ++at) {
      if (is_acc(static_cast<int32_t>(at), lane) && last_use_[at] > position) return false;
    }
    for (size_t other = 0; other < results_.size(); ++other) {
      if (static_cast<int32_t>(other) != lane && is_acc(resolved(results_[other]), lane)) return false;
    }
    return true;
  }

  /// Copies lanes of kAcc that become other lanes, before any lane changes.
  void keep_lanes() {
    if (!in_place_) return;
    for (const Copy& copy : copies_) {
      const UserNode& node = nodes_[static_cast<size_t>(copy.node)];
      Reference& place = places_[static_cast<size_t>(copy.node)];
      if (node.op != UserOp::kArgument || side_of(node) != UserSide::kAcc || place.kind != Reference::Kind::kLane)
        continue;
      const Reference kept{Reference::Kind::kTemporary, {}, new_slot()};
      emit_copy(kept, place);
      kept_.emplace_back(copy.node, kept);
    }
  }

  int32_t new_slot() {
    if (!free_.empty()) {
      const int32_t slot = free_.back();
      free_.pop_back();
      return slot;
    }
    return static_cast<int32_t>(slots_++);
  }

  void emit(size_t position) {
    const int32_t at = order_[position];
    const UserNode& node = nodes_[static_cast<size_t>(at)];
    Step step{nullptr, {}, {}};
    std::array<int32_t, 3> operands{};
    for (int i = 0; i < arity_of(node); ++i) {
      operands[static_cast<size_t>(i)] = resolved(node.operands[i]);
      step.in[static_cast<size_t>(i)] = places_[static_cast<size_t>(operands[static_cast<size_t>(i)])];
    }
    const bool may_swap = is_commutative(node.op) || node.op == UserOp::kFma;
    if (may_swap && step.in[0].is_scalar() && !step.in[1].is_scalar()) std::swap(step.in[0], step.in[1]);
    unsigned scalars = 0;
    for (size_t i = 0; i < step.in.size(); ++i) scalars |= step.in[i].is_scalar() ? 1u << i : 0u;
    step.function = kernels_.loop(node.op, node.type, type_taken(nodes_, node), scalars);
    // The result may replace an operand that isn't needed any more: loops read before they write.
    for (int i = 0; i < arity_of(node); ++i) give_back(operands[static_cast<size_t>(i)], position);
    Reference& place = places_[static_cast<size_t>(at)];
    if (place.kind == Reference::Kind::kNone) place = {Reference::Kind::kTemporary, {}, new_slot()};
    step.out = place;
    program_.steps_.push_back(step);
  }

  void give_back(int32_t node, size_t position) {
    Reference& place = places_[static_cast<size_t>(node)];
    int64_t& last_use = last_use_[static_cast<size_t>(node)];
    if (place.kind != Reference::Kind::kTemporary || last_use != static_cast<int64_t>(position)) return;
    free_.push_back(place.index);
    last_use = -1;
  }

  void emit_copy(const Reference& to, Reference from) {
    if (to.kind == Reference::Kind::kLane) {
      for (const auto& [node, kept] : kept_) {
        const Reference& lane = places_[static_cast<size_t>(node)];
        if (lane.kind == from.kind && lane.side == from.side && lane.index == from.index) from = kept;
      }
    }
    const UserLoopFunction copy =
        kernels_.loop(UserOp::kBits, UserType::kUint32, UserType::kUint32, from.is_scalar() ? 1 : 0);
    program_.steps_.push_back({copy, to, {from}});
  }

  UserProgram& program_;
  const std::vector<UserNode>& nodes_;
  const std::vector<int32_t>& results_;
  const UserKernels& kernels_;
  const bool in_place_;
  std::vector<Reference> places_;  ///< by node
  std::vector<int64_t> last_use_;  ///< by node: the position of its last reader
  std::vector<int32_t> order_;     ///< nodes that are computed
  std::vector<Copy> copies_;
  std::vector<std::pair<int32_t, Reference>> kept_;
  std::vector<int32_t> free_;
  size_t slots_ = 0;
};

UserProgram::UserProgram(const UserExpression& expression, const UserKernels& kernels, bool in_place) {
  Compiler(*this, expression, kernels, in_place).run();
}

void UserProgram::bind(const UserFrame& frame, BoundUserProgram& bound) const {
  bound.calls_.clear();
  for (auto& side : bound.moving_) side.clear();
  bound.calls_.reserve(steps_.size());
  const int64_t block = frame.rows * frame.cols;
  const auto temporary = [&](int32_t index) { return frame.temporaries + index * block; };
  for (const Step& step : steps_) {
    bound.calls_.push_back({step.function, {nullptr, 0, {}, frame.rows, frame.cols}});
    UserLoop& loop = bound.calls_.back().loop;
    const auto index = static_cast<size_t>(step.out.index);
    if (step.out.kind == Reference::Kind::kTemporary) {
      loop.out = temporary(step.out.index);
      loop.out_stride = frame.cols;
    } else {
      loop.out = frame.out[index];
      loop.out_stride = frame.out_stride;
    }
    for (size_t i = 0; i < step.in.size(); ++i) {
      const Reference& from = step.in[i];
      const auto at = static_cast<size_t>(from.index);
      switch (from.kind) {
        case Reference::Kind::kNone:
          break;
        case Reference::Kind::kLane: {
          const UserFrame::Lane& lane = frame.lanes[static_cast<size_t>(from.side)][at];
          loop.in[i] = {lane.data, lane.stride};
          bound.moving_[static_cast<size_t>(from.side)].push_back(&loop.in[i].data);
          break;
        }
        case Reference::Kind::kTemporary:
          loop.in[i] = {temporary(from.index), frame.cols};
          break;
        case Reference::Kind::kOut:
          loop.in[i] = {frame.out[at], frame.out_stride};
          break;
        case Reference::Kind::kConstant:
          loop.in[i] = {&constants_[at], 0};
          break;
      }
    }
  }
}

void BoundUserProgram::run(int64_t steps, int64_t step_of_a, int64_t step_of_b) {
  for (int64_t step = 0; step < steps; ++step) {
    run();
    for (const uint32_t** from : moving_[static_cast<size_t>(UserSide::kA)]) *from += step_of_a;
    for (const uint32_t** from : moving_[static_cast<size_t>(UserSide::kB)]) *from += step_of_b;
  }
}

}  // namespace mpmml::cpu
