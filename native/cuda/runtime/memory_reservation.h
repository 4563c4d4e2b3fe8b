// Admission of products to the memory of GPUs (core/session/ledger.h), beside packed forms, which make room for products.
#pragma once
#include <cstdint>
#include <functional>

#include "core/session/ledger.h"

namespace mpmml::cuda {

using MemoryReservation = Ledger::MemoryReservation;

/// The reservations of the memory of a device.
Ledger& ledger_of(int device);

/// The bytes that the matrices that stay leave to a product when no other runs and packed forms are dropped. All of it is at
/// most `limit`, unless that is 0.
int64_t device_capacity(int device, int64_t limit);

/// Products that need no more memory don't ask for admission, because asking takes longer than they do. `limit` is the most
/// that may be taken; 0: all that is free. Beside a limit all memory counts.
int64_t unreserved_threshold(int64_t limit);

/// Whether a product can have so many bytes, when no other runs.
bool fits_device(int device, int64_t bytes, int64_t limit);

/// Reserves bytes, at most device_capacity(), and drops packed forms for them. Throws Error(kAborted) if `is_cancelled` while it
/// waits.
MemoryReservation admit(int device, const Ledger::Demand& demand, int64_t limit,
                        const std::function<bool()>& is_cancelled);

}  // namespace mpmml::cuda
