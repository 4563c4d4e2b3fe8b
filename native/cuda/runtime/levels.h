// A scan of the lines of operands on the device, the rows of A or the columns of B: how far the elements of a line are
// apart, and for float whether they are integers of steps (core/algebra/value_range.h, LineLevels).
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

/// What a scan has found. Of float the numbers are integers of 2^granule.
struct LevelsFound {
  /// A bit stands for every 512th chunk of K.
  static constexpr int kRoughWords = 16, kRoughBits = 32 * kRoughWords;

  uint32_t spread;
  int32_t has_zero, has_negative_zero;
  int32_t misfits;  ///< whether a float isn't offset + an integer · step
  int32_t granule, step, offset;
  int32_t chunks;  ///< that were scanned; 0 if none
  uint32_t rough[kRoughWords];

  double rough_share() const;
  /// Unknown if there are misfits.
  LineLevels levels(DataType dtype) const;
};

/// Queues a scan of some elements of a few lines: what is found is a guess. `found` is device memory.
void sample_levels(const Operation& operation, const OperandLines& lines, LevelsFound* found, cudaStream_t stream);

/// Queues a scan of all lines. `sample` is what the sample's levels are, which must be known; `has_zero` says whether some
/// line may have zero.
void find_levels(const Operation& operation, const OperandLines& lines, const LevelsFound& sample, bool has_zero,
                 LevelsFound* found, cudaStream_t stream);

/// Whether the lines of the operands may be scanned: the planner would choose exponents if they had few levels, and
/// unless a variant is asked for, that takes no longer than a scan of the elements.
bool may_scan_lines(const Problem& problem, const Placement& where, Planner& planner);

/// Of which operands all lines should be scanned, if `sample_a` and `sample_b` are guesses of their levels.
struct WorthScanning {
  bool a, b;
};
WorthScanning worth_scanning(const Operation& operation, const ValueRange& a, const LineLevels& sample_a,
                             const ValueRange& b, const LineLevels& sample_b);

}  // namespace mpmml::cuda
