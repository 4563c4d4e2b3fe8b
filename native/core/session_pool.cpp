#include "core/session_pool.h"

#include <algorithm>

namespace mpmml {

SessionPool::Idle SessionPool::take(int device, int64_t limit, const Open& open) {
  std::vector<Idle> outdated;  // Closed when the lock is free again.
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto is_of_another_limit = [&](const Idle& it) { return it.device == device && it.limit != limit; };
    const auto kept =
        std::stable_partition(idle_.begin(), idle_.end(), [&](const Idle& it) { return !is_of_another_limit(it); });
    std::move(kept, idle_.end(), std::back_inserter(outdated));
    idle_.erase(kept, idle_.end());
    const auto found = std::find_if(idle_.begin(), idle_.end(), [&](const Idle& it) { return it.device == device; });
    if (found != idle_.end()) {
      Idle taken = std::move(*found);
      idle_.erase(found);
      return taken;
    }
  }
  return {device, limit, open()};
}

void SessionPool::give_back(Idle idle) {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(std::move(idle));
}

}  // namespace mpmml
