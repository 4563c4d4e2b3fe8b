// Description of a product: C = C0 ⊕ A ⊗ B for a batch of matrices, with any strides, over one semiring.
#pragma once
#include <atomic>
#include <cstdint>

#include "core/algebra/operation.h"
#include "core/algebra/range_path.h"
#include "core/problem/auxiliary_outputs.h"
#include "core/problem/layout.h"
#include "core/problem/structure.h"
#include "core/watch.h"

namespace mpmml {

enum class BackendKind : uint8_t { kCpu, kCuda };
constexpr const char* kBackendNames[] = {"cpu", "cuda"};

/// Returns whether the cancellation flag is set. A null flag is never set.
inline bool is_set(const std::atomic<int32_t>* cancelled) {
  return cancelled && cancelled->load(std::memory_order_relaxed) != 0;
}

struct ValueRange;

/// Parts that products over the library's semirings and over custom ones share.
struct ProductBase : AuxiliaryOutputs {
  int64_t batch = 1;
  /// Bands of the matrices. Elements of A and B outside of them are zero and are never read. Elements of results
  /// outside of them are never written.
  Structure structure;
  /// True if c must be unchanged after an error. New memory for the result may change, because the user doesn't see it
  /// then.
  bool keeps_c = true;
  /// Flag by which another thread cancels the product; null: not cancellable.
  const std::atomic<int32_t>* cancelled = nullptr;
  /// Flag that cancels this part of a product after the failure of another part; may be null.
  const std::atomic<int32_t>* stopped = nullptr;
  /// Counter of completed k-steps, which other threads read; null: not counted.
  std::atomic<double>* steps_done = nullptr;

  bool is_cancelled() const { return is_set(cancelled) || is_set(stopped); }
};

/// A product. Its witness is the k that decides each element of C: the smallest k whose candidate a ⊗ b attains C, and
/// −1 if C is zero or only c0 attains it. Only for semirings whose ⊕ is idempotent.
struct Problem : ProductBase {
  Operation operation;
  MatrixView a;         ///< M × K
  MatrixView b;         ///< K × N
  MatrixView c0;        ///< M × N; data is null if nothing is accumulated
  MutableMatrixView c;  ///< M × N; may be c0 itself, must not overlap other matrices
  /// M × K, int32, or data is null. If set, `witness` contains next nodes. A witness changes only if a candidate is
  /// strictly better than c0. Let k be the smallest index that attains C: the witness becomes the element of `through`
  /// in its row and in column k.
  MatrixView through;
  /// Known range of the finite elements of A, B, C0 and C, which aren't scanned then; null: unknown.
  const ValueRange* known = nullptr;
  /// Tighter known range of A and B, if any. Requires `known`.
  const ValueRange* known_operands = nullptr;

  int64_t m() const { return a.rows; }
  int64_t n() const { return b.cols; }
  int64_t k() const { return a.cols; }
  int64_t outputs() const { return batch * m() * n(); }
  /// Returns whether the product has results and K > 0.
  bool has_steps() const { return outputs() > 0 && k() > 0; }
  /// Returns whether an operand is stored in a narrower type than its elements.
  bool has_narrow() const { return a.storage != Storage::kElement || b.storage != Storage::kElement; }
  /// Returns whether auxiliary outputs keep their values where no candidate decides a result, and outside of the
  /// structure.
  bool updates_auxiliary() const { return through.data != nullptr; }
  /// Counts the steps of `outputs` results, times `share`.
  void count_steps(double outputs, double share = 1) const {
    add_to(steps_done, outputs * static_cast<double>(k()) * share);
  }
};

}  // namespace mpmml
