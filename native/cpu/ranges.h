// Converts the values that kernels see in their operands into the core's ranges.
#pragma once
#include "core/algebra/range.h"
#include "cpu/kernel.h"

namespace mpmml::cpu {

/// The ranges of both operands.
struct Ranges {
  ValueRange a;
  ValueRange b;
};

inline ValueRange range_of(const Occurring& occurring) {
  return {occurring.minimum, occurring.maximum, occurring.has_zero, occurring.has_outsider};
}

}  // namespace mpmml::cpu
