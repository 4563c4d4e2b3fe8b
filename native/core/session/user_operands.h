// Matrices of products over custom semirings, in the memory of a session.
#pragma once
#include <memory>
#include <vector>

#include "core/problem/region.h"
#include "core/session/session.h"
#include "core/user/product.h"

namespace mpmml {

using KeptMemory = std::vector<std::shared_ptr<Memory>>;

/// Allocates row-major matrices of the sizes of `view` in the session. All lanes have 32 bits.
template <class View>
MutableMatrixView make_like(Session& session, const View& view, int64_t batch, KeptMemory& kept) {
  static_assert(element_bytes(DataType::kInt32) == element_bytes(DataType::kFloat32), "all lanes have 32 bits");
  const int64_t items = items_of(view, batch), row_bytes = view.cols * element_bytes(DataType::kInt32);
  kept.push_back(items > 1 ? session.allocate_units(items, view.rows * row_bytes)
                           : session.allocate_units(view.rows, row_bytes));
  MutableMatrixView made = row_major<void*>(nullptr, view.rows, view.cols);
  if (items == 1) made.batch_stride = 0;
  return placed_in(*kept.back(), made);
}

/// Returns the product with operands in host memory copied to the session.
UserProduct with_operands_in(Session& session, const UserProduct& product, KeptMemory& kept);

/// Combination of consecutive works of a session, with the memory that only they use.
class WhenAll final : public Pending {
 public:
  enum class Kind : uint8_t {
    kProducts,  ///< one product each: finish() returns an outcome for each, and errors name the failed product
    kParts,     ///< parts of one product: finish() returns one outcome with the total time, if any part has one
    kSequence   ///< each started after the previous one: finish() returns the outcomes of the last one first
  };
  explicit WhenAll(Kind kind, KeptMemory kept = {}) : kind_(kind), kept_(std::move(kept)) {}
  void add(std::unique_ptr<Pending> work) { works_.push_back(std::move(work)); }

  bool is_done() override;
  std::vector<Outcome> finish() override;

 private:
  const Kind kind_;
  const KeptMemory kept_;
  std::vector<std::unique_ptr<Pending>> works_;  ///< last member: works use the memory
};

}  // namespace mpmml
