// Whether cycles of floats gain, computed without rounding.
#pragma once
#include <vector>

#include "core/graph/progress.h"
#include "core/graph/rules.h"

namespace mpmml::graph {

/// Whether a cycle of edges with these keys makes paths better. They are finite, and those of a product above 0, or one is
/// infinite: then it gains. The time for a product that is close to 1 grows with the square of its length. Throws given_up().
bool cycle_gains(Extension extension, const std::vector<double>& keys, const ProgressReporter& reporter);

}  // namespace mpmml::graph
