// Temporary matrices of a closure, in memory of a session.
#pragma once
#include <memory>

#include "core/problem/layout.h"
#include "core/session/session.h"

namespace mpmml {

/// A batch of row-major matrices and its memory.
struct OwnedMatrix {
  std::shared_ptr<Memory> memory;
  MutableMatrixView view;
};

/// Allocates `items` matrices with undefined elements. Throws Error(kOutOfMemory).
inline OwnedMatrix allocate_matrix(Session& session, DataType dtype, int64_t items, int64_t rows, int64_t cols) {
  OwnedMatrix matrix{session.allocate(items * rows * cols * element_bytes(dtype)), {}};
  matrix.view = placed_in(*matrix.memory, row_major<void*>(nullptr, rows, cols));
  return matrix;
}

}  // namespace mpmml
