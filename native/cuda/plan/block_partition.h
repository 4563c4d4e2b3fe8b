// How a large product is divided, so that transfers overlap computing: A and C into panels of rows, B into strips of
// columns, and the work into the cells where they cross. A batch is divided into runs of instances.
#pragma once
#include <cstdint>
#include <vector>

#include "core/problem/region.h"

namespace mpmml::cuda {

constexpr int kMaxPanels = 8;
constexpr int kMaxStrips = 4;
/// The most parts that an operand is divided into.
constexpr int kMaxParts = kMaxPanels;

/// What one launch computes, from which parts of the operands and of C0. `c` is the panel of C that it is in.
struct OutputBlock {
  Region region;
  int a, b, c, c0;
};

enum class Input : uint8_t { kA, kB, kC0 };

struct Upload {
  Input input;
  int part;
};

struct BlockPartition {
  /// The regions of the problem for which the parts of A, B, C and C0 are.
  std::vector<Region> a, b, c, c0;
  std::vector<Upload> uploads;     ///< in the order of their transfer
  std::vector<OutputBlock> cells;  ///< in the order in which their operands arrive
};

/// `strips`: how many there are; 0: as many as pay off.
BlockPartition partition_into_blocks(const Problem& problem, int64_t strips = 0);

}  // namespace mpmml::cuda
