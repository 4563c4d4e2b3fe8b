// Matrices of the host on the device. A copy on the device is dense: row by row, or column by column where the host's
// matrix lies that way.
#pragma once
#include "core/problem.h"
#include "cuda/memory.h"

namespace mpmml::cuda {

struct DeviceMatrix {
  DeviceBuffer buffer;
  MatrixView view;
  /// Elements in the buffer: one item's, where all items of the batch are the same one.
  int64_t elements = 0;
};

/// Queues the copy of a batch of matrices to the device. `view` must stay valid until the stream has passed it.
DeviceMatrix upload(const MatrixView& view, int64_t batch, size_t element_bytes, Lane& lane);

/// Copies a dense row-major batch from the device into `view`, and waits for it.
void download(const void* source, const MutableMatrixView& view, int64_t batch, size_t element_bytes, Lane& lane);

}  // namespace mpmml::cuda
