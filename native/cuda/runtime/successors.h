// Queues the search for next nodes by the distances (kernels/successors.cuh).
#pragma once
#include <cuda_runtime_api.h>

#include "core/session/session.h"

namespace mpmml::cuda {

/// So many rows of `next` are found by one block of threads.
constexpr int64_t kRowsTogether = 8;

/// What Session::find_next_nodes() says.
void find_next_nodes(const NextNodes& successors, cudaStream_t stream);

}  // namespace mpmml::cuda
