#include "cuda/plan/workspace.h"

#include <algorithm>

namespace mpmml::cuda {
namespace {

/// Number of packed forms of an operand that a product can need at the same time: 16-bit lanes and words, each without
/// and with zero.
constexpr int64_t kPackedForms = 4;

int64_t dense_bytes(const Problem& problem, const MatrixView& view) {
  return items_of(view, problem.batch) * view.rows * view.cols * stored_bytes(problem.operation.dtype, view.storage);
}

}  // namespace

int64_t operand_bytes(const Problem& problem) {
  const auto placed = [&](const MatrixView& view) { return round_up(dense_bytes(problem, view), kMatrixAlignment); };
  return placed(problem.a) + placed(problem.b) + (problem.c0.data ? placed(problem.c0) : 0);
}

int64_t result_bytes(const Problem& problem) {
  return round_up(problem.outputs() * element_bytes(problem.operation.dtype), kMatrixAlignment);
}

int64_t matrix_bytes(const Problem& problem) {
  int64_t bytes = operand_bytes(problem) + result_bytes(problem);
  for_auxiliary(problem, [&](const AuxiliaryOutput&) {
    bytes += round_up(problem.outputs() * kAuxiliaryBytes, kMatrixAlignment);
  });
  return bytes;
}

int64_t widened_bytes(const Problem& problem, const Kernel& kernel) {
  int64_t bytes = 0;
  for (MatrixView view : {problem.a, problem.b}) {
    if (kernel.takes_int16 || view.storage == Storage::kElement) continue;
    view.storage = Storage::kElement;
    bytes += dense_bytes(problem, view);
  }
  return bytes;
}

int64_t packed_bytes(const Problem& problem, const BlockPartition& cut, const Plan& plan, const Kernel& kernel) {
  if (!kernel.packed_bytes) return 0;
  const auto bytes_of = [&](const Region& region, Side side) {
    const Problem part = sub(problem, region);
    Launch launch = launch_of(part, plan);
    for (MatrixView* view : {&launch.a, &launch.b}) {
      *view = Lines(*view).copied_to(nullptr, *view, items_of(*view, part.batch));
      if (!kernel.takes_int16) view->storage = Storage::kElement;
    }
    return kernel.packed_bytes(launch, side);
  };
  int64_t bytes = 0;
  for (const Region& region : cut.a) bytes += bytes_of(region, Side::kA);
  for (const Region& region : cut.b) bytes += bytes_of(region, Side::kB);
  return bytes;
}

int64_t estimate_workspace_bytes(const Problem& problem) {
  const int64_t depth = round_up(problem.k(), kMaxTile),
                word = std::max<int64_t>(sizeof(int32_t), element_bytes(problem.operation.dtype));
  const int64_t lines = items_of(problem.a, problem.batch) * round_up(problem.m(), kMaxTile) +
                        items_of(problem.b, problem.batch) * round_up(problem.n(), kMaxTile);
  // Each arithmetic that needs packing may have its own form. The witness search needs one, too, and a note for each
  // result.
  const int64_t forms = kPackedForms + (problem.witness.data ? 1 : 0);
  const int64_t hints = problem.witness.data ? problem.batch * round_up(problem.m(), kMaxTile) *
                                                   round_up(problem.n(), kMaxTile) * int64_t{sizeof(uint16_t)}
                                             : 0;
  return matrix_bytes(problem) + forms * lines * depth * word + hints;
}

}  // namespace mpmml::cuda
