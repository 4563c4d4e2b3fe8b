#include "cuda/user/splice.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

namespace mpmml::cuda {
namespace {

using Names = std::vector<std::string>;

std::string hexadecimal(uint32_t bits) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text(8, '0');
  for (int digit = 7; digit >= 0; --digit, bits >>= 4) text[digit] = kDigits[bits & 15];
  return text;
}

std::string literal(UserType type, uint32_t bits) {
  if (type == UserType::kFloat32) return "0f" + hexadecimal(bits);
  return type == UserType::kInt32 ? std::to_string(static_cast<int32_t>(bits)) : std::to_string(bits);
}

const char* suffix(UserType type) {
  switch (type) {
    case UserType::kInt32:
      return ".s32";
    case UserType::kUint32:
      return ".u32";
    case UserType::kFloat32:
      return ".f32";
    case UserType::kPredicate:
      return ".pred";
  }
  return "";
}

/// Instructions between braces, so that the names of registers are its own.
class Block {
 public:
  /// The results of an expression, whose arguments are in registers: for each side, those of its lanes.
  Names write(const UserExpression& expression, const std::vector<Names>& sides) {
    Names values;
    values.reserve(expression.nodes.size());
    for (const UserNode& node : expression.nodes) values.push_back(value_of(node, expression, values, sides));
    Names results;
    for (const int32_t result : expression.results) results.push_back(values[result]);
    return results;
  }

  /// `marks`, and `bit` of it too unless the condition holds.
  std::string mark(const std::string& marks, const std::string& bit, const std::string& condition) {
    const std::string result = word();
    add("mov.b32", {result, marks});
    add("@!" + condition + " add.u32", {result, result, bit});
    return result;
  }

  /// Those of them that are float32 with the bits of NaN that are stored.
  Names settle(const std::vector<UserType>& lanes, const Names& values) {
    Names settled = values;
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      if (lanes[lane] != UserType::kFloat32) continue;
      const std::string is_nan = predicate(), result = word();
      add("setp.nan.f32", {is_nan, values[lane], values[lane]});
      add("selp.b32", {result, literal(UserType::kUint32, kUserNan), values[lane], is_nan});
      settled[lane] = result;
    }
    return settled;
  }

  /// The block, which at its end moves results to registers. These may be some of those that it reads.
  std::string moving(const Names& results, const Names& to) {
    Names kept;
    for (const std::string& result : results) {
      kept.push_back(result);
      if (results.size() == 1 || result[0] == 'u') continue;
      kept.back() = word();
      add("mov.b32", {kept.back(), result});
    }
    for (size_t lane = 0; lane < to.size(); ++lane) add("mov.b32", {to[lane], kept[lane]});
    std::string block = "{\n";
    if (words_ > 0) block += ".reg .b32 u<" + std::to_string(words_) + ">;\n";
    if (predicates_ > 0) block += ".reg .pred q<" + std::to_string(predicates_) + ">;\n";
    return block + text_ + "}\n";
  }

 private:
  std::string word() { return "u" + std::to_string(words_++); }
  std::string predicate() { return "q" + std::to_string(predicates_++); }

  void add(const std::string& name, std::initializer_list<std::string> operands) {
    text_ += name;
    const char* before = " ";
    for (const std::string& operand : operands) {
      text_ += before + operand;
      before = ", ";
    }
    text_ += ";\n";
  }

  std::string value_of(const UserNode& node, const UserExpression& expression, const Names& values,
                       const std::vector<Names>& sides) {
    if (node.op == UserOp::kArgument) return sides[node.operands[0]][node.operands[1]];
    if (node.op == UserOp::kConstant) {
      const std::string result = word();
      add("mov.b32", {result, "0x" + hexadecimal(node.bits)});
      return result;
    }
    const bool is_predicate = node.type == UserType::kPredicate, is_float = node.type == UserType::kFloat32;
    const std::string result = is_predicate ? predicate() : word();
    const auto operand = [&](int index) { return values[node.operands[index]]; };
    const auto type_of = [&](int index) { return expression.nodes[node.operands[index]].type; };
    const auto one = [&](const std::string& name) { add(name, {result, operand(0)}); };
    const auto two = [&](const std::string& name) { add(name, {result, operand(0), operand(1)}); };
    const std::string type = suffix(node.type), bits = is_predicate ? ".pred" : ".b32",
                      rounding = is_float ? ".rn" : "";
    switch (node.op) {
      case UserOp::kAdd:
        two("add" + rounding + type);
        break;
      case UserOp::kSub:
        two("sub" + rounding + type);
        break;
      case UserOp::kMul:
        two((is_float ? "mul.rn" : "mul.lo") + type);
        break;
      case UserOp::kFma:
        add("fma.rn.f32", {result, operand(0), operand(1), operand(2)});
        break;
      case UserOp::kNeg:
        one(is_float ? "neg.f32" : "neg.s32");
        break;
      case UserOp::kAbs:
        one("abs" + type);
        break;
      case UserOp::kMin:
        two("min" + type);
        break;
      case UserOp::kMax:
        two("max" + type);
        break;
      case UserOp::kAnd:
        two("and" + bits);
        break;
      case UserOp::kOr:
        two("or" + bits);
        break;
      case UserOp::kXor:
        two("xor" + bits);
        break;
      case UserOp::kNot:
        one("not" + bits);
        break;
      case UserOp::kShiftLeft:
        two("shl.b32");
        break;
      case UserOp::kShiftRight:
        two("shr" + type);
        break;
      case UserOp::kPopcount:
        one("popc.b32");
        break;
      case UserOp::kEqual:
        two(std::string("setp.eq") + suffix(type_of(0)));
        break;
      case UserOp::kLess:
        two(std::string("setp.lt") + suffix(type_of(0)));
        break;
      case UserOp::kLessEqual:
        two(std::string("setp.le") + suffix(type_of(0)));
        break;
      case UserOp::kSelect:
        add("selp.b32", {result, operand(1), operand(2), operand(0)});
        break;
      case UserOp::kSqrt:
        one("sqrt.rn.f32");
        break;
      case UserOp::kToInt32:
      case UserOp::kToUint32:
        one(type_of(0) == UserType::kFloat32 ? "cvt.rzi" + type + ".f32" : "mov.b32");
        break;
      case UserOp::kToFloat32:
        one(type_of(0) == UserType::kFloat32 ? "mov.b32" : std::string("cvt.rn.f32") + suffix(type_of(0)));
        break;
      case UserOp::kBits:
        one("mov.b32");
        break;
      case UserOp::kArgument:
      case UserOp::kConstant:
      case UserOp::kExp:
      case UserOp::kExp2:
      case UserOp::kLog:
      case UserOp::kLog1p:
        throw std::logic_error(std::string(user_op_name(node.op)) + " has no instruction: lower() writes it in others");
    }
    return result;
  }

