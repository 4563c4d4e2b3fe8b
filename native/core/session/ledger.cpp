#include "core/session/ledger.h"

#include <algorithm>
#include <chrono>

#include "core/status.h"

namespace mpmml {
namespace {

/// Time between two checks of a waiting product whether it has been cancelled.
constexpr std::chrono::milliseconds kPatience{5};

}  // namespace

void Ledger::hold(int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  held_ += bytes;
  changed_.notify_all();
}

int64_t Ledger::held() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return held_;
}

int64_t Ledger::reserved() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return reserved_;
}

void Ledger::await_change() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, kPatience);
}

Ledger::MemoryReservation Ledger::reserve(const Demand& demand,
                                          const std::function<int64_t(int64_t held)>& available_capacity,
                                          const std::function<bool()>& is_cancelled) {
  std::unique_lock<std::mutex> lock(mutex_);
  const void* const ticket = &demand;
  waiting_.push_back(ticket);
  const auto leave = [&] {
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), ticket));
    changed_.notify_all();
  };
  const auto must_wait = [&] {
    if (has_reserved(demand.call)) return false;
    return waiting_.front() != ticket || (reserved_ > 0 && reserved_ + demand.bytes > available_capacity(held_));
  };
  try {
    while (must_wait()) {
      if (is_cancelled()) throw aborted();
      changed_.wait_for(lock, kPatience);
    }
    if (demand.call) calls_.push_back(demand.call);
  } catch (...) {
    leave();
    throw;
  }
  reserved_ += demand.bytes;
  leave();
  return MemoryReservation(*this, demand.bytes, demand.call);
}

void Ledger::give_back(const MemoryReservation& reservation) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reserved_ -= reservation.bytes_;
  if (reservation.call_) calls_.erase(std::find(calls_.begin(), calls_.end(), reservation.call_));
  changed_.notify_all();
}

bool Ledger::has_reserved(const void* call) const {
  return call && std::find(calls_.begin(), calls_.end(), call) != calls_.end();
}

}  // namespace mpmml
