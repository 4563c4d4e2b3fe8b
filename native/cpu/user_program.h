// An expression of a semiring of one's own as loops over blocks (user_kernels.h): a vector interpreter, whose cost per operation is
// that of one pass over a block in the first-level cache.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "cpu/user_kernels.h"

namespace mpmml::cpu {

/// Whose lanes arguments of a program's expression are. Those of A are scalars, one per row.
enum class UserSide : uint8_t { kA, kB, kAcc };
constexpr size_t kUserSides = 3;

/// What a program reads and writes. Where it isn't used, data is null.
struct UserFrame {
  struct Lane {
    const uint32_t* data;
    int64_t stride;  ///< from row to row
  };
  std::array<std::vector<Lane>, kUserSides> lanes{};
  std::vector<uint32_t*> out{};  ///< one per result; of a program in place, those of kAcc
  int64_t out_stride = 0;
  uint32_t* temporaries = nullptr;  ///< UserProgram::temporaries() blocks of rows × cols
  int64_t rows = 0, cols = 0;
};

/// Loops with everything that they need.
class BoundUserProgram {
 public:
  void run() const {
    for (const Call& call : calls_) call.function(call.loop);
  }
  /// The same for so many steps of K. From step to step those of A and B are that many elements further.
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
  /// `expression` is lowered. `in_place`: results become the lanes of kAcc, of which there are as many.
  UserProgram(const UserExpression& expression, const UserKernels& kernels, bool in_place);

  /// How many blocks for values in between it needs.
  size_t temporaries() const { return temporaries_; }
  /// How many loops it is.
  size_t size() const { return steps_.size(); }

  /// The program must outlive what this gives, and so must `frame`'s memory.
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

/// The parts of ⊗ that depend only on A's elements or only on B's, which are computed once per element, and what is left.
struct SplitUserTimes {
  UserExpression of_a, of_b;  ///< their results are the lanes of A and B that the rest takes
  UserExpression rest;        ///< no result of it is a lane of A or a constant
};
SplitUserTimes split_times(const UserExpression& times, const UserKernels& kernels);

/// acc ⊕ what `rest` gives, as an expression of A, B and kAcc.
UserExpression step_of(const UserExpression& rest, const UserExpression& plus, const UserKernels& kernels);

/// ⊕ or ⊗ of two vectors: x is of kB, y of kAcc.
UserExpression of_vectors(const UserExpression& expression, const UserKernels& kernels);

}  // namespace mpmml::cpu
