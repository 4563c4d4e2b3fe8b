// How a large product is divided, so that transfers overlap computing: A and C into panels of rows, B into strips of
// columns, and the work into the cells where they cross. A batch is divided into runs of instances.
#pragma once
#include <cstdint>
#include <vector>

#include "core/problem.h"

namespace mpmml::cuda {

constexpr int kMostPanels = 8;
constexpr int kMostStrips = 4;
/// The most parts that an operand is divided into.
constexpr int kMostParts = kMostPanels;

/// A run of rows, columns or instances.
struct Span {
  int64_t first, count;
};

/// The parts that one launch works on.
struct Cell {
  int a, b, c, c0;
};

enum class Source : uint8_t { kA, kB, kC0 };

struct Upload {
  Source source;
  int part;
};

struct Cut {
  bool by_instances;  ///< spans are of instances; otherwise of the rows of A, C and C0, and the columns of B
  std::vector<Span> a, b, c, c0;
  std::vector<Upload> uploads;  ///< in the order of their transfer
  std::vector<Cell> cells;      ///< in the order in which their operands arrive
};

/// `strips`: how many there are; 0: as many as pay off.
Cut cut_into_cells(const Problem& problem, int64_t strips = 0);

}  // namespace mpmml::cuda
