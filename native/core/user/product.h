// A product over a semiring of one's own.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "core/problem/problem.h"
#include "core/problem/region.h"
#include "core/problem/structured.h"
#include "core/user/logarithms.h"
#include "core/user/semiring.h"
#include "core/watch.h"

namespace mpmml {

/// A matrix for each lane of the semiring; the others aren't there.
template <class View>
using UserLanes = std::array<View, kMaxUserLanes>;

/// For each element of C, in this order, so that the bits of a result are the same everywhere:
///
///   acc = zero
///   for k = 0, 1, … in ascending order, if A[i, k] and B[k, j] are in the structure: acc = acc ⊕ (A[i, k] ⊗ B[k, j])
///   C[i, j] = acc, or C0[i, j] ⊕ acc if there is a C0
///
/// If zero absorbs, a kernel may add steps with it: then acc ⊕ zero has to be acc, which the definition claims.
///
/// But acc of logarithms, if there are many steps, is found as logarithms.h says.
///
/// The witness is the smallest k whose candidate has the same bits as C's element in each lane, and −1 if there is none or C's
/// element is zero. Only for semirings that are selective.
struct UserProduct : FurtherResults {
  std::shared_ptr<const UserSemiring> semiring;
  int64_t batch = 1;
  int64_t m = 0, n = 0, k = 0;
  UserLanes<MatrixView> a;         ///< M × K
  UserLanes<MatrixView> b;         ///< K × N
  UserLanes<MatrixView> c0;        ///< M × N; data is null if nothing is accumulated
  UserLanes<MutableMatrixView> c;  ///< M × N; may be the same as c0, must overlap nothing else
  /// Elements of A and B outside of it are never read. Those of results are never written.
  Structure structure;
  bool keeps_c = true;  ///< as in Problem
  const std::atomic<int32_t>* cancelled = nullptr;
  std::atomic<double>* steps_done = nullptr;

  size_t lane_count() const { return semiring->lane_count(); }
  bool accumulates() const { return c0[0].data != nullptr; }
  int64_t outputs() const { return batch * m * n; }
  bool has_steps() const { return outputs() > 0 && k > 0; }
  /// Whether it is one of logarithms that is computed with their exponentials.
  bool is_of_logarithms() const { return semiring->logarithms && k >= kMinStepsOfLogarithms; }
  bool is_structured() const { return !structure.is_general(m, n, k); }
  /// Those that count.
  double steps() const;
  /// Operations of kernels, of which each step takes as many as ⊕ and ⊗ have nodes; of logarithms also the elements.
  double operations() const;
  bool is_cancelled() const { return is_set(cancelled); }
  /// Counts k-steps that are done.
  void count_steps(double steps) const { add_to(steps_done, steps); }
};

inline Region whole(const UserProduct& product) { return {{0, product.batch}, {0, product.m}, {0, product.n}}; }

/// The product that a region of C is.
UserProduct sub(const UserProduct& product, const Region& region);

/// The results that clear_outside() sets, as those of a Problem (structured.h).
std::vector<ClearedResult> cleared_results(const UserProduct& product);

}  // namespace mpmml
