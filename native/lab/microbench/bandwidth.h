// Bandwidths: how many bytes per second each level of a GPU's memory passes. They are the sloped ceilings of a
// roofline.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace mpmml::microbench {

/// The arguments of a kernel. The pointers are device pointers. `source` and `target` have `buffer_bytes` each, if the
/// kernel asks for them.
struct BandwidthArguments {
  const void* source;
  void* target;
  int64_t buffer_bytes;
  int32_t rounds;
  int32_t stride;  ///< 32-bit words from one thread to the next
  uint32_t* results;
};

/// How large a buffer should be, relative to the L2 cache.
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
  /// The bytes that `threads` threads ask to read and write in a launch.
  int64_t (*bytes)(const BandwidthArguments&, int64_t threads);
};

constexpr int kBandwidthThreads = 256;

/// The bandwidths in the table's order.
const std::vector<Bandwidth>& bandwidths();

struct BandwidthRequest {
  std::string name;
  int32_t stride;
  int repetitions, warmup, device;
};

struct BandwidthResult {
  std::vector<double> ms;
  int64_t bytes;         ///< per launch
  int64_t buffer_bytes;  ///< of the buffer that they are in
  double clock_mhz;      ///< of the multiprocessors, just after the last repetition
  int multiprocessors;
};

/// Throws Error: kVariant if there is no such name, kOutOfMemory, kCuda.
BandwidthResult run(const BandwidthRequest& request);

}  // namespace mpmml::microbench
