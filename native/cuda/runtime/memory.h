// Device memory, and pinned host memory.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <utility>

#include "core/problem/layout.h"

namespace mpmml::cuda {

/// Device memory with stream-ordered allocation from a pool.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// Allocates memory. If `is_for_peers`, other devices can read it directly, which makes the allocation slower. Drops
  /// cached packings of matrices if the device has too little memory. Throws Error(kOutOfMemory).
  DeviceBuffer(int64_t bytes, int device, cudaStream_t stream, bool is_for_peers = false);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }

  void* get() const { return data_; }
  cudaStream_t stream() const { return stream_; }

 private:
  void swap(DeviceBuffer& other) {
    std::swap(data_, other.data_);
    std::swap(stream_, other.stream_);
    std::swap(pooled_, other.pooled_);
  }

  void* data_ = nullptr;
  cudaStream_t stream_ = nullptr;
  bool pooled_ = false;
};

/// Bump allocator on one device allocation, for work in one stream.
class ScratchArena {
 public:
  ScratchArena() = default;
  ScratchArena(int64_t bytes, int device, cudaStream_t stream);

  /// Returns the bytes of the arena that a piece takes, including its alignment.
  static constexpr int64_t piece(int64_t bytes) { return round_up(bytes, kMatrixAlignment); }
  /// Returns the next piece; null for 0 bytes. Throws if the arena is too small, which means that the workspace was
  /// miscounted.
  void* take(int64_t bytes);
  /// Restarts allocation at the beginning of the arena, so that the next pieces overlap earlier ones.
  void begin_again() { used_ = 0; }

 private:
  DeviceBuffer buffer_;
  int64_t bytes_ = 0, used_ = 0;
};

/// Grants the device `reader` access to the pool for peers of `owner`. Returns whether that pool exists.
bool open_pool_to(int owner, int reader);

/// Allocates pinned memory that every device can copy. `device` is a device in use. Throws Error.
void* allocate_pinned(int64_t bytes, int device);
/// Frees memory of allocate_pinned(bytes, …).
void free_pinned(void* memory, int64_t bytes);

/// Device memory in bytes: free, unused in the library's pool, and total.
struct DeviceMemory {
  int64_t free, pooled, total;
};
DeviceMemory device_memory(int device);

}  // namespace mpmml::cuda
