// Several devices as one: a session among whose devices matrices are spread by rows (batches by instances).
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "core/session.h"

namespace mpmml {

/// Starts a product on one of the sessions. An overflow is an OverflowError.
using Multiply = std::function<std::unique_ptr<Pending>(Session& session, const std::vector<Problem>& problem,
                                                        const Placement& where)>;

struct SpreadDevices {
  /// All of one backend.
  std::vector<std::unique_ptr<Session>> sessions;
  /// What each is called.
  std::vector<int> numbers;
  /// How fast each is: by that it gets rows.
  std::vector<double> speeds;
  /// A matrix of fewer bytes isn't spread, and one of fewer nodes is closed on the first device.
  SeveralLimits limits;
  Multiply multiply;
};

std::unique_ptr<Session> spread_over(SpreadDevices devices);

}  // namespace mpmml
