// A product over a custom semiring.
#pragma once
#include <array>
#include <cstdint>
#include <memory>

#include "core/problem/problem.h"
#include "core/problem/region.h"
#include "core/problem/structured.h"
#include "core/user/logarithms.h"
#include "core/user/semiring.h"

namespace mpmml {

/// One matrix for each lane of the semiring; unused lanes are null.
template <class View>
using UserLanes = std::array<View, kMaxUserLanes>;

/// Definition of the product. The order of operations is fixed, so that results have equal bits on all backends. For
/// each element of C:
///
///   acc = zero
///   for k = 0, 1, … in ascending order, if A[i, k] and B[k, j] are in the structure: acc = acc ⊕ (A[i, k] ⊗ B[k, j])
///   C[i, j] = acc, or C0[i, j] ⊕ acc if there is a C0
///
/// If zero absorbs, a kernel may add steps with zero: the definition guarantees acc ⊕ zero = acc.
///
/// Products of logarithms with many steps compute acc by the method of logarithms.h instead.
///
/// The witness is the smallest k whose candidate has the bits of C's element in each lane. It is −1 without such a k,
/// or if C's element is zero. Only for semirings that are selective.
struct UserProduct : ProductBase {
  std::shared_ptr<const UserSemiring> semiring;
  UserLanes<MatrixView> a;         ///< M × K
  UserLanes<MatrixView> b;         ///< K × N
  UserLanes<MatrixView> c0;        ///< M × N; data is null if nothing is accumulated
  UserLanes<MutableMatrixView> c;  ///< M × N; may be c0 itself, must not overlap other matrices

  int64_t m() const { return a[0].rows; }
  int64_t n() const { return b[0].cols; }
  int64_t k() const { return a[0].cols; }
  size_t lane_count() const { return semiring->lane_count(); }
  DataType dtype(size_t lane) const { return stored_type(semiring->lanes[lane]); }
  bool accumulates() const { return c0[0].data != nullptr; }
  int64_t outputs() const { return batch * m() * n(); }
  bool has_steps() const { return outputs() > 0 && k() > 0; }
  /// Returns whether the product is computed by the exponentials of logarithms.
  bool is_of_logarithms() const { return semiring->logarithms && k() >= kMinStepsOfLogarithms; }
  bool is_structured() const { return !structure.is_general(m(), n(), k()); }
  /// Returns the number of k-steps in the structure.
  double steps() const;
  /// Returns the number of operations of kernels. A step takes one operation for each node of ⊕ and ⊗; logarithms add
  /// operations for each element.
  double operations() const;
  /// Counts completed k-steps.
  void count_steps(double steps) const { add_to(steps_done, steps); }
};

inline Region whole(const UserProduct& product) { return {{0, product.batch}, {0, product.m()}, {0, product.n()}}; }

/// Returns the product that computes a region of C.
UserProduct sub(const UserProduct& product, const Region& region);

/// Returns the results that clear_outside() initializes, as for a Problem (structured.h).
std::vector<ClearedResult> cleared_results(const UserProduct& product);

}  // namespace mpmml
