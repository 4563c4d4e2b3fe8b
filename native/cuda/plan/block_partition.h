// Partition of a large product, so that transfers overlap with kernels: A and C into panels of rows, B into strips of
// columns, and the work into output blocks, one per panel and strip. A batch is divided into runs of batch entries.
#pragma once
#include <cstdint>
#include <vector>

#include "core/problem/region.h"

namespace mpmml::cuda {

constexpr int64_t kGranule = 512;  ///< rows or columns, so that a part consists of whole tiles
constexpr int kMaxPanels = 8;
constexpr int kMaxStrips = 4;
/// Maximum number of parts of an operand.
constexpr int kMaxParts = kMaxPanels;

/// A block of C that one launch computes, with the indices of its parts of A, B and C0. `c` is the index of its panel
/// of C.
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
  /// Regions of the problem that correspond to the parts of A, B, C and C0.
  std::vector<Region> a, b, c, c0;
  std::vector<Upload> uploads;     ///< in transfer order
  std::vector<OutputBlock> cells;  ///< in the order in which their operands arrive
};

/// Partitions a product. `strips` is the number of strips; 0: an estimate of the best number.
BlockPartition partition_into_blocks(const Problem& problem, int64_t strips = 0);

}  // namespace mpmml::cuda
