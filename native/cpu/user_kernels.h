// The loops of custom semirings (core/user/semiring.h), for each instruction set. All elements have 32 bits, and
// predicates are 0 or −1.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "core/user/semiring.h"

namespace mpmml::cpu {

/// Rows are multiples of this: whole vectors of every instruction set.
constexpr int64_t kUserAlignment = 16;

/// One operation on a block: out = op(in[0], in[1], in[2]), element by element. Rows of `out` and of operands are
/// `cols` elements that begin `stride` elements after each other. A scalar operand has one element per row.
struct UserLoop {
  uint32_t* out;
  int64_t out_stride;
  struct Operand {
    const uint32_t* data;
    int64_t stride;
  } in[3];
  int64_t rows, cols;  ///< cols: a multiple of kUserAlignment
};
using UserLoopFunction = void (*)(const UserLoop& loop);

/// Shape of the tile of a UserTileFunction.
constexpr int64_t kUserTileRows = 8, kUserTileCols = 48;

/// acc = acc ⊕ (a ⊗ b) for `steps` steps, where ⊕ and ⊗ are single operations. Per step `a` has kUserTileRows elements
/// and `b` kUserTileCols; `acc` is a tile of kUserTileRows rows.
using UserTileFunction = void (*)(const uint32_t* a, const uint32_t* b, uint32_t* acc, int64_t steps);

/// ⊗ as one operation, which may be the magnitude of a difference.
struct UserTimes {
  UserOp op;
  bool is_magnitude;  ///< |x op y|
};

struct UserKernels {
  const char* isa;
  /// Returns the loop of an operation that isn't an argument, a constant or lowered, or null if no expression needs it.
  /// Bit i of `scalars` marks operand i as a scalar. Operands have type `takes` (the values, for a selection). kBits
  /// copies.
  UserLoopFunction (*loop)(UserOp op, UserType gives, UserType takes, unsigned scalars);
  /// Returns the tile function of this pair, or null if there is none.
  UserTileFunction (*tile)(UserType type, UserOp plus, UserTimes times);
};

/// Kernels for each instruction set of the build. The generator writes this function.
const std::vector<UserKernels>& user_kernels();

/// Returns the kernels of the chosen instruction set (machine.h).
const UserKernels& chosen_user_kernels();

}  // namespace mpmml::cpu
