// The forms that kernels have packed an operand into.
#pragma once
#include <list>

#include "cuda/launch/kernel.h"
#include "cuda/runtime/lane.h"
#include "cuda/runtime/memory.h"

namespace mpmml::cuda {

/// What a packed form depends on: the kernel and its path, the side of the product, the part of the memory that was
/// packed, the range that offsets were taken from, the band outside of which elements are zero, and whether rough chunks are
/// left out.
struct PackedKey {
  const Kernel* kernel;
  RangePath path;
  bool is_a;
  MatrixView view;
  int64_t items;
  double offset, step;
  Band band;
  bool leaves_out_rough;

  bool operator==(const PackedKey& other) const {
    const MatrixView &x = view, &y = other.view;
    return kernel == other.kernel && path == other.path && is_a == other.is_a && items == other.items &&
           offset == other.offset && step == other.step && band == other.band &&
           leaves_out_rough == other.leaves_out_rough && x.data == y.data && x.rows == y.rows && x.cols == y.cols &&
           x.row_stride == y.row_stride && x.col_stride == y.col_stride && x.batch_stride == y.batch_stride;
  }
};

struct PackedForm {
  PackedKey key;
  DeviceBuffer buffer;
  int64_t bytes;
  const Event* done;  ///< null if what uses it is queued in the same stream
};
using PackedForms = std::list<PackedForm>;

}  // namespace mpmml::cuda
