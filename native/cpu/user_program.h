// An expression of a custom semiring as loops over blocks (user_kernels.h): a vector interpreter, whose cost per
// operation is one pass over a block in the first-level cache.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "cpu/user_kernels.h"

namespace mpmml::cpu {

/// Matrix whose lanes the arguments of a program's expression are. Lanes of A are scalars, one per row.
enum class UserSide : uint8_t { kA, kB, kAcc };
constexpr size_t kUserSides = 3;

/// Inputs and outputs of a program. The data of unused lanes is null.
struct UserFrame {
  struct Lane {
    const uint32_t* data;
    int64_t stride;  ///< from row to row
  };
  std::array<std::vector<Lane>, kUserSides> lanes{};
  std::vector<uint32_t*> out{};  ///< one per result; for a program in place, the lanes of kAcc
  int64_t out_stride = 0;
  uint32_t* temporaries = nullptr;  ///< UserProgram::temporaries() blocks of rows × cols
  int64_t rows = 0, cols = 0;
};

/// Loops of a program with the addresses of their operands.
class BoundUserProgram {
 public:
  void run() const {
    for (const Call& call : calls_) call.function(call.loop);
  }
  /// Runs the loops for `steps` steps of K. From step to step, the operands of A and B advance by `step_of_a` and
  /// `step_of_b` elements.
  void run(int64_t steps, int64_t step_of_a, int64_t step_of_b);

 private:
  friend class UserProgram;
  struct Call {
    UserLoopFunction function;
    UserLoop loop;
  };
  std::vector<Call> calls_;
  std::array<std::vector<const uint32_t**>, kUserSides> moving_;  ///< operands of each side
};

class UserProgram {
 public:
  /// Compiles a lowered expression. With `in_place`, the results become the lanes of kAcc, which must be as many.
  UserProgram(const UserExpression& expression, const UserKernels& kernels, bool in_place);

  /// Number of blocks for temporaries.
  size_t temporaries() const { return temporaries_; }
  /// Number of loops.
  size_t size() const { return steps_.size(); }

  /// Binds the loops to the memory of `frame`. The program and the memory must outlive `bound`.
  void bind(const UserFrame& frame, BoundUserProgram& bound) const;

 private:
  struct Reference {
    enum class Kind : uint8_t { kNone, kLane, kTemporary, kOut, kConstant } kind = Kind::kNone;
    UserSide side{};
    int32_t index = 0;
    bool is_scalar() const { return kind == Kind::kConstant || (kind == Kind::kLane && side == UserSide::kA); }
  };
  struct Step {
    UserLoopFunction function;
    Reference out;
    std::array<Reference, 3> in;
  };
  class Compiler;

  std::vector<Step> steps_;
  std::vector<uint32_t> constants_;
  size_t temporaries_ = 0;
};

/// ⊗ divided into the parts that depend only on elements of A or only on elements of B, which are computed once per
/// element, and the remaining expression.
struct SplitUserTimes {
  UserExpression of_a, of_b;  ///< their results are the lanes of A and B that the rest takes
  UserExpression rest;        ///< no result of it is a lane of A or a constant
};
SplitUserTimes split_times(const UserExpression& times, const UserKernels& kernels);

/// Returns acc ⊕ the result of `rest`, as an expression of A, B and kAcc.
UserExpression step_of(const UserExpression& rest, const UserExpression& plus, const UserKernels& kernels);

/// ⊕ or ⊗ of two vectors: x is of kB, y of kAcc.
UserExpression of_vectors(const UserExpression& expression, const UserKernels& kernels);

}  // namespace mpmml::cpu
