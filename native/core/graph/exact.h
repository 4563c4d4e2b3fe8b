// Whether cycles of floats gain, computed without rounding.
#pragma once
#include <vector>

#include "core/graph/rules.h"

namespace mpmml::graph {

/// Whether a cycle of edges with these keys makes paths better. They are finite, and those of a product above 0, or one is
/// infinite: then it gains.
bool cycle_gains(Extension extension, const std::vector<double>& keys);

}  // namespace mpmml::graph
