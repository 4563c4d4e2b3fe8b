// Machine model of the microbenchmarks: instruction throughputs by compute capability, and the instructions that ptxas
// generates for a step.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lab/microbench/microbench.h"

namespace mpmml::microbench {

/// Peak results per clock and multiprocessor; 0 if the instruction doesn't exist or its rate is unknown.
struct Peak {
  int capability;  ///< 90 is 9.0
  int add, minmax, multiply_add;
  int fused, packed;
  int issue;   ///< issue rate of the schedulers in lanes
  int cores;   ///< CUDA cores, the usual basis of a "theoretical machine peak"
  int tensor;  ///< operations of tensor cores on dense bfloat16, two per multiply-add

  std::string version() const { return std::to_string(capability / 10) + "." + std::to_string(capability % 10); }
};

/// Returns the peaks by compute capability, ascending.
const std::vector<Peak>& peaks();

/// Returns the instructions per thread and iteration that compute the counted operations, by opcode without suffixes
/// (except those of packed opcodes); empty if unknown. The counts are from the machine code for sm_52, 61, 70, 75, 80,
/// 89, 90, 100 and 120; test/gpu/microbench.test.ts verifies the machine code of the test machine's GPU.
std::map<std::string, double> instructions(const Instance& instance, int capability);

/// Peak of operations per clock and multiprocessor for given instructions, with its limiting factor; 0 if unknown.
struct Ceiling {
  double operations_per_clock;
  std::string reason;
};
Ceiling ceiling(const std::map<std::string, double>& instructions, double operations, int capability);

}  // namespace mpmml::microbench
