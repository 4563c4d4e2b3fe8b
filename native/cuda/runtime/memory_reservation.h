// Reservation of GPU memory for products (core/session/ledger.h). Cached packings are dropped to satisfy reservations.
#pragma once
#include <cstdint>
#include <functional>

#include "core/session/ledger.h"

namespace mpmml::cuda {

using MemoryReservation = Ledger::MemoryReservation;

/// Returns the ledger of a device's reservations.
Ledger& ledger_of(int device);

/// Returns the bytes that a product can use apart from resident matrices, if no other product runs and all cached
/// packings are dropped. `limit` bounds the total; 0: no limit.
int64_t device_capacity(int device, int64_t limit);

/// Returns the bytes up to which products need no reservation, because a reservation would take longer than they do.
/// `limit` bounds the memory; 0: all free memory. With a limit, all memory is accounted for.
int64_t unreserved_threshold(int64_t limit);

/// Returns whether a product can have `bytes` bytes if no other product runs.
bool fits_device(int device, int64_t bytes, int64_t limit);

/// Reserves bytes, at most device_capacity(), and drops cached packings for them. Throws Error(kAborted) if
/// `is_cancelled` returns true while it waits.
MemoryReservation reserve(int device, const Ledger::Demand& demand, int64_t limit,
                          const std::function<bool()>& is_cancelled);

}  // namespace mpmml::cuda
