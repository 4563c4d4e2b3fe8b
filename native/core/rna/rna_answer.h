// Results of RNA requests from complete tables, in any memory.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "core/rna/intervals.h"
#include "core/rna/rna_trace.h"
#include "core/status.h"

namespace mpmml {

/// Throws Error(kOutOfMemory) if tables need more than `most` bytes.
inline void require_room(double bytes, double most, const std::string& advice) {
  if (bytes <= most) return;
  const auto text = [](double value) { return std::to_string(static_cast<int64_t>(std::min(value, 9e18))); };
  throw Error(ErrorCode::kOutOfMemory,
              "the tables take " + text(bytes) + " bytes, but there are " + text(most) + ": " + advice);
}

/// Returns the result of folding. `fold` is the trace of a strand of n bases.
template <class Fold>
Folding answer_fold(const FoldRequest& request, int64_t n, const Fold& fold) {
  Folding result;
  result.score = fold(0, n);
  fold.trace(0, n, result.pairs);
  std::sort(result.pairs.begin(), result.pairs.end(), [](BasePair x, BasePair y) { return x.i < y.i; });
  if (request.wants_table) {
    std::vector<int32_t>& table = result.table.emplace(n * n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i; j < n; ++j) table[i * n + j] = fold(i, j + 1);
    }
  }
  return result;
}

/// Returns the starts of the best non-overlapping windows, best first.
template <class Score>
std::vector<int64_t> best_windows(const InteractionRequest& request, const Score& score) {
  const auto n = static_cast<int64_t>(request.strand1.size()), m = static_cast<int64_t>(request.strand2.size());
  const int64_t reach = request.reach;
  std::vector<std::pair<int32_t, int64_t>> windows;
  for (int64_t start = 0; start + reach <= m; ++start) windows.emplace_back(score(0, n, start, start + reach), start);
  std::stable_sort(windows.begin(), windows.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
  std::vector<int64_t> taken;
  for (const auto& window : windows) {
    if (static_cast<int64_t>(taken.size()) == request.top) break;
    const auto overlaps = [&](int64_t start) { return std::abs(start - window.second) < reach; };
    if (std::none_of(taken.begin(), taken.end(), overlaps)) taken.push_back(window.second);
  }
  return taken;
}

template <class Score>
std::vector<int32_t> all_scores(const InteractionRequest& request, const Score& score) {
  const auto n = static_cast<int64_t>(request.strand1.size()), m = static_cast<int64_t>(request.strand2.size());
  std::vector<int32_t> all;
  all.reserve(static_cast<size_t>(count_of_intervals(n) * count_of_intervals(m)));
  for (int64_t a1 = 0; a1 < n; ++a1) {
    for (int64_t b1 = a1 + 1; b1 <= n; ++b1) {
      for (int64_t a2 = 0; a2 < m; ++a2) {
        for (int64_t b2 = a2 + 1; b2 <= m; ++b2) all.push_back(score(a1, b1, a2, b2));
      }
    }
  }
  return all;
}

/// Returns the result of an interaction. `fold1` and `fold2` are the traces of both strands; `score(a1, b1, a2, b2)` is
/// an element of F, by nodes.
template <class Fold1, class Fold2, class Score>
Interactions answer_interaction(const InteractionRequest& request, const Fold1& fold1, const Fold2& fold2,
                                const Score& score) {
  Interactions result;
  result.steps = steps_of(request);
  const auto n = static_cast<int64_t>(request.strand1.size());
  for (const int64_t start : best_windows(request, score)) {
    request.watch.look();
    Interaction& found = result.best.emplace_back();
    found.start = start;
    found.score = score(0, n, start, start + request.reach);
    found.alone = fold1(0, n) + fold2(start, start + request.reach);
    InteractionTrace(request, fold1, fold2, score).trace(start, start + request.reach, found);
  }
  if (request.wants_table) result.table = all_scores(request, score);
  return result;
}

}  // namespace mpmml
