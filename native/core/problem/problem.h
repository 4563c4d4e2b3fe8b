// What is to be computed: C = C0 ⊕ A ⊗ B for a batch of matrices, with any strides, over one semiring.
#pragma once
#include <atomic>
#include <cstdint>

#include "core/algebra/operation.h"
#include "core/algebra/range_path.h"
#include "core/problem/auxiliary_outputs.h"
#include "core/problem/layout.h"
#include "core/problem/structure.h"

namespace mpmml {

enum class BackendKind : uint8_t { kCpu, kCuda };
constexpr const char* kBackendNames[] = {"cpu", "cuda"};

/// Whether the flag says that work is given up. It may be null: then it can't be.
inline bool is_set(const std::atomic<int32_t>* cancelled) {
  return cancelled && cancelled->load(std::memory_order_relaxed) != 0;
}

struct ValueRange;

/// The witness of a product says which k decides each element of C. That is the smallest k whose candidate a ⊗ b attains C, and
/// −1 if C is zero or only c0 attains it. Only for semirings whose ⊕ is idempotent.
struct Problem : FurtherResults {
  Operation operation;
  int64_t batch = 1;
  MatrixView a;         ///< M × K
  MatrixView b;         ///< K × N
  MatrixView c0;        ///< M × N; data is null if nothing is accumulated
  MutableMatrixView c;  ///< M × N; may be the same as c0, must overlap nothing else
  /// Elements of A and B outside of it are zero and are never read. Those of results are never written.
  Structure structure;
  /// M × K, int32, or data is null. If it isn't, `witness` follows paths: if a candidate is strictly better than c0, the
  /// witness becomes the element of `through` in its row and in column k, where k is the smallest that attains C. Other
  /// witnesses stay as they are.
  MatrixView through;
  /// What the caller knows of the finite elements of A, B, C0 and C. Then they aren't scanned. Null: nothing.
  const ValueRange* known = nullptr;
  /// The same of A and B only, if more is known of them; only beside `known`.
  const ValueRange* known_operands = nullptr;
  /// Whether c must be unchanged after an error. Memory that was allocated for the result needn't be, because it
  /// isn't seen then.
  bool keeps_c = true;
  /// Set by another thread to have the product given up; null if it can't be.
  const std::atomic<int32_t>* cancelled = nullptr;
  /// The same if another part of the product has failed.
  const std::atomic<int32_t>* stopped = nullptr;
  /// Where the k-steps that are done are counted, for another thread to see; null if they aren't counted.
  std::atomic<double>* steps_done = nullptr;

  int64_t m() const { return a.rows; }
  int64_t n() const { return b.cols; }
  int64_t k() const { return a.cols; }
  int64_t outputs() const { return batch * m() * n(); }
  /// Whether there is anything to compute from.
  bool has_steps() const { return outputs() > 0 && k() > 0; }
  /// Whether an operand is stored in another type than that of its elements.
  bool has_narrow() const { return a.storage != Storage::kElement || b.storage != Storage::kElement; }
  /// Whether what is no result, or what nothing decides, keeps what it holds among the further results.
  bool updates_further() const { return through.data != nullptr; }
  bool is_cancelled() const { return is_set(cancelled) || is_set(stopped); }
  /// Counts the steps of `outputs` results, or a share of them.
  void count_steps(double outputs, double share = 1) const {
    if (!steps_done) return;
    const double steps = outputs * static_cast<double>(k()) * share;
    double known = steps_done->load(std::memory_order_relaxed);
    while (!steps_done->compare_exchange_weak(known, known + steps, std::memory_order_relaxed)) {
    }
  }
};

}  // namespace mpmml
