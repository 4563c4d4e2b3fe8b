#include "core/session/session_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace mpmml {

SessionPool::Loan SessionPool::take(Backend& backend, int device, int64_t limit) {
  using Entry = std::unique_ptr<Idle>;
  const auto is_of_device = [&](const Entry& it) { return it->backend == &backend && it->device == device; };
  const auto is_wanted = [&](const Entry& it) { return is_of_device(it) && it->limit == limit; };
  Entry latest(latest_.exchange(nullptr));
  if (latest && is_wanted(latest)) return {*this, std::move(latest)};
  std::vector<Entry> outdated;  // Closed when the lock is free again.
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (latest) others_.push_back(std::move(latest));
    const auto found = std::find_if(others_.rbegin(), others_.rend(), is_wanted);
    if (found != others_.rend()) {
      Entry taken = std::move(*found);
      others_.erase(std::next(found).base());
      return {*this, std::move(taken)};
    }
    const auto kept =
        std::stable_partition(others_.begin(), others_.end(), [&](const Entry& it) { return !is_of_device(it); });
    std::move(kept, others_.end(), std::back_inserter(outdated));
    others_.erase(kept, others_.end());
  }
  return {*this, std::make_unique<Idle>(Idle{&backend, device, limit, backend.open(device, limit)})};
}

void SessionPool::give_back(std::unique_ptr<Idle> idle) {
  std::unique_ptr<Idle> before(latest_.exchange(idle.release()));
  if (!before) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  others_.push_back(std::move(before));
}

}  // namespace mpmml
