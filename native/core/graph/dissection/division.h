// A graph that is divided by separators, kept for several queries.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "core/graph/dissection/factors.h"
#include "core/graph/dissection/ordering.h"
#include "core/graph/source.h"

namespace mpmml::graph {

class Division {
 public:
  template <class Ways>
  using Factors = std::vector<Factor<typename Ways::Value>>;

  template <class Ways>
  Division(Ways, Direction direction, Ordering ordering, Factors<Ways> factors)
      : ordering_(std::move(ordering)),
        direction_(direction),
        kind_(&kind_of<Ways>),
        factors_(std::make_shared<Factors<Ways>>(std::move(factors))),
        bytes_((2 * ordering_.to_borders + ordering_.inside) * static_cast<int64_t>(sizeof(typename Ways::Value))) {}

  const Ordering& ordering() const { return ordering_; }
  int64_t bytes() const { return bytes_; }

  /// Null if the graph was divided for other queries.
  template <class Ways>
  const Factors<Ways>* factors(Direction direction, int32_t nodes) const {
    if (kind_ != &kind_of<Ways> || direction != direction_ || ordering_.place.size() != nodes) return nullptr;
    return static_cast<const Factors<Ways>*>(factors_.get());
  }

 private:
  template <class Ways>
  static constexpr char kind_of = 0;

  Ordering ordering_;
  Direction direction_;
  const void* kind_;
  std::shared_ptr<const void> factors_;
  int64_t bytes_;
};

}  // namespace mpmml::graph
