// What GPUs do with the microbenchmarks: throughputs by compute capability, and the instructions that ptxas makes of a
// step.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lab/microbench/microbench.h"

namespace mpmml::microbench {

/// Results per clock and multiprocessor; 0 if there is no such instruction, or if nothing is known.
struct Peak {
  int capability;  ///< 90 is 9.0
  int add, minmax, multiply_add;
  int fused, packed;
  int issue;   ///< lanes that the schedulers issue instructions to
  int cores;   ///< CUDA cores, by which a "theoretical machine peak" is usually given
  int tensor;  ///< operations of tensor cores on dense bfloat16, two per multiply-add

  std::string version() const { return std::to_string(capability / 10) + "." + std::to_string(capability % 10); }
};

/// Peaks by compute capability, ascending.
const std::vector<Peak>& peaks();

/// The instructions per thread and iteration that do the counted operations, by opcode without suffixes (except those
/// of packed ones). They were found in the machine code for sm_52, 61, 70, 75, 80, 89, 90, 100 and 120;
/// test/gpu/microbench.test.ts checks that of the GPU that it runs on. Empty if nothing is known.
std::map<std::string, double> instructions(const Instance& instance, int capability);

/// The most operations per clock and multiprocessor for such instructions, and why; 0 if that isn't known.
struct Ceiling {
  double operations_per_clock;
  std::string reason;
};
Ceiling ceiling(const std::map<std::string, double>& instructions, double operations, int capability);

}  // namespace mpmml::microbench
