// What the laboratory asks of the CUDA backend: the time of a variant's kernel on operands that are made on the device,
// and how many of its threads a multiprocessor holds.
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
  int operand_sets;  ///< used in turn by the repetitions, so that no operand is still in the L2 cache
  double clock_mhz;  ///< of the multiprocessors, just after the last repetition
};

/// Throws Error: kVariant if the variant can't run this product, kOutOfMemory, kCuda.
Measurement measure(const MeasureRequest& request);

/// Table 2.1 of the thesis. The active counts are per multiprocessor.
struct Occupancy {
  int registers;     ///< per thread
  int shared_bytes;  ///< per block, static and dynamic
  int local_bytes;   ///< per thread: spilled registers
  int threads;       ///< per block
  int max_threads;   ///< the most that a block of this kernel may have
  int active_threads, active_warps, active_blocks;
  double percent;
};

/// Occupancy of the kernel `function`. All active counts are 0 if such a block can't run.
Occupancy occupancy(const void* function, int64_t threads, int dynamic_shared_bytes, int device);

/// The same for a variant, on the first of its paths.
Occupancy occupancy(const Variant& variant, int device);

/// For tests: a kernel that reads from where no memory is. Throws Error(kCuda), and CUDA can't be used any more.
void fault(int device);

}  // namespace mpmml::cuda
