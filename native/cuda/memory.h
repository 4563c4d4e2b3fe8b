// Device memory, and what a call needs to run on a device: a stream, events, and a little pinned memory.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace mpmml::cuda {

/// Memory of the current device, taken from and given back to a pool in the order of a stream.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(int64_t bytes, int device, cudaStream_t stream);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }

  void* get() const { return data_; }

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

/// A stream with its events. Calls that run at the same time have one each; idle ones are kept for the next call.
class Lane {
 public:
  static constexpr int kMarks = 7;
  static constexpr int kResultBytes = 256;

  explicit Lane(int device);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  cudaStream_t stream() const { return stream_; }
  int device() const { return device_; }

  /// Records point `mark` of the stream.
  void mark(int mark);
  /// Milliseconds between two points that the stream has passed.
  double elapsed(int from, int to) const;
  void synchronize();

  /// Pinned memory of kResultBytes for small results of kernels.
  void* results() const { return results_; }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t marks_[kMarks] = {};
  void* results_ = nullptr;
};

/// Gives the lane back when it goes out of scope, once its stream is idle.
struct LaneReturn {
  void operator()(Lane* lane) const;
};
using LaneHandle = std::unique_ptr<Lane, LaneReturn>;

/// An idle lane of `device`, which is made current for this thread.
LaneHandle take_lane(int device);

/// Bytes of device memory that a new product can have: what is free, and what the pool holds unused.
int64_t available_bytes(int device);

}  // namespace mpmml::cuda
