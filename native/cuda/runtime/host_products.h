// Products of host matrices on a session: memory reservation, partition into blocks, and grouping of small products.
#pragma once
#include <memory>
#include <vector>

#include "cuda/plan/planner.h"
#include "cuda/runtime/session_device.h"

namespace mpmml::cuda {

/// Resources of a session for products of host matrices.
struct HostTools {
  Session& session;
  SessionDevice& device;
  Planner& planner;
};

/// Session::multiply() for products whose results are in host memory. Small products run together, with one transfer
/// in each direction.
std::unique_ptr<Pending> multiply_on_host(const HostTools& tools, Problems problems, const Placement& where);

/// Returns whether a product is so small that grouping it with others is faster.
bool runs_together(const Problem& problem, const Placement& where);

}  // namespace mpmml::cuda
