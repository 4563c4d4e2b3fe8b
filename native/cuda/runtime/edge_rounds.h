// Closures by essential edges (kernels/edge_rounds.cuh).
#pragma once
#include "core/session/session.h"
#include "cuda/runtime/session_device.h"

namespace mpmml::cuda {

class EdgeRounds final : public Relaxer {
 public:
  explicit EdgeRounds(SessionDevice& device) : device_(device) {}

  Equal count_equal(const Operation& operation, const MatrixView& a, const MatrixView& b) override;
  bool has_fast_square(const Operation& operation, const MatrixView& a) override;
  bool relax(const EssentialEdges& edges) override;

 private:
  SessionDevice& device_;
};

}  // namespace mpmml::cuda
