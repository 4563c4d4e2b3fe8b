// The products of one call to a session. Many small ones share a launch, and structured ones are batched: at 30 µs for each
// of thousands of launches the GPU would be idle most of the time.
#pragma once
#include <vector>

#include "cuda/runtime/session_product.h"

namespace mpmml::cuda {

/// Queues the products in the device's stream, as queue_product() does each. Small ones are
/// computed together, in one launch for each kernel and path; a launch's time is divided among its products by their
/// steps. Throws Error with the place of the product that failed, if there are several.
std::vector<QueuedProduct> queue_products(Problems problems, const Placement& where, Planner& planner,
                                          SessionDevice& device, Lane& lane);

}  // namespace mpmml::cuda
