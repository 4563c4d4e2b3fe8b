#include "cuda/plan/block_partition.h"

#include <algorithm>
#include <cmath>

#include "core/algebra/dispatch.h"

namespace mpmml::cuda {
namespace {

// Number of k-steps (half a millisecond on an H200) from which an output block is worth a separate launch.
constexpr double kCellSteps = 1.5e10;
// Number of k-steps from which a product has at least two blocks. The transfers that overlap with kernels then save more
// than the second launch costs (2048³ from pinned memory: 1.5 instead of 1.85 ms, H200).
constexpr double kStepsOfTwoCells = 6e9;
constexpr int64_t kGranule = 512;  ///< rows or columns, so that a part consists of whole tiles

/// Returns at most `parts` regions of equal size.
std::vector<Region> divided(const Region& whole, Axis axis, int64_t parts, int64_t granularity) {
  return cut(whole, axis, round_up(ceil_div((whole.*axis).size(), parts), granularity));
}

/// Returns the uploads in order. Parts of A and B alternate, so that as many output blocks as possible can be computed
/// early. A part of C0 precedes the part of the operand that is divided like C.
std::vector<Upload> order_uploads(const BlockPartition& cut) {
  const Input leader = cut.a.size() == cut.c.size() ? Input::kA : Input::kB;
  std::vector<Upload> uploads;
  size_t next_c0 = 0;
  const auto add_c0 = [&] {
    if (next_c0 < cut.c0.size()) uploads.push_back({Input::kC0, static_cast<int>(next_c0++)});
  };
  const auto add = [&](Input input, size_t part) {
    if (input == leader) add_c0();
    uploads.push_back({input, static_cast<int>(part)});
  };
  for (size_t a = 0, b = 0; a < cut.a.size() || b < cut.b.size();) {
    if (b * cut.a.size() <= a * cut.b.size() && b < cut.b.size()) {
      add(Input::kB, b++);
    } else {
      add(Input::kA, a++);
    }
  }
  // An operand that is shared by the whole batch has one part, but C0 may have more.
  while (next_c0 < cut.c0.size()) add_c0();
  return uploads;
}

std::vector<OutputBlock> cells_of(const BlockPartition& cut, bool by_instances) {
  std::vector<OutputBlock> cells;
  const int a_parts = static_cast<int>(cut.a.size()), b_parts = static_cast<int>(cut.b.size());
  const int c0_parts = static_cast<int>(cut.c0.size());
  if (by_instances) {
    for (int c = 0; c < static_cast<int>(cut.c.size()); ++c) {
      cells.push_back({cut.c[c], std::min(c, a_parts - 1), std::min(c, b_parts - 1), c, std::min(c, c0_parts - 1)});
    }
    return cells;
  }
  for (int a = 0; a < a_parts; ++a) {
    for (int b = 0; b < b_parts; ++b) cells.push_back({{cut.a[a].items, cut.a[a].rows, cut.b[b].cols}, a, b, a, a});
  }
  std::vector<size_t> arrival_a(cut.a.size()), arrival_b(cut.b.size());
  for (size_t position = 0; position < cut.uploads.size(); ++position) {
    const Upload& upload = cut.uploads[position];
    if (upload.input == Input::kA) arrival_a[upload.part] = position;
    if (upload.input == Input::kB) arrival_b[upload.part] = position;
  }
  std::stable_sort(cells.begin(), cells.end(), [&](const OutputBlock& x, const OutputBlock& y) {
    return std::max(arrival_a[x.a], arrival_b[x.b]) < std::max(arrival_a[y.a], arrival_b[y.b]);
  });
  return cells;
}

}  // namespace

BlockPartition partition_into_blocks(const Problem& problem, int64_t requested_strips) {
  const double steps = cost_of_step(problem.operation) * double(problem.outputs()) * problem.k();
  const double least = steps < kStepsOfTwoCells ? 1 : 2;
  const double cells = std::clamp(steps / kCellSteps, least, double(kMaxPanels * kMaxStrips));
  BlockPartition cut{};
  const Region all = whole(problem);
  const bool by_instances = problem.batch > 1;
  if (by_instances) {
    cut.c = divided(all, &Region::items, std::min<int64_t>(static_cast<int64_t>(cells), kMaxPanels), 1);
    const auto parts_of = [&](const MatrixView& view) {
      return view.batch_stride == 0 ? std::vector<Region>{all} : cut.c;
    };
    cut.a = parts_of(problem.a);
    cut.b = parts_of(problem.b);
    cut.c0 = parts_of(problem.c0);
  } else {
    // Three transfers can't overlap with kernels: the uploads of the first panel and the first strip, and the download
    // of the last panel.
    const auto strips = requested_strips > 0
                            ? requested_strips
                            : std::clamp(static_cast<int64_t>(std::sqrt(cells / 2)), int64_t{1}, int64_t{kMaxStrips});
    const auto panels = std::clamp(static_cast<int64_t>(cells) / strips, int64_t{1}, int64_t{kMaxPanels});
    cut.a = cut.c = cut.c0 = divided(all, &Region::rows, panels, kGranule);
    cut.b = divided(all, &Region::cols, strips, kGranule);
  }
  if (!problem.c0.data) cut.c0.clear();
  cut.uploads = order_uploads(cut);
  cut.cells = cells_of(cut, by_instances);
  return cut;
}

}  // namespace mpmml::cuda
