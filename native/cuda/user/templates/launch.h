// Arguments of the kernels for custom semirings: plain data, for host and device code.
#pragma once
#include <cstdint>

#include "core/problem/structure.h"

namespace mpmml::cuda {

constexpr int kMaxLanes = 4;

/// An operand: element (k, line) of a lane is data[k · pitch + line · line_stride], where lines are rows of A or
/// columns of B. Kernels with packed operands copy 16 bytes of neighbouring lines at a time: then line_stride must be
/// 1, and pitch, batch_stride and the address must be multiples of 16 bytes.
struct UserOperand {
  const uint32_t* data[kMaxLanes];
  int64_t pitch[kMaxLanes], line_stride[kMaxLanes], batch_stride[kMaxLanes];
};

/// A matrix of results with separate strides for each lane. data[0] is null if the output isn't requested.
struct UserResult {
  uint32_t* data[kMaxLanes];
  int64_t row_stride[kMaxLanes], col_stride[kMaxLanes], batch_stride[kMaxLanes];
};

struct UserLaunch {
  int m, n, k;  ///< at most kMaxUserSide
  int tiles_m, tiles_n;
  int64_t first_block;  ///< index of the launch's first block; blocks are ordered by instance, then by tile
  UserOperand a, b;
  UserResult c0, c;
  Structure structure;
  bool is_structured;  ///< whether the structure excludes any element
  uint32_t zero[kMaxLanes];
  int32_t* witness;
  int64_t witness_row_stride, witness_col_stride, witness_batch_stride;
};

/// Limit of sizes. Bounds of bands are clamped to it, so that sums of two of them fit int32.
constexpr int kMaxUserSide = 1 << 29;

}  // namespace mpmml::cuda
