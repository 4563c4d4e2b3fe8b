// Copies operands so that their elements outside of a structure are zero, for kernels that read operands in place.
#pragma once
#include <optional>

#include "core/host/workspace.h"
#include "core/problem/problem.h"

namespace mpmml::cpu {

/// A product whose operands aren't structured any more. Its results still are.
class MaskedProblem {
 public:
  /// The zero of the semiring must absorb every value.
  explicit MaskedProblem(const Problem& problem);

  const Problem& problem() const { return problem_; }

 private:
  void mask(MatrixView& view, Band& band, std::optional<Workspace>& copy) const;

  Problem problem_;
  std::optional<Workspace> a_, b_;
};

}  // namespace mpmml::cpu
