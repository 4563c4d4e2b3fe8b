// What the kernels of products over semirings of one's own are called with: plain data, for the host and for GPUs.
#pragma once
#include <cstdint>

#include "core/problem/structure.h"

namespace mpmml::cuda {

constexpr int kMaxLanes = 4;

/// An operand: element (k, line) of a lane is data[k · pitch + line · line_stride], where lines are rows of A or columns of B.
/// Kernels that aren't direct copy 16 bytes of neighbouring lines at a time: then line_stride is 1, and pitch, batch_stride and
/// the address are multiples of that.
struct UserOperand {
  const uint32_t* data[kMaxLanes];
  int64_t pitch[kMaxLanes], line_stride[kMaxLanes], batch_stride[kMaxLanes];
};

/// A matrix of results, each lane with strides of its own. data[0] is null if it isn't there.
struct UserResult {
  uint32_t* data[kMaxLanes];
  int64_t row_stride[kMaxLanes], col_stride[kMaxLanes], batch_stride[kMaxLanes];
};

struct UserLaunch {
  int m, n, k;  ///< at most kMaxUserSide
  int tiles_m, tiles_n;
  int64_t first_block;  ///< blocks are numbered by instance, then by tile; a launch may be a part of them
  UserOperand a, b;
  UserResult c0, c;
  Structure structure;
  bool is_structured;  ///< whether that leaves any element out
  uint32_t zero[kMaxLanes];
  int32_t* witness;
  int64_t witness_row_stride, witness_col_stride, witness_batch_stride;
};

/// Bounds of bands are cut to this, and sums of two are still numbers of 32 bits.
constexpr int kMaxUserSide = 1 << 29;

}  // namespace mpmml::cuda
