// Exact test of whether cycles with weights of floats improve paths.
#pragma once
#include <vector>

#include "core/graph/progress.h"
#include "core/graph/rules.h"

namespace mpmml::graph {

/// Returns whether a cycle of edges with these keys improves paths, without rounding. Keys must be finite, and positive
/// for products; a cycle with an infinite key improves. The time for a product close to 1 grows with the square of its
/// length. Throws aborted().
bool cycle_gains(Extension extension, const std::vector<double>& keys, const ProgressReporter& reporter);

}  // namespace mpmml::graph
