// Graphs as they come: edge lists, and matrices of weights. Their arrays belong to the user.
#pragma once
#include <cstdint>

#include "core/graph/rules.h"
#include "generated/element_types.h"

namespace mpmml::graph {

/// What elements may be stored as.
enum class WeightType : uint8_t {
#define MPMML_NAME(name, stored, id, element, storage) name,
  MPMML_FOR_EACH_STORED_TYPE(MPMML_NAME)
#undef MPMML_NAME
};

struct Source {
  int32_t nodes = 0;
  bool is_list = true;
  const void* weights = nullptr;  ///< null for a list whose edges are there whatever they weigh
  WeightType type = WeightType::int32;
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
#define MPMML_CASE(name, stored, id, element, storage) \
  case WeightType::name:                               \
    return use(static_cast<const stored*>(nullptr));
    MPMML_FOR_EACH_STORED_TYPE(MPMML_CASE)
#undef MPMML_CASE
  }
}

}  // namespace mpmml::graph
