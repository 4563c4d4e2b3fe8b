// Graphs as they come: edge lists, and matrices of weights. Their arrays belong to the user.
#pragma once
#include <cstdint>

#include "core/graph/rules.h"

namespace mpmml::graph {

enum class WeightType : uint8_t { kUint8, kInt16, kInt32, kFloat32, kFloat64 };

struct Source {
  int32_t nodes = 0;
  bool is_list = true;
  const void* weights = nullptr;  ///< null for a list whose edges are there whatever they weigh
  WeightType type = WeightType::kInt32;
  double zero = 0;  ///< the weight that is no edge

  // Of a list.
  int64_t edges = 0;
  const int32_t* from = nullptr;
  const int32_t* to = nullptr;
  bool has_zero = true;  ///< whether edges of the weight zero are none

  // Of a matrix: the first element is `weights`.
  int64_t row_stride = 0, col_stride = 0;
};

enum class Direction : uint8_t { kForward, kBackward };

constexpr Direction opposite(Direction direction) {
  return direction == Direction::kForward ? Direction::kBackward : Direction::kForward;
}

/// Calls `use` with a null pointer to the type of the weights.
template <class Use>
void with_weights(WeightType type, Use use) {
  switch (type) {
    case WeightType::kUint8:
      return use(static_cast<const uint8_t*>(nullptr));
    case WeightType::kInt16:
      return use(static_cast<const int16_t*>(nullptr));
    case WeightType::kInt32:
      return use(static_cast<const int32_t*>(nullptr));
    case WeightType::kFloat32:
      return use(static_cast<const float*>(nullptr));
    case WeightType::kFloat64:
      return use(static_cast<const double*>(nullptr));
  }
}

}  // namespace mpmml::graph
