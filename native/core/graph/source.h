// Input graphs: edge lists, and matrices of weights, in arrays of the user.
#pragma once
#include <cstdint>

#include "core/graph/rules.h"
#include "generated/element_types.h"

namespace mpmml::graph {

/// Storage types of weights.
enum class WeightType : uint8_t {
#define MPMML_NAME(name, stored, id, element, storage) name,
  MPMML_FOR_EACH_STORED_TYPE(MPMML_NAME)
#undef MPMML_NAME
};

struct Source {
  int32_t nodes = 0;
  bool is_list = true;
  const void* weights = nullptr;  ///< null for a list of edges without weights
  WeightType type = WeightType::int32;
  double zero = 0;  ///< weight that means no edge

  // Edge list only.
  int64_t edges = 0;
  const int32_t* from = nullptr;
  const int32_t* to = nullptr;
  bool has_zero = true;  ///< whether edges with the weight `zero` are ignored

  // Matrix only; its first element is at `weights`.
  int64_t row_stride = 0, col_stride = 0;
};

enum class Direction : uint8_t { kForward, kBackward };

constexpr Direction opposite(Direction direction) {
  return direction == Direction::kForward ? Direction::kBackward : Direction::kForward;
}

/// Calls `use` with a null pointer of the weights' type, for dispatch.
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
