// Products of one call to a session. Small products share launches, and structured products are batched, because
// thousands of launches of 30 µs each would leave the GPU idle most of the time.
#pragma once
#include <vector>

#include "cuda/runtime/session_product.h"

namespace mpmml::cuda {

/// Queues products in the device's stream like queue_product(). Small products run together, in one launch per kernel
/// and arithmetic; the time of a launch is divided among its products in proportion to their k-steps. Throws Error,
/// with the index of the failed product if there are several.
std::vector<QueuedProduct> queue_products(Problems problems, const Placement& where, Planner& planner,
                                          SessionDevice& device, Lane& lane);

}  // namespace mpmml::cuda
