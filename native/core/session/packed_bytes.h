// Count of the memory that GPUs keep in addition to matrices, for tests.
#pragma once
#include <atomic>
#include <cstdint>

namespace mpmml {

/// Size of the packed forms of all matrices that stay on GPUs, in bytes.
inline std::atomic<int64_t> packed_bytes{0};

}  // namespace mpmml
