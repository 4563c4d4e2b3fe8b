// Folding a strand of RNA, and the interaction of two, by the weights of their base pairs: what is asked and what comes out.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "core/watch.h"

namespace mpmml {

/// The bases by the numbers that strands have them by.
constexpr const char kBases[] = "ACGU";

using Strand = std::vector<uint8_t>;

/// What a pair of two bases is worth; 0 if they can't pair.
struct PairScores {
  int32_t of[4][4] = {};

  PairScores(int32_t gc = 0, int32_t au = 0, int32_t gu = 0) {
    constexpr int a = 0, c = 1, g = 2, u = 3;
    of[g][c] = of[c][g] = gc;
    of[a][u] = of[u][a] = au;
    of[g][u] = of[u][g] = gu;
  }
};

/// The indices of two bases.
struct BasePair {
  int32_t i, j;
};

/// The best set of pairs of bases of one strand that don't cross (Nussinov):
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

/// Steps of ⊗ and ⊕ that the recurrence has.
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
  std::optional<std::vector<int32_t>> table;  ///< n × n, 0 below the diagonal; if it is asked for
};

/// The best joint structure of two strands (BPMax). Strand 2 is numbered so that pairs between strands don't cross if both
/// their indices increase. `reach` is the length of windows of strand 2, or its length.
struct InteractionRequest {
  Strand strand1, strand2;
  PairScores within, between;
  int64_t min_loop;
  int64_t reach;
  int64_t top;  ///< windows that are wanted
  bool wide;
  bool wants_table;
  double max_bytes;
  CancellationToken watch;
};

/// Strand 1 and bases [start, start + reach) of strand 2.
struct Interaction {
  int32_t score = 0;
  int32_t alone = 0;  ///< what both are worth if they don't interact
  int64_t start = 0;
  std::vector<BasePair> within1, within2, between;
};

/// Steps of ⊗ and ⊕ that the recurrence has for an interval of so many bases of strand 1.
inline double steps_of(const InteractionRequest& request, int64_t length) {
  // Intervals of strand 2 of 1 … reach bases, and the places where these can be split.
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
  /// F[i1, j1, i2, j2], j1 ≥ i1 and j2 ≥ i2, in lexicographic order of (i1, j1, i2, j2); if it is asked for.
  std::optional<std::vector<int32_t>> table;
  double steps = 0;  ///< of ⊗ and ⊕ that the recurrence has
};

}  // namespace mpmml
