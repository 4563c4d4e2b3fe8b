// Why a question about a graph has no answer: what lib makes an error of, in the user's words.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace mpmml::graph {

struct Refusal {
  enum Kind : int32_t {
    kNan,       ///< the weight at `at` is NaN
    kFrom,      ///< edge `at` leaves a node that doesn't exist
    kTo,        ///< edge `at` enters one
    kNegative,  ///< the weight at `at` is below 0, in a product
    kGains,     ///< the weight at `at` makes paths better, which the question rules out
    kCycle,     ///< a cycle gains, or there is one where there may be none
    kInexact,   ///< a sum of integers is beyond 2^53
    kOverflow,  ///< the distance from `from` to `to` isn't in the finite range
    kTooMany,   ///< the graph has more edges than can be numbered
    kUndivided  ///< dissection was asked for, and can't answer
  };

  Kind kind;
  int64_t at = -1;  ///< the index of an edge in its list, or row · nodes + column in a matrix
  int32_t from = -1, to = -1;
  double value = 0;
  std::vector<int32_t> cycle{};  ///< its nodes in order, in the direction of the rows
  std::vector<double> keys{};    ///< of its edges
};

/// By their kinds.
constexpr const char* kRefusalKindNames[] = {"nan",   "from",    "to",       "negative", "gains",
                                             "cycle", "inexact", "overflow", "too many", "undivided"};

}  // namespace mpmml::graph
