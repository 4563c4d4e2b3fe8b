// Scans the lines (rows of A or columns of B) of operands on the device: the range of the elements of each line, and
// for float the quantization step (LineLevels in core/algebra/value_range.h).
#pragma once
#include <cuda_runtime_api.h>

#include "core/algebra/range.h"
#include "cuda/launch/kernel.h"
#include "cuda/plan/planner.h"

namespace mpmml::cuda {

/// The lines of `items` matrices.
struct OperandLines {
  const void* data;
  Storage storage;
  int64_t items, lines, depth;
  int64_t item_stride, line_stride, step_stride;  ///< in elements

  bool operator==(const OperandLines& other) const {
    return data == other.data && storage == other.storage && items == other.items && lines == other.lines &&
           depth == other.depth && item_stride == other.item_stride && line_stride == other.line_stride &&
           step_stride == other.step_stride;
  }
};
OperandLines lines_of(const MatrixView& view, Side side, int64_t items);

/// Result of a scan. For float, `step` and `offset` are in quantization steps, and `range` is in multiples of `step`.
struct LevelsFound {
  /// Bitmap of outlier chunks: chunk i of K has bit i mod kOutlierBits.
  static constexpr int kOutlierWords = 16, kOutlierBits = 32 * kOutlierWords;

  uint32_t range;
  int32_t has_zero, has_negative_zero;
  int32_t misfits;  ///< whether a float isn't offset + an integer · step
  int32_t scale, step, offset;
  int32_t chunks;  ///< number of chunks scanned by chunks; 0 if none
  uint32_t outliers[kOutlierWords];

  double outlier_share() const;
  /// Returns the levels of the lines; unknown if elements misfit.
  LineLevels levels(DataType dtype) const;
};

/// Queues a scan of a sample of elements of a few lines, whose result is an estimate. `found` is device memory.
void sample_levels(const Operation& operation, const OperandLines& lines, LevelsFound* found, cudaStream_t stream);

/// Queues a scan of all lines. `sample` is the result of sample_levels(), whose levels must be known; `has_zero` states
/// whether lines may contain zero.
void find_levels(const Operation& operation, const OperandLines& lines, const LevelsFound& sample, bool has_zero,
                 LevelsFound* found, cudaStream_t stream);

/// Returns whether the lines of the operands may be scanned: the planner would choose exponents if they had few levels.
/// Without a requested variant, deep operands with few lines are excluded, because a scan of their lines would take
/// longer than a scan of the elements.
bool may_scan_lines(const Problem& problem, const Placement& where, Planner& planner);

/// Operands of which all lines should be scanned, given estimates of their levels.
struct WorthScanning {
  bool a, b;
};
WorthScanning worth_scanning(const Operation& operation, const ValueRange& a, const LineLevels& sample_a,
                             const ValueRange& b, const LineLevels& sample_b);

}  // namespace mpmml::cuda