  std::string text_;
  int words_ = 0, predicates_ = 0;
};

/// What a hole says: its name, then registers.
struct Placeholder {
  std::string_view name;
  Names registers;
  size_t lanes;

  Placeholder(std::string_view line, size_t lane_count) : lanes(lane_count) {
    size_t end = std::min(line.find(' '), line.size());
    name = line.substr(0, end);
    while (end < line.size()) {
      const size_t first = end + 1;
      end = std::min(line.find(' ', first), line.size());
      registers.emplace_back(line.substr(first, end - first));
    }
  }

  /// Those of an element, if so many others come before all elements.
  Names element(size_t index, size_t before = 0) const {
    const auto first = registers.begin() + static_cast<std::ptrdiff_t>(before + index * lanes);
    return {first, first + static_cast<std::ptrdiff_t>(lanes)};
  }
};

std::string filled(const Placeholder& hole, const UserSemiring& semiring) {
  Block block;
  if (hole.name == "mark" || hole.name == "mark_always") {
    const SkipCondition& skips = semiring.skips.value();
    const bool is_always = hole.name == "mark_always";
    const std::optional<UserExpression>& condition = is_always ? skips.of_sum : skips.of_step;
    const std::string &marks = hole.registers[1], &bit = hole.registers[2];
    if (!condition) return block.moving({marks}, {hole.registers[0]});
    std::vector<Names> sides{hole.element(0, 3)};
    if (!is_always) sides.insert(sides.end(), {hole.element(1, 3), hole.element(2, 3)});
    return block.moving({block.mark(marks, bit, block.write(*condition, sides).front())}, {hole.registers[0]});
  }
  Names results;
  if (hole.name == "step") {
    const Names candidate = block.write(semiring.lowered_times, {hole.element(2), hole.element(3)});
    results = block.write(semiring.lowered_plus, {hole.element(1), candidate});
  } else if (hole.name == "plus") {
    results = block.write(semiring.lowered_plus, {hole.element(1), hole.element(2)});
  } else if (hole.name == "candidate") {
    results = block.settle(semiring.lanes, block.write(semiring.lowered_times, {hole.element(1), hole.element(2)}));
  } else if (hole.name == "settle") {
    results = block.settle(semiring.lanes, hole.element(1));
  } else {
    throw std::logic_error("a template has a hole that nobody knows: " + std::string(hole.name));
  }
  return block.moving(results, hole.element(0));
}

}  // namespace

std::string instantiate_template(std::string_view head, std::string_view kernel, const UserSemiring& semiring) {
  constexpr std::string_view kMark = "// @";
  std::string text(head);
  for (size_t at = 0; at < kernel.size();) {
    const size_t mark = std::min(kernel.find(kMark, at), kernel.size());
    text += kernel.substr(at, mark - at);
    if (mark == kernel.size()) break;
    const size_t first = mark + kMark.size(), end = std::min(kernel.find('\n', first), kernel.size());
    text += filled(Placeholder(kernel.substr(first, end - first), semiring.lane_count()), semiring);
    at = end;
  }
  return text;
}

int instructions_of_step(const UserSemiring& semiring) {
  return instructions_of(semiring.lowered_times) + instructions_of(semiring.lowered_plus);
}

int instructions_of_candidate(const UserSemiring& semiring) { return instructions_of(semiring.lowered_times); }

bool is_surely_associative(const UserSemiring& semiring) {
  const UserExpression& plus = semiring.lowered_plus;
  for (size_t lane = 0; lane < semiring.lane_count(); ++lane) {
    const UserNode& node = plus.nodes[plus.results[lane]];
    const bool is_float = semiring.lanes[lane] == UserType::kFloat32;
    const bool is_extremum = node.op == UserOp::kMin || node.op == UserOp::kMax;
    const bool is_of_bits = node.op == UserOp::kAnd || node.op == UserOp::kOr;
    const bool is_sum = node.op == UserOp::kAdd || node.op == UserOp::kXor;
    if (!is_extremum && (is_float || !(is_of_bits || is_sum))) return false;
    // Zero is taken once more for each part of K. A maximum or the like doesn't mind.
    if (is_sum && semiring.zero[lane] != 0) return false;
    const UserNode &x = plus.nodes[node.operands[0]], &y = plus.nodes[node.operands[1]];
    const auto is_own = [&](const UserNode& argument) {
      return argument.op == UserOp::kArgument && argument.operands[1] == static_cast<int32_t>(lane);
    };
    if (!is_own(x) || !is_own(y) || x.operands[0] == y.operands[0]) return false;
  }
  return true;
}

}  // namespace mpmml::cuda
