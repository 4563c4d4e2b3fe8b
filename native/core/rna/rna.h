// Requests and results of RNA folding (Nussinov) and of the interaction of two strands (BPMax), by the weights of base
// pairs.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "core/watch.h"

namespace mpmml {

/// Letters of the bases, indexed by their numbers in strands.
constexpr const char kBases[] = "ACGU";

using Strand = std::vector<uint8_t>;

/// Scores of pairs of bases; 0 if they can't pair.
struct PairScores {
  int32_t of[4][4] = {};

  PairScores(int32_t gc = 0, int32_t au = 0, int32_t gu = 0) {
    constexpr int a = 0, c = 1, g = 2, u = 3;
    of[g][c] = of[c][g] = gc;
    of[a][u] = of[u][a] = au;
    of[g][u] = of[u][g] = gu;
  }
};

/// Indices of two bases.
struct BasePair {
  int32_t i, j;
};

/// Request for the best set of non-crossing base pairs of one strand (Nussinov):
///
///   S[i, j] = max(S[i + 1, j − 1] + score(i, j), max over k of S[i, k] + S[k + 1, j]), 0 if there is no pair
///
/// A pair (i, j) has at least min_loop bases between them.
struct FoldRequest {
  std::vector<Strand> strands;
  PairScores within;
  int64_t min_loop;
  bool wide;  ///< scores take 32 bits, not 16
  bool wants_table;
  double max_bytes;
  CancellationToken watch;
};

/// Returns the number of steps (one ⊗ and one ⊕) of the recurrence.
inline double steps_of(const FoldRequest& request) {
  double all = 0;
  for (const Strand& strand : request.strands) {
    const auto n = static_cast<double>(strand.size());
    all += n * n * n / 6;
  }
  return all;
}

struct Folding {
  int32_t score = 0;
  std::vector<BasePair> pairs;                ///< i < j, in order of i
  std::optional<std::vector<int32_t>> table;  ///< n × n, 0 below the diagonal; only if requested
};

/// Request for the best joint structure of two strands (BPMax). Strand 2 is numbered so that pairs between strands
/// don't cross if both their indices increase. `reach` is the length of windows of strand 2, at most its length.
struct InteractionRequest {
  Strand strand1, strand2;
  PairScores within, between;
  int64_t min_loop;
  int64_t reach;
  int64_t top;  ///< maximum number of windows
  bool wide;
  bool wants_table;
  double max_bytes;
  CancellationToken watch;
};

/// Interaction of strand 1 with bases [start, start + reach) of strand 2.
struct Interaction {
  int32_t score = 0;
  int32_t alone = 0;  ///< score of both without interaction
  int64_t start = 0;
  std::vector<BasePair> within1, within2, between;
};

/// Returns the number of steps of the recurrence for an interval of `length` bases of strand 1.
inline double steps_of(const InteractionRequest& request, int64_t length) {
  // Number of intervals of strand 2 of 1 … reach bases, and of their split points.
  const auto m = static_cast<double>(request.strand2.size()), r = static_cast<double>(request.reach);
  const double pairs = r * (r - 1) / 2, intervals = m * r - pairs;
  const double splits = (m - 1) * pairs - r * (r - 1) * (r - 2) / 3;
  const auto inner = static_cast<double>(length - 1);
  return inner * splits + 2 * inner * intervals + 2 * splits;
}

inline double steps_of(const InteractionRequest& request) {
  const auto n = static_cast<int64_t>(request.strand1.size());
  double all = 0;
  for (int64_t length = 1; length <= n; ++length) {
    all += static_cast<double>(n - length + 1) * steps_of(request, length);
  }
  return all;
}

struct Interactions {
  std::vector<Interaction> best;  ///< windows that don't overlap, best first
  /// F[i1, j1, i2, j2], j1 ≥ i1 and j2 ≥ i2, in lexicographic order of (i1, j1, i2, j2); only if requested.
  std::optional<std::vector<int32_t>> table;
  double steps = 0;  ///< number of steps of the recurrence
};

}  // namespace mpmml
