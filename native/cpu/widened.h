// Operands stored as int16, as elements: the CPU's kernels read no others.
#pragma once
#include <optional>

#include "core/problem.h"
#include "core/workspace.h"

namespace mpmml::cpu {

/// A product whose int16 operands are copied into elements.
class WidenedProblem {
 public:
  explicit WidenedProblem(const Problem& problem);

  const Problem& problem() const { return problem_; }

 private:
  void widen(MatrixView& view, std::optional<Workspace>& copy) const;

  Problem problem_;
  std::optional<Workspace> a_, b_;
};

}  // namespace mpmml::cpu
