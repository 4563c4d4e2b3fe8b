// Device memory of products of host matrices, computed before any allocation from the kernels' packed_bytes.
#pragma once
#include "core/problem/problem.h"
#include "cuda/launch/kernel.h"
#include "cuda/plan/block_partition.h"

namespace mpmml::cuda {

/// Bytes of the unpacked matrices: operands and C0; C; and all of them with auxiliary outputs.
int64_t operand_bytes(const Problem& problem);
int64_t result_bytes(const Problem& problem);
int64_t matrix_bytes(const Problem& problem);

/// Bytes of int16 operands converted to the element type, if the kernel requires it.
int64_t widened_bytes(const Problem& problem, const Kernel& kernel);

/// Bytes of the packed forms that the kernel needs of the operands' copies, partitioned as in `cut`.
int64_t packed_bytes(const Problem& problem, const BlockPartition& cut, const Plan& plan, const Kernel& kernel);

/// Returns an upper bound of the bytes that a product needs with any kernel, from the sizes only.
int64_t estimate_workspace_bytes(const Problem& problem);

}  // namespace mpmml::cuda
