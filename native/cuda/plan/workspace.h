// How much device memory a product of host matrices needs. It is computed before anything is allocated, from what the
// kernels report that they pack.
#pragma once
#include "core/problem/problem.h"
#include "cuda/launch/kernel.h"
#include "cuda/plan/block_partition.h"

namespace mpmml::cuda {

/// The operands as they are, C0 included, one after the other; C; and all of them with further results.
int64_t operand_bytes(const Problem& problem);
int64_t result_bytes(const Problem& problem);
int64_t matrix_bytes(const Problem& problem);

/// The operands that are stored as int16 as elements, if the kernel reads only those.
int64_t widened_bytes(const Problem& problem, const Kernel& kernel);

/// The forms that the kernel needs of copies of the operands, which are cut like that.
int64_t packed_bytes(const Problem& problem, const BlockPartition& cut, const Plan& plan, const Kernel& kernel);

/// At least as many bytes as a product needs with any kernel, computed from the sizes only.
int64_t estimate_workspace_bytes(const Problem& problem);

}  // namespace mpmml::cuda
