// The loops of semirings of one's own (core/user/semiring.h), for each instruction set. All elements have 32 bits, and predicates
// are 0 or −1.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "core/user/semiring.h"

namespace mpmml::cpu {

/// Rows are multiples of this: whole vectors of every instruction set.
constexpr int64_t kUserGranule = 16;

/// One operation on a block: out = op(in[0], in[1], in[2]), element by element. Rows of `out` and of operands are `cols` elements
/// that begin `stride` elements after each other. A scalar operand has one element per row.
struct UserLoop {
  uint32_t* out;
  int64_t out_stride;
  struct Operand {
    const uint32_t* data;
    int64_t stride;
  } in[3];
  int64_t rows, cols;  ///< cols: a multiple of kUserGranule
};
using UserLoopFunction = void (*)(const UserLoop& loop);

/// The shape of what UserTileFunction folds.
constexpr int64_t kUserTileRows = 8, kUserTileCols = 48;

/// acc = acc ⊕ (a ⊗ b) for so many steps, if both are one operation. Per step `a` has kUserTileRows elements and `b`
/// kUserTileCols; `acc` is a tile of kUserTileRows rows.
using UserTileFunction = void (*)(const uint32_t* a, const uint32_t* b, uint32_t* acc, int64_t steps);

/// What ⊗ does in one operation, which may be the magnitude of a difference.
struct UserTimes {
  UserOp op;
  bool is_magnitude;  ///< |x op y|
};

struct UserKernels {
  const char* isa;
  /// The loop of an operation that isn't an argument, a constant or lowered; bit i of `scalars`: operand i is a scalar. Operands have
  /// type `takes` (of a selection its values). kBits copies. Null: there is none, because nothing needs it.
  UserLoopFunction (*loop)(UserOp op, UserType gives, UserType takes, unsigned scalars);
  /// Null if there is none for this pair.
  UserTileFunction (*tile)(UserType type, UserOp plus, UserTimes times);
};

/// One for each instruction set of the build. The generator writes it.
const std::vector<UserKernels>& user_kernels();

/// Those of the instruction set that products take.
const UserKernels& chosen_user_kernels();

}  // namespace mpmml::cpu
