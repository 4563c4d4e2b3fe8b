// Cache of a graph's nested dissection for multiple queries.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "core/graph/dissection/elimination_order.h"
#include "core/graph/dissection/factorization.h"
#include "core/graph/source.h"

namespace mpmml::graph {

class Dissection {
 public:
  template <class PathAlgebra>
  using Factorization = std::vector<SupernodeFactor<typename PathAlgebra::Value>>;

  template <class PathAlgebra>
  Dissection(PathAlgebra, Direction direction, Ordering ordering, Factorization<PathAlgebra> factors)
      : ordering_(std::move(ordering)),
        direction_(direction),
        kind_(&kind_of<PathAlgebra>),
        factors_(std::make_shared<Factorization<PathAlgebra>>(std::move(factors))),
        bytes_((2 * ordering_.to_borders + ordering_.inside) *
               static_cast<int64_t>(sizeof(typename PathAlgebra::Value))) {}

  const Ordering& ordering() const { return ordering_; }
  int64_t bytes() const { return bytes_; }

  /// Returns the factorization; null if the graph was dissected for other queries.
  template <class PathAlgebra>
  const Factorization<PathAlgebra>* factors(Direction direction, int32_t nodes) const {
    if (kind_ != &kind_of<PathAlgebra> || direction != direction_ || ordering_.place.size() != nodes) return nullptr;
    return static_cast<const Factorization<PathAlgebra>*>(factors_.get());
  }

 private:
  template <class PathAlgebra>
  static constexpr char kind_of = 0;

  Ordering ordering_;
  Direction direction_;
  const void* kind_;
  std::shared_ptr<const void> factors_;
  int64_t bytes_;
};

}  // namespace mpmml::graph
