// Converts operands stored as int16 into elements, because the CPU's kernels read only those.
#pragma once
#include <optional>

#include "core/host/workspace.h"
#include "core/problem/problem.h"

namespace mpmml::cpu {

/// A product whose int16 operands are copied into elements.
class WidenedProblem {
 public:
  explicit WidenedProblem(const Problem& problem);

  const Problem& problem() const { return problem_; }

 private:
  void widen(MatrixView& view, const Band& band, std::optional<Workspace>& copy) const;

  Problem problem_;
  std::optional<Workspace> a_, b_;
};

}  // namespace mpmml::cpu
