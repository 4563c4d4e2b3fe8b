// Queues the search for next nodes from distances (kernels/successors.cuh).
#pragma once
#include <cuda_runtime_api.h>

#include "core/session/session.h"

namespace mpmml::cuda {

/// Number of rows of `next` per thread block.
constexpr int64_t kRowsTogether = 8;

/// Queues the work of Session::find_next_nodes().
void find_next_nodes(const NextNodes& successors, cudaStream_t stream);

}  // namespace mpmml::cuda
