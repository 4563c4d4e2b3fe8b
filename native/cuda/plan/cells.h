// How a large product is cut, so that transfers overlap computing: A and C into panels of rows, B into strips of columns,
// and the work into the cells where they cross; a batch into runs of instances.
#pragma once
#include <cstdint>
#include <vector>

#include "core/problem.h"

namespace mpmml::cuda {

constexpr int kMostPanels = 8;
constexpr int kMostStrips = 4;
/// Parts that an operand is cut into at most.
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
  std::vector<Upload> uploads;  ///< in the order in which they travel
  std::vector<Cell> cells;      ///< in the order in which all that they need has arrived
};

Cut cut_into_cells(const Problem& problem);

}  // namespace mpmml::cuda
