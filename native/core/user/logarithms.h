// Products over semirings whose elements are natural logarithms: x ⊕ y = log(e^x + e^y) and x ⊗ y = x + y.
//
// Pair by pair a step takes an exponential and a logarithm. But the whole product is one over + and ×, of numbers that are exponentials,
// and these are as many as the operands have elements:
//
//   U[i, k] = exp(A[i, k] − r[i]) · 2^50, with r[i] the greatest element of row i; V[k, j] likewise with c[j], of column j
//   S = U · V, summed in ascending order of k
//   C[i, j] = r[i] + c[j] + log(S[i, j] · 2^−100)
//
// The range of float32 is what that costs. An exponential that is less than 2^−74 is taken for 2^−74, so that only logarithms of zero give
// 0, and S is 0 only if there is no candidate but zero. If S ≥ 2^20, a step with such exponentials adds a millionth of a rounding of S. A
// smaller S, which is of candidates that are all less than r[i] + c[j] − 55, and one that infinities or NaN made NaN, says nothing: these
// elements of C are computed pair by pair.
//
// The error of C, in units in the last place of the greatest of 1, |r|, |c| and |C|: k / 2 of the sum, 0.5 of products, 1.8 of
// exponentials, 1.7 of their arguments, 1.9 of the logarithm, 1.5 of the two sums with it.
//
// Each of these parts is a product over a semiring of one's own, so that the bits of a result are the same everywhere, though for all
// but ⊗ and S these are no semirings: of a product of one step only the formula C0 ⊕ (0 ⊕ (a ⊗ b)) is of use, and of one without steps
// C0 ⊕ 0.
#pragma once
#include <memory>

#include "core/user/semiring.h"

namespace mpmml {

/// From so many steps on a product is computed so. Of all sizes only k is the same for each part of a product.
constexpr int64_t kMinStepsOfLogarithms = 32;

/// The parts.
struct LogarithmSteps {
  std::shared_ptr<const UserSemiring> greatest;       ///< max and +, of float32; no NaN is greatest
  std::shared_ptr<const UserSemiring> to_numbers;     ///< C0 ⊕ x = exp(C0 − x) · 2^50
  std::shared_ptr<const UserSemiring> sum;            ///< + and ×
  std::shared_ptr<const UserSemiring> to_logarithms;  ///< C0 ⊕ x = x + log(C0 · 2^−100), and NaN if that says nothing
  std::shared_ptr<const UserSemiring> choose;  ///< of two lanes: of C0 = (x, y) it makes (x, or y if x is NaN; y)
};

const LogarithmSteps& logarithm_steps();

/// Of two lanes: of C0 = (x, y) it makes (x ⊕ y, y), with ⊕ of a semiring of logarithms.
std::shared_ptr<const UserSemiring> joining(const UserSemiring& semiring);

}  // namespace mpmml
