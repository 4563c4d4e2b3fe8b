// Traceback from tables to base pairs: the candidates of the recurrence that attain an element are recomputed, from the
// final result down.
#pragma once
#include <algorithm>
#include <vector>

#include "core/rna/rna.h"

namespace mpmml {

/// Traceback of one strand: finds pairs that attain S[a, b]. `score(a, b)` is an element of the strand's table, by
/// nodes (core/rna/triangle.h).
template <class Score>
class FoldTrace {
 public:
  FoldTrace(const Strand& strand, const PairScores& pairs, int64_t min_loop, Score score)
      : strand_(strand), pairs_(pairs), min_loop_(min_loop), score_(score) {}

  /// Returns the score of a pair of the first and the last base between two nodes; 0 if they can't pair.
  int32_t enclosing(int64_t a, int64_t b) const {
    return b - a - 2 < min_loop_ ? 0 : pairs_.of[strand_[a]][strand_[b - 1]];
  }

  int32_t operator()(int64_t a, int64_t b) const { return score_(a, b); }

  void trace(int64_t a, int64_t b, std::vector<BasePair>& found) const {
    std::vector<BasePair> left{{static_cast<int32_t>(a), static_cast<int32_t>(b)}};
    while (!left.empty()) {
      auto [from, to] = left.back();
      left.pop_back();
      const int32_t score = score_(from, to);
      if (score == 0) continue;
      if (score_(from + 1, to) == score) {
        left.push_back({from + 1, to});
      } else if (score_(from, to - 1) == score) {
        left.push_back({from, to - 1});
      } else if (const int32_t pair = enclosing(from, to); pair > 0 && score_(from + 1, to - 1) + pair == score) {
        found.push_back({from, to - 1});
        left.push_back({from + 1, to - 1});
      } else {
        int32_t split = from + 1;
        while (score_(from, split) + score_(split, to) != score) ++split;
        left.push_back({from, split});
        left.push_back({split, to});
      }
    }
  }

 private:
  const Strand& strand_;
  const PairScores& pairs_;
  const int64_t min_loop_;
  const Score score_;
};

/// Traceback of an interaction: finds a joint structure that attains an element of F. `score(a1, b1, a2, b2)` is that
/// element, by nodes; neither interval may be empty.
template <class Fold1, class Fold2, class Score>
class InteractionTrace {
 public:
  InteractionTrace(const InteractionRequest& request, const Fold1& fold1, const Fold2& fold2, Score score)
      : request_(request), fold1_(fold1), fold2_(fold2), score_(score) {}

  void trace(int64_t a2, int64_t b2, Interaction& found) {
    left_.push_back({0, static_cast<int64_t>(request_.strand1.size()), a2, b2});
    while (!left_.empty()) {
      const Part part = left_.back();
      left_.pop_back();
      step(part, found);
    }
    for (auto* const pairs : {&found.within1, &found.within2, &found.between}) {
      std::sort(pairs->begin(), pairs->end(), [](BasePair x, BasePair y) { return x.i < y.i; });
    }
  }

 private:
  /// Intervals between two nodes of each strand.
  struct Part {
    int64_t a1, b1, a2, b2;
  };

  int32_t at(const Part& part) const {
    if (part.a1 == part.b1) return fold2_(part.a2, part.b2);
    if (part.a2 == part.b2) return fold1_(part.a1, part.b1);
    return score_(part.a1, part.b1, part.a2, part.b2);
  }

  int32_t between(int64_t i, int64_t j) const { return request_.between.of[request_.strand1[i]][request_.strand2[j]]; }

  void step(const Part& part, Interaction& found) {
    const auto [a1, b1, a2, b2] = part;
    const int32_t score = at(part);
    if (fold1_(a1, b1) + fold2_(a2, b2) == score) {
      fold1_.trace(a1, b1, found.within1);
      fold2_.trace(a2, b2, found.within2);
    } else if (!strip(part, score) && !enclose(part, score, found) && !bind(part, score, found)) {
      split(part, score);
    }
  }

  /// Tries to remove an unpaired base at an end.
  bool strip(const Part& part, int32_t score) {
    const auto [a1, b1, a2, b2] = part;
    for (const Part& less :
         {Part{a1 + 1, b1, a2, b2}, Part{a1, b1 - 1, a2, b2}, Part{a1, b1, a2 + 1, b2}, Part{a1, b1, a2, b2 - 1}}) {
      if (at(less) != score) continue;
      left_.push_back(less);
      return true;
    }
    return false;
  }

  /// Tries a pair between the strands at an end.
  bool bind(const Part& part, int32_t score, Interaction& found) {
    const auto [a1, b1, a2, b2] = part;
    const Part after{a1 + 1, b1, a2 + 1, b2}, before{a1, b1 - 1, a2, b2 - 1};
    if (at(after) + between(a1, a2) == score) {
      found.between.push_back(pair(a1, a2));
      left_.push_back(after);
      return true;
    }
    if (at(before) + between(b1 - 1, b2 - 1) == score) {
      found.between.push_back(pair(b1 - 1, b2 - 1));
      left_.push_back(before);
      return true;
    }
    return false;
  }

  /// Tries a pair of one strand that encloses the rest of its interval.
  bool enclose(const Part& part, int32_t score, Interaction& found) {
    const auto [a1, b1, a2, b2] = part;
    if (const int32_t worth = fold1_.enclosing(a1, b1); worth > 0) {
      const Part inside{a1 + 1, b1 - 1, a2, b2};
      if (at(inside) + worth == score) {
        found.within1.push_back(pair(a1, b1 - 1));
        left_.push_back(inside);
        return true;
      }
    }
    if (const int32_t worth = fold2_.enclosing(a2, b2); worth > 0) {
      const Part inside{a1, b1, a2 + 1, b2 - 1};
      if (at(inside) + worth == score) {
        found.within2.push_back(pair(a2, b2 - 1));
        left_.push_back(inside);
        return true;
      }
    }
    return false;
  }

  /// Splits the intervals into two adjacent parts, one of which may belong to a single strand.
  void split(const Part& part, int32_t score) {
    const auto [a1, b1, a2, b2] = part;
    for (int64_t c1 = a1; c1 <= b1; ++c1) {
      for (int64_t c2 = a2; c2 <= b2; ++c2) {
        const Part first{a1, c1, a2, c2}, second{c1, b1, c2, b2};
        if (c1 + c2 == a1 + a2 || c1 + c2 == b1 + b2 || at(first) + at(second) != score) continue;
        left_.push_back(first);
        left_.push_back(second);
        return;
      }
    }
  }

  static BasePair pair(int64_t i, int64_t j) { return {static_cast<int32_t>(i), static_cast<int32_t>(j)}; }

  const InteractionRequest& request_;
  const Fold1& fold1_;
  const Fold2& fold2_;
  const Score score_;
  std::vector<Part> left_;
};

}  // namespace mpmml
