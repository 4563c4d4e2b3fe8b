// Measurements of the laboratory on the CUDA backend: the time of a variant's kernel on operands that are generated on
// the device, and its occupancy.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/variant.h"

namespace mpmml::cuda {

struct MeasureRequest {
  const Variant* variant;
  int64_t m, n, k, batch;
  int repetitions, warmup, device;
  int32_t minimum, maximum;  ///< finite values are drawn evenly from this range
  double zero_fraction;      ///< share of the elements that are the semiring's zero
  uint64_t seed;
};

/// Milliseconds, one for each repetition.
struct Measurement {
  std::vector<double> kernel, prepare, analysis;
  ArithmeticKind path;
  int operand_sets;  ///< sets that repetitions alternate, so that no operand is in the L2 cache
  double clock_mhz;  ///< clock of the multiprocessors, just after the last repetition
};

/// Measures a kernel. Throws Error: kVariant if the variant can't run this product, kOutOfMemory, kCuda.
Measurement measure(const MeasureRequest& request);

/// Table 2.1 of the thesis. The active counts are per multiprocessor.
struct Occupancy {
  int registers;     ///< per thread
  int shared_bytes;  ///< per block, static and dynamic
  int local_bytes;   ///< per thread: spilled registers
  int threads;       ///< per block
  int max_threads;   ///< maximum per block of this kernel
  int active_threads, active_warps, active_blocks;
  double percent;
};

/// Returns the occupancy of the kernel `function`. All active counts are 0 if such a block can't run.
Occupancy occupancy(const void* function, int64_t threads, int dynamic_shared_bytes, int device);

/// Returns the occupancy of a variant with the first of its arithmetics.
Occupancy occupancy(const Variant& variant, int device);

/// For tests: runs a kernel that reads an invalid address. Throws Error(kCuda) and makes CUDA unusable in this process.
void fault(int device);

}  // namespace mpmml::cuda
