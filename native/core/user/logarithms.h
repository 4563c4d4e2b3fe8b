// Products over semirings whose elements are natural logarithms: x ⊕ y = log(e^x + e^y) and x ⊗ y = x + y.
//
// Computed pair by pair, a step takes an exponential and a logarithm. But the whole product is a product over + and ×
// of exponentials, of which there are only as many as the operands have elements:
//
//   U[i, k] = exp(A[i, k] − r[i]) · 2^50, with r[i] the greatest element of row i; V[k, j] likewise with c[j], of column j
//   S = U · V, summed in ascending order of k
//   C[i, j] = r[i] + c[j] + log(S[i, j] · 2^−100)
//
// The limit of this method is the range of float32. An exponential less than 2^−74 is replaced by 2^−74. So only
// logarithms of zero give 0, and S is 0 only if all candidates are zero. If S ≥ 2^20, a step with such exponentials
// adds a millionth of a rounding of S. A smaller S, whose candidates are all less than r[i] + c[j] − 55, and an S that
// is NaN, determine nothing: these elements of C are computed pair by pair.
//
// The error of C, in units in the last place of the greatest of 1, |r|, |c| and |C|: k / 2 from the sum, 0.5 from
// products, 1.8 from exponentials, 1.7 from their arguments, 1.9 from the logarithm, 1.5 from the two sums with it.
//
// Each of these stages is a product over a custom semiring, so that results have equal bits on all backends. Only the
// stage S is a true semiring. The other stages use the formula of a product of one step, C0 ⊕ (0 ⊕ (a ⊗ b)), or of a
// product without steps, C0 ⊕ 0.
#pragma once
#include <memory>

#include "core/user/semiring.h"

namespace mpmml {

/// Minimum k for this method. The condition depends on k alone, because k is the only size that is equal for each part
/// of a product.
constexpr int64_t kMinStepsOfLogarithms = 32;

/// Semirings of the stages.
struct LogarithmSteps {
  std::shared_ptr<const UserSemiring> greatest;    ///< max and + over float32; skips NaN
  std::shared_ptr<const UserSemiring> to_numbers;  ///< C0 ⊕ x = exp(C0 − x) · 2^50
  std::shared_ptr<const UserSemiring> sum;         ///< + and ×
  std::shared_ptr<const UserSemiring>
      to_logarithms;                           ///< C0 ⊕ x = x + log(C0 · 2^−100), and NaN if that is undetermined
  std::shared_ptr<const UserSemiring> choose;  ///< two lanes: converts C0 = (x, y) to (x, or y if x is NaN; y)
};

const LogarithmSteps& logarithm_steps();

/// Returns a semiring of two lanes that converts C0 = (x, y) to (x ⊕ y, y), with ⊕ of a semiring of logarithms.
std::shared_ptr<const UserSemiring> joining(const UserSemiring& semiring);

}  // namespace mpmml
