#include "core/session/user_operands.h"

#include <algorithm>

#include "core/session/product_matrices.h"
#include "core/status.h"

namespace mpmml {

UserProduct with_operands_in(Session& session, const UserProduct& product, KeptMemory& kept) {
  UserProduct there = product;
  for_operands(there, [&](MatrixView& view, DataType dtype) {
    if (!view.data || view.memory) return;
    const MutableMatrixView made = make_like(session, view, product.batch, kept);
    session.upload(dtype, items_of(view, product.batch), view, made, product.cancelled);
    view = read_only(made);
  });
  return there;
}

bool WhenAll::is_done() {
  return std::all_of(works_.begin(), works_.end(), [](const auto& work) { return work->is_done(); });
}

std::vector<Outcome> WhenAll::finish() {
  std::vector<Outcome> all;
  if (kind_ == Kind::kSequence) {
    // The last work is finished first, because the time of a closure is measured until finish() is called.
    for (auto work = works_.rbegin(); work != works_.rend(); ++work) {
      for (Outcome& outcome : (*work)->finish()) all.push_back(std::move(outcome));
    }
    return all;
  }
  for (const auto& work : works_) {
    if (kind_ == Kind::kProducts) {
      of_product(all.size(), [&] { all.push_back(std::move(work->finish().front())); });
      continue;
    }
    for (const Outcome& outcome : work->finish()) {
      all.resize(1);
      all.front().timing.add(outcome.timing);
    }
  }
  return all;
}

}  // namespace mpmml
