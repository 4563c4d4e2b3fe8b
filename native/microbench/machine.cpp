#include "microbench/machine.h"

#include <algorithm>
#include <cmath>

namespace mpmml::microbench {

// CUDA C++ Programming Guide, "Arithmetic Instructions", table "Throughput of Native Arithmetic Instructions": rows
// "32-bit integer add", "compare, minimum, maximum", "32-bit integer multiply-add". It doesn't list VIADDMNMX and its packed
// forms (sm_90): 64 was measured on an H200. Cores and schedulers: the guide's sections on each architecture.
const std::vector<Peak>& peaks() {
  static const std::vector<Peak> rows = {
      {50, 128, 64, 0, 0, 0, 128, 128}, {52, 128, 64, 0, 0, 0, 128, 128},  {60, 64, 32, 0, 0, 0, 64, 64},
      {61, 128, 64, 0, 0, 0, 128, 128}, {70, 64, 64, 64, 0, 0, 128, 64},   {75, 64, 64, 64, 0, 0, 128, 64},
      {80, 64, 64, 64, 0, 0, 128, 64},  {86, 64, 64, 64, 0, 0, 128, 128},  {87, 64, 64, 64, 0, 0, 128, 128},
      {89, 64, 64, 64, 0, 0, 128, 128}, {90, 64, 64, 64, 64, 64, 128, 128}};
  return rows;
}

std::map<std::string, double> instructions(const Instance& instance, int capability) {
  const double tile = double(instance.x) * instance.y, updates = instance.updates / instance.lanes;
  const double all = tile + updates;
  std::map<std::string, double> found;
  const auto add = [&](const char* opcode, double count) {
    if (count > 0) found[opcode] += count;
  };
  if (capability >= 90 && capability < 100) {
    const std::string suffix = instance.lanes == 1 ? "" : instance.is_signed ? ".S16" : ".U16";
    const auto packed = [&](const char* opcode, double count) { add((opcode + suffix).c_str(), count); };
    switch (instance.form) {
      case Form::kPlain:
      case Form::kFused:
        packed("VIADDMNMX", all);
        break;
      case Form::kAddMax:
        add("IADD3", tile);
        add("VIMNMX", tile);
        add("VIADDMNMX", updates);
        break;
      case Form::kMultiplyMax:
        add("IMAD", tile);
        add("VIMNMX", tile);
        add("VIADDMNMX", updates);
        break;
      case Form::kMultiplyMax3:
        add("IMAD", tile);
        packed("VIMNMX3", tile / 2);
        packed("VIADDMNMX", updates);
        break;
      case Form::kMixedRows:
        add("IMAD", tile / 2);
        packed("VIMNMX3", tile / 4);
        packed("VIADDMNMX", tile / 2 + updates);
        break;
    }
    return found;
  }
  // Packed arithmetic is emulated here by logic on halves.
  if (capability >= 90 || instance.lanes > 1) return found;
  const bool multiplies =
      instance.form != Form::kPlain && instance.form != Form::kFused && instance.form != Form::kAddMax;
  if (capability >= 70) {
    // The FMA pipe adds, as IMAD.IADD, where nothing forbids it. sm_70 has no integer maximum.
    if (instance.form == Form::kAddMax) {
      add("IADD3", all);
    } else {
      add(multiplies ? "IMAD" : "IMAD.IADD", tile);
      add("IADD3", updates);
    }
    if (capability < 75) {
      add("ISETP", all);
      add("SEL", all);
    } else {
      add("IMNMX", all);
    }
    return found;
  }
  // Two maxima of one accumulator become one VMNMX, unless they differ in sign.
  if (instance.form == Form::kMultiplyMax || instance.form == Form::kMultiplyMax3) return found;
  const double pairs = instance.form == Form::kAddMax ? 0 : tile * std::floor(instance.body / 2.0) / instance.body;
  if (instance.form == Form::kAddMax) {
    add("IADD3", tile);
    add("IADD", updates);
  } else {
    add("IADD", all);
  }
  add("VMNMX", pairs);
  add("IMNMX", all - 2 * pairs);
  return found;
}

Ceiling ceiling(const std::map<std::string, double>& instructions, double operations, int capability) {
  const auto peak =
      std::find_if(peaks().begin(), peaks().end(), [&](const Peak& row) { return row.capability == capability; });
  if (peak == peaks().end() || instructions.empty()) return {0, "not known for this architecture"};
  double multiply = 0, minmax = 0, total = 0;
  for (const auto& [opcode, count] : instructions) {
    total += count;
    if (opcode.rfind("IMAD", 0) == 0) multiply += count;
    if (opcode.find("MNMX") != std::string::npos) minmax += count;
  }
  struct Bound {
    double clocks;
    const char* what;
  };
  std::vector<Bound> bounds = {{total / peak->issue, "issuing instructions"}};
  if (capability >= 70) {
    bounds.push_back({(total - multiply) / peak->minmax, "the ALU pipe"});
    bounds.push_back({multiply / peak->multiply_add, "the FMA pipe"});
  } else {
    bounds.push_back({minmax / peak->minmax, "maxima"});
  }
  const Bound worst = *std::max_element(bounds.begin(), bounds.end(),
                                        [](const Bound& x, const Bound& y) { return x.clocks < y.clocks; });
  return {operations / worst.clocks, std::string("bound by ") + worst.what};
}

}  // namespace mpmml::microbench
