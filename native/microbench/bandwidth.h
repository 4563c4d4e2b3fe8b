// Bandwidths: how many bytes a second pass at each level of a GPU's memory, the sloped ceilings of a roofline.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace mpmml::microbench {

/// What a kernel is given. The pointers are device pointers; `source` and `target` have `buffer_bytes` each, where the
/// kernel asks for them.
struct BandwidthArguments {
  const void* source;
  void* target;
  int64_t buffer_bytes;
  int32_t rounds;
  int32_t stride;  ///< 32-bit words from one thread to the next
  uint32_t* results;
};

/// What of memory a buffer should fill.
enum class Buffer : uint8_t { kNone, kPartOfL2, kBeyondL2 };

/// A compiled kernel of kBandwidthThreads threads a block: a row that the generator writes from
/// native/variants/microbenchmarks.mjs.
struct Bandwidth {
  const char* name;
  const char* summary;
  const void* function;
  Buffer buffer;
  bool writes;  ///< a buffer of the same size
  int32_t rounds;
  /// Bytes that `threads` threads read and write in a launch, as far as the program asks for them.
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
  int64_t bytes;         ///< of a launch
  int64_t buffer_bytes;  ///< that they lie in
  double clock_mhz;      ///< of the multiprocessors, just after the last repetition
  int multiprocessors;
};

/// Throws Error: kVariant for a name that doesn't exist, kOutOfMemory, kCuda.
BandwidthResult run(const BandwidthRequest& request);

}  // namespace mpmml::microbench
