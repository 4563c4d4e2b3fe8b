#include "cuda/runtime/memory_reservation.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "core/status.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/packed_forms.h"

namespace mpmml::cuda {
namespace {

// Bytes that aren't reserved: for the driver, and for products that are too small for a reservation.
constexpr int64_t kHeadroom = int64_t{256} << 20;

/// Returns the capacity in bytes, minus the `held` bytes.
int64_t available_capacity(int64_t held, int device, int64_t limit) {
  const DeviceMemory memory = device_memory(device);
  const int64_t capacity = memory.free + memory.pooled - kHeadroom;
  return std::max<int64_t>((limit > 0 ? std::min(capacity, limit) : capacity) - held, 0);
}

/// Returns the bytes of cached packings that exceed the memory left by resident matrices and reservations. An amount
/// below the threshold never counts.
int64_t surplus_of_forms(int device, int64_t limit) {
  const int64_t forms = bytes_of_forms(device) - unreserved_threshold(limit);
  if (forms <= 0) return 0;
  return std::min(forms, ledger_of(device).reserved() + forms - device_capacity(device, limit));
}

}  // namespace

Ledger& ledger_of(int device) {
  // Never destroyed, because threads may still release memory at the end of the process.
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::map<int, Ledger>;
  const std::lock_guard<std::mutex> lock(mutex);
  return all[device];
}

int64_t device_capacity(int device, int64_t limit) {
  return available_capacity(ledger_of(device).held(), device, limit);
}

int64_t unreserved_threshold(int64_t limit) {
  constexpr int64_t kLittle = int64_t{64} << 20;
  return limit > 0 ? 0 : kLittle;
}

bool fits_device(int device, int64_t bytes, int64_t limit) {
  return bytes <= unreserved_threshold(limit) || bytes <= device_capacity(device, limit);
}

MemoryReservation reserve(int device, const Ledger::Demand& demand, int64_t limit,
                          const std::function<bool()>& is_cancelled) {
  Ledger& ledger = ledger_of(device);
  MemoryReservation reservation =
      ledger.reserve(demand, [&](int64_t held) { return available_capacity(held, device, limit); }, is_cancelled);
  // No new packing can take the memory meanwhile, because the bytes are reserved. Packings in use by products are
  // dropped when these are queued.
  for (int64_t surplus; (surplus = surplus_of_forms(device, limit)) > 0;) {
    if (is_cancelled()) throw aborted();
    if (drop_forms(device, surplus) == 0) ledger.await_change();
  }
  return reservation;
}

}  // namespace mpmml::cuda
