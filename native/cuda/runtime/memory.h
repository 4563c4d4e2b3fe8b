// Memory of a device, and pinned memory of the host.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <utility>

#include "core/problem/layout.h"

namespace mpmml::cuda {

/// Memory of a device. It is taken from a pool, and given back to it, in the order of a stream.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// Other devices can read it directly only if it `is_for_peers`. That makes each allocation take longer. If the device has
  /// no room, packed forms of matrices are dropped. Throws Error(kOutOfMemory).
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

/// Memory that is taken at once and given out in pieces, to work in one stream.
class ScratchArena {
 public:
  ScratchArena() = default;
  ScratchArena(int64_t bytes, int device, cudaStream_t stream);

  /// What a piece takes of the room.
  static constexpr int64_t piece(int64_t bytes) { return round_up(bytes, kMatrixAlignment); }
  /// Null if no bytes are asked for. Throws if there is no room left for them: then it was counted wrong.
  void* take(int64_t bytes);
  /// The next pieces are where those before were.
  void begin_again() { used_ = 0; }

 private:
  DeviceBuffer buffer_;
  int64_t bytes_ = 0, used_ = 0;
};

/// Lets the device `reader` access what is taken for peers on `owner`. Returns whether there is a pool for that.
bool open_pool_to(int owner, int reader);

/// Allocates pinned memory that every device can copy. `device` is one that is in use. Throws Error.
void* allocate_pinned(int64_t bytes, int device);
/// Frees memory of allocate_pinned(bytes, …).
void free_pinned(void* memory, int64_t bytes);

/// Bytes of device memory: what is free, what the library's pool holds, and what the device has.
struct DeviceMemory {
  int64_t free, pooled, total;
};
DeviceMemory device_memory(int device);

}  // namespace mpmml::cuda
