#include "cuda/plan/workspace.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cuda/launch/kernel.h"

namespace mpmml::cuda {
namespace {

/// The forms of an operand that a product can need at the same time: in 16-bit lanes and in words, each without and
/// with zero.
constexpr int64_t kPackedForms = 4;

int64_t dense_bytes(const Problem& problem, const MatrixView& view) {
  return items_of(view, problem.batch) * view.rows * view.cols * stored_bytes(problem.operation.dtype, view.storage);
}

int64_t unpacked_bytes(const Problem& problem) {
  int64_t bytes = problem.outputs() * element_bytes(problem.operation.dtype);
  bytes += dense_bytes(problem, problem.a) + dense_bytes(problem, problem.b);
  if (problem.witness.data) bytes += problem.outputs() * element_bytes(DataType::kInt32);
  return problem.c0.data ? bytes + dense_bytes(problem, problem.c0) : bytes;
}

}  // namespace

int64_t workspace_bytes(const Problem& problem, const ForPlans& for_plans) {
  int64_t bytes = unpacked_bytes(problem), widened = 0;
  std::vector<std::pair<const Kernel*, RangePath>> seen;
  for_plans([&](const Plan& plan, const Kernel& kernel) {
    const std::pair<const Kernel*, RangePath> one{&kernel, plan.path};
    if (std::find(seen.begin(), seen.end(), one) != seen.end()) return;
    seen.push_back(one);
    Launch launch = launch_of(problem, plan);
    for (MatrixView* view : {&launch.a, &launch.b}) {
      const Storage storage = view->storage;
      *view = Lines(*view).copied_to(nullptr, *view, items_of(*view, problem.batch));
      view->storage = storage;
    }
    if (!kernel.takes_int16) {
      int64_t needed = 0;
      for (MatrixView* view : {&launch.a, &launch.b}) {
        if (view->storage != Storage::kInt16) continue;
        view->storage = Storage::kElement;
        needed += dense_bytes(problem, *view);
      }
      widened = std::max(widened, needed);
    }
    if (!kernel.packed_bytes) return;
    for (const Side side : {Side::kA, Side::kB}) bytes += kernel.packed_bytes(launch, side);
  });
  return bytes + widened;
}

int64_t roughly_needed_bytes(const Problem& problem) {
  const int64_t depth = round_up(problem.k(), kMostTile),
                word = std::max<int64_t>(sizeof(int32_t), element_bytes(problem.operation.dtype));
  const int64_t lines = items_of(problem.a, problem.batch) * round_up(problem.m(), kMostTile) +
                        items_of(problem.b, problem.batch) * round_up(problem.n(), kMostTile);
  // Each of the paths that need packing may take its share. So does the search for witnesses, with a number for each result.
  const int64_t forms = kPackedForms + (problem.witness.data ? 1 : 0);
  const int64_t hints = problem.witness.data ? problem.batch * round_up(problem.m(), kMostTile) *
                                                   round_up(problem.n(), kMostTile) * int64_t{sizeof(uint16_t)}
                                             : 0;
  return unpacked_bytes(problem) + forms * lines * depth * word + hints;
}

}  // namespace mpmml::cuda
