// Bandwidth benchmarks: bytes per second of each level of a GPU's memory hierarchy, the sloped limits of a roofline.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace mpmml::microbench {

/// Arguments of a kernel. The pointers are device pointers. `source` and `target` have `buffer_bytes` bytes each, if
/// the kernel uses them.
struct BandwidthArguments {
  const void* source;
  void* target;
  int64_t buffer_bytes;
  int32_t rounds;
  int32_t stride;  ///< 32-bit words from one thread to the next
  uint32_t* results;
};

/// Size of a buffer relative to the L2 cache.
enum class Buffer : uint8_t { kNone, kPartOfL2, kBeyondL2 };

/// A compiled kernel of kBandwidthThreads threads per block: a row that the generator writes from
/// native/variants/microbenchmarks.mjs.
struct Bandwidth {
  const char* name;
  const char* summary;
  const void* function;
  Buffer buffer;
  bool writes;  ///< whether it writes a buffer of the same size
  int32_t rounds;
  /// Returns the bytes that `threads` threads request to read and write in a launch.
  int64_t (*bytes)(const BandwidthArguments&, int64_t threads);
};

constexpr int kBandwidthThreads = 256;

/// Returns the bandwidth benchmarks in the table's order.
const std::vector<Bandwidth>& bandwidths();

struct BandwidthRequest {
  std::string name;
  int32_t stride;
  int repetitions, warmup, device;
};

struct BandwidthResult {
  std::vector<double> ms;
  int64_t bytes;         ///< per launch
  int64_t buffer_bytes;  ///< size of the buffer
  double clock_mhz;      ///< of the multiprocessors, just after the last repetition
  int multiprocessors;
};

/// Runs a bandwidth benchmark. Throws Error: kVariant if the name doesn't exist, kOutOfMemory, kCuda.
BandwidthResult run(const BandwidthRequest& request);

}  // namespace mpmml::microbench
