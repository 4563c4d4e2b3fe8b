#include "cuda/runtime/admission.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "core/status.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/packed_forms.h"

namespace mpmml::cuda {
namespace {

// Left for the driver, and for products that are too small to ask for admission.
constexpr int64_t kHeadroom = int64_t{256} << 20;
// How often a waiting product checks whether it has been given up.
constexpr std::chrono::milliseconds kPatience{5};

struct Ledger {
  int64_t reserved = 0;
  int64_t held = 0;                 ///< by matrices that stay
  std::deque<const void*> waiting;  ///< in the order of arrival
};

struct Ledgers {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, Ledger> of_device;
};

Ledgers& ledgers() {
  // Never destroyed, because threads may still give memory back at the end of the process.
  static auto* const all = new Ledgers;
  return *all;
}

/// The capacity beside what is `held`.
int64_t capacity_beside(int64_t held, int device, int64_t limit) {
  const DeviceMemory memory = device_memory(device);
  const int64_t capacity = memory.free + memory.pooled - kHeadroom;
  return std::max<int64_t>((limit > 0 ? std::min(capacity, limit) : capacity) - held, 0);
}

/// Size of the packed forms that exceed what matrices that stay and reservations leave, in bytes. Little has room always.
int64_t surplus_of_forms(int device, int64_t limit) {
  const int64_t forms = bytes_of_forms(device) - little_memory(limit);
  if (forms <= 0) return 0;
  Ledgers& all = ledgers();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const Ledger& ledger = all.of_device[device];
  return std::min(forms, ledger.reserved + forms - capacity_beside(ledger.held, device, limit));
}

void change_held(int device, int64_t bytes) {
  Ledgers& all = ledgers();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.of_device[device].held += bytes;
  all.changed.notify_all();
}

}  // namespace

Reservation::Reservation(Reservation&& other) noexcept
    : device_(other.device_), bytes_(std::exchange(other.bytes_, 0)) {}

Reservation::~Reservation() {
  if (bytes_ == 0) return;
  Ledgers& all = ledgers();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.of_device[device_].reserved -= bytes_;
  all.changed.notify_all();
}

void hold(int device, int64_t bytes) { change_held(device, bytes); }
void let_go(int device, int64_t bytes) { change_held(device, -bytes); }

int64_t reserved_bytes(int device) {
  Ledgers& all = ledgers();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.of_device[device].reserved;
}

int64_t device_capacity(int device, int64_t limit) {
  int64_t held;
  {
    Ledgers& all = ledgers();
    const std::lock_guard<std::mutex> lock(all.mutex);
    held = all.of_device[device].held;
  }
  return capacity_beside(held, device, limit);
}

int64_t little_memory(int64_t limit) {
  constexpr int64_t kLittle = int64_t{64} << 20;
  return limit > 0 ? 0 : kLittle;
}

bool can_have(int device, int64_t bytes, int64_t limit) {
  return bytes <= little_memory(limit) || bytes <= device_capacity(device, limit);
}

void await_others() {
  Ledgers& all = ledgers();
  std::unique_lock<std::mutex> lock(all.mutex);
  all.changed.wait_for(lock, kPatience);
}

Reservation admit(int device, int64_t bytes, int64_t limit, const std::function<bool()>& is_cancelled) {
  Ledgers& all = ledgers();
  std::unique_lock<std::mutex> lock(all.mutex);
  Ledger& ledger = all.of_device[device];
  const void* const ticket = &bytes;
  ledger.waiting.push_back(ticket);
  const auto leave = [&] {
    ledger.waiting.erase(std::find(ledger.waiting.begin(), ledger.waiting.end(), ticket));
    all.changed.notify_all();
  };
  try {
    // A product is always admitted if no other holds memory, because it was checked before that it fits at all.
    while (ledger.waiting.front() != ticket ||
           (ledger.reserved > 0 && ledger.reserved + bytes > capacity_beside(ledger.held, device, limit))) {
      if (is_cancelled()) throw given_up();
      all.changed.wait_for(lock, kPatience);
    }
  } catch (...) {
    leave();
    throw;
  }
  ledger.reserved += bytes;
  leave();
  lock.unlock();
  Reservation reservation(device, bytes);
  // No form is added meanwhile that has no room, because the bytes are reserved. Forms that products hold follow soon.
  for (int64_t surplus; (surplus = surplus_of_forms(device, limit)) > 0;) {
    if (is_cancelled()) throw given_up();
    if (drop_forms(device, surplus) == 0) await_others();
  }
  return reservation;
}

}  // namespace mpmml::cuda
