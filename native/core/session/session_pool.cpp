#include "core/session/session_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace mpmml {

SessionPool::Lease SessionPool::take(Backend& backend, int device, int64_t limit) {
  const auto is_of_device = [&](const IdleSession& it) { return it.backend == &backend && it.device == device; };
  const auto is_requested = [&](const IdleSession& it) { return is_of_device(it) && it.limit == limit; };
  std::vector<IdleSession> outdated;  // Closed after the lock is released.
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::find_if(idle_.rbegin(), idle_.rend(), is_requested);
    if (found != idle_.rend()) {
      IdleSession taken = std::move(*found);
      idle_.erase(std::next(found).base());
      return {*this, std::move(taken)};
    }
    const auto kept =
        std::stable_partition(idle_.begin(), idle_.end(), [&](const IdleSession& it) { return !is_of_device(it); });
    std::move(kept, idle_.end(), std::back_inserter(outdated));
    idle_.erase(kept, idle_.end());
  }
  return {*this, {&backend, device, limit, backend.open(device, limit)}};
}

void SessionPool::give_back(IdleSession idle) {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(std::move(idle));
}

}  // namespace mpmml
