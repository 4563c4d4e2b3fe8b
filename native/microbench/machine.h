// What machines do with the microbenchmarks: throughputs by compute capability, and the instructions that ptxas makes of
// a step.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "microbench/microbench.h"

namespace mpmml::microbench {

/// Results a clock and multiprocessor; 0 where there is no such instruction, or where nothing is known.
struct Peak {
  int capability;  ///< 90 is 9.0
  int add, minmax, multiply_add;
  int fused, packed;
  int issue;  ///< lanes that the schedulers issue instructions to
  int cores;  ///< CUDA cores, by which a "theoretical machine peak" is usually given
};

/// Peaks by compute capability, ascending.
const std::vector<Peak>& peaks();

/// The instructions of a thread and iteration that do the counted operations, by opcode without its suffixes (but for those
/// of packed ones), as they were found in the machine code for sm_52, 61, 70, 75, 80, 89, 90, 100 and 120;
/// test/gpu/microbench.test.ts looks at that of the GPU it runs on. Empty where nobody has looked.
std::map<std::string, double> instructions(const Instance& instance, int capability);

/// The most operations a clock and multiprocessor for such instructions, and why; 0 where that isn't known.
struct Ceiling {
  double operations_per_clock;
  std::string reason;
};
Ceiling ceiling(const std::map<std::string, double>& instructions, double operations, int capability);

}  // namespace mpmml::microbench
