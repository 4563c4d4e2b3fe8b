#include "lab/microbench/machine.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mpmml::microbench {

// CUDA C++ Programming Guide, "Arithmetic Instructions", table "Throughput of Native Arithmetic Instructions": rows
// "32-bit integer add", "compare, minimum, maximum", "32-bit integer multiply-add". It doesn't list VIADDMNMX and its
// packed forms (sm_90): 64 was measured on an H200. Cores and schedulers: the guide's sections on each architecture.
// Tensor cores: the white papers of the A100 (312 TFLOPS at 1410 MHz) and of the H100 (989 TFLOPS at 1830 MHz); kernels here
// use no others. sm_100 and sm_120 have no row, because no published figure was found that could be checked.
const std::vector<Peak>& peaks() {
  static const auto& rows =
      *new std::vector<Peak>{{50, 128, 64, 0, 0, 0, 128, 128, 0},     {52, 128, 64, 0, 0, 0, 128, 128, 0},
                             {60, 64, 32, 0, 0, 0, 64, 64, 0},        {61, 128, 64, 0, 0, 0, 128, 128, 0},
                             {70, 64, 64, 64, 0, 0, 128, 64, 0},      {75, 64, 64, 64, 0, 0, 128, 64, 0},
                             {80, 64, 64, 64, 0, 0, 128, 64, 2048},   {86, 64, 64, 64, 0, 0, 128, 128, 0},
                             {87, 64, 64, 64, 0, 0, 128, 128, 0},     {89, 64, 64, 64, 0, 0, 128, 128, 0},
                             {90, 64, 64, 64, 64, 64, 128, 128, 4096}};
  return rows;
}

namespace {

/// Instruction counts by opcode, without zeros.
class Counts {
 public:
  void add(const std::string& opcode, double count) {
    if (count > 0) counts_[opcode] += count;
  }
  std::map<std::string, double> take() { return std::move(counts_); }

 private:
  std::map<std::string, double> counts_;
};

std::string packed_suffix(const Instance& instance) {
  return instance.lanes == 1 ? "" : instance.is_signed ? ".S16x2" : ".U16x2";
}

/// sm_90, sm_100: an addition and a maximum are one VIADDMNMX, two maxima one VIMNMX3.
std::map<std::string, double> with_fused(const Instance& instance, double updates) {
  const std::string suffix = packed_suffix(instance);
  const double tile = double(instance.x) * instance.y;
  const bool apart = instance.form == Form::kAddMax || instance.form == Form::kMultiplyMax;
  Counts counts;
  counts.add("IMAD", instance.multiplied);
  if (apart) {
    counts.add("IADD3", tile - instance.multiplied);
    counts.add("VIMNMX", tile);
    counts.add("VIADDMNMX", updates);
  } else {
    counts.add("VIMNMX3" + suffix, instance.multiplied / 2.0);
    counts.add("VIADDMNMX" + suffix, tile - instance.multiplied + updates);
  }
  return counts.take();
}

/// sm_120: packed arithmetic, but separate additions and maxima.
std::map<std::string, double> with_packed(const Instance& instance, double updates) {
  const double tile = double(instance.x) * instance.y;
  Counts counts;
  counts.add("IMAD", instance.multiplied);
  counts.add(instance.lanes == 1 ? "IADD3" : "VIADD", tile - instance.multiplied + updates);
  counts.add("VIMNMX" + packed_suffix(instance), tile + updates);
  return counts.take();
}

/// sm_70 to sm_89. The FMA pipe adds, too, as IMAD.IADD, unless the form prevents it. sm_70 has no integer maximum.
std::map<std::string, double> with_two_pipes(const Instance& instance, double updates, int capability) {
  const double tile = double(instance.x) * instance.y;
  Counts counts;
  if (instance.form == Form::kAddMax) {
    counts.add("IADD3", tile + updates);
  } else {
    counts.add("IMAD", tile);
    counts.add("IADD3", updates);
  }
  for (const char* opcode : capability < 75 ? std::vector{"ISETP", "SEL"} : std::vector{"IMNMX"}) {
    counts.add(opcode, tile + updates);
  }
  return counts.take();
}

/// sm_50 to sm_61: two maxima of one accumulator become one VMNMX, unless one is signed and the other isn't.
std::map<std::string, double> with_one_pipe(const Instance& instance, double updates) {
  const double tile = double(instance.x) * instance.y;
  const bool apart = instance.form == Form::kAddMax;
  const double pairs = apart ? 0 : tile * std::floor(instance.body / 2.0) / instance.body;
  Counts counts;
  counts.add("IADD3", apart ? tile : 0);
  counts.add("IADD", (apart ? 0 : tile) + updates);
  counts.add("VMNMX", pairs);
  counts.add("IMNMX", tile + updates - 2 * pairs);
  return counts.take();
}

/// float32: the same instructions from sm_52 to sm_90. Newer GPUs have other instructions, and weren't examined.
std::map<std::string, double> of_floats(const Instance& instance, double updates, int capability) {
  if (capability > 90) return {};
  const double steps = double(instance.x) * instance.y + updates;
  if (instance.form == Form::kFloatMultiplyAdd) return {{"FFMA", steps}};
  return {{"FADD", steps}, {"FMNMX", steps}};
}

}  // namespace

std::map<std::string, double> instructions(const Instance& instance, int capability) {
  const double updates = instance.updates / instance.lanes;
  if (instance.form == Form::kFloatAddMax || instance.form == Form::kFloatMultiplyAdd) {
    return of_floats(instance, updates, capability);
  }
  if (capability == 90 || capability == 100) return with_fused(instance, updates);
  if (capability == 120) return with_packed(instance, updates);
  // Other GPUs emulate 16-bit halves by logic, and before sm_70 they multiply in parts.
  const bool multiplies = instance.form == Form::kMultiplyMax || instance.form == Form::kMultiplyMax3;
  if (instance.lanes > 1 || capability >= 90 || (capability < 70 && multiplies)) return {};
  return capability >= 70 ? with_two_pipes(instance, updates, capability) : with_one_pipe(instance, updates);
}

Ceiling ceiling(const std::map<std::string, double>& instructions, double operations, int capability) {
  const auto peak =
      std::find_if(peaks().begin(), peaks().end(), [&](const Peak& row) { return row.capability == capability; });
  if (peak == peaks().end()) return {0, "no published throughput of this architecture is known to the library"};
  if (instructions.empty()) return {0, "the machine code of these instructions wasn't examined on this architecture"};
  double multiply = 0, minmax = 0, floats = 0, total = 0;
  for (const auto& [opcode, count] : instructions) {
    total += count;
    if (opcode == "FADD" || opcode == "FFMA") floats += count;
    if (opcode.rfind("IMAD", 0) == 0) multiply += count;
    if (opcode.find("MNMX") != std::string::npos) minmax += count;
  }
  struct Bound {
    double clocks;
    const char* what;
  };
  std::vector<Bound> bounds = {{total / peak->issue, "issuing instructions"}, {floats / peak->cores, "the FP32 pipe"}};
  if (capability >= 70) {
    bounds.push_back({(total - multiply - floats) / peak->minmax, "the ALU pipe"});
    bounds.push_back({multiply / peak->multiply_add, "the FMA pipe"});
  } else {
    bounds.push_back({minmax / peak->minmax, "maxima"});
  }
  const Bound worst = *std::max_element(bounds.begin(), bounds.end(),
                                        [](const Bound& x, const Bound& y) { return x.clocks < y.clocks; });
  return {operations / worst.clocks, std::string("bound by ") + worst.what};
}

}  // namespace mpmml::microbench
