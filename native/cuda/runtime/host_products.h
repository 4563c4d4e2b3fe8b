// Products of host matrices on a session: what they may take of its device's memory, in how many blocks they run, and which
// of them go together.
#pragma once
#include <memory>
#include <vector>

#include "cuda/plan/planner.h"
#include "cuda/runtime/session_device.h"

namespace mpmml::cuda {

/// What a session computes them with.
struct HostTools {
  Session& session;
  SessionDevice& device;
  Planner& planner;
};

/// Session::multiply() for products whose results are in host memory. Several run together, with one transfer each way.
std::unique_ptr<Pending> multiply_on_host(const HostTools& tools, Problems problems, const Placement& where);

/// Whether a product is so small that it is computed sooner beside others.
bool runs_together(const Problem& problem, const Placement& where);

}  // namespace mpmml::cuda
