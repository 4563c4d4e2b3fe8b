// Counter of the GPU memory for cached formats of matrices, for tests.
#pragma once
#include <atomic>
#include <cstdint>

namespace mpmml {

/// Size of the cached packed formats of all GPU-resident matrices in bytes.
inline std::atomic<int64_t> packed_bytes{0};

}  // namespace mpmml
