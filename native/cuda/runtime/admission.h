// Admission to a device's memory. Products that run at the same time share it, so each reserves what it needs before it
// allocates anything. While others hold too much it waits, in the order of arrival.
#pragma once
#include <cstdint>
#include <functional>

namespace mpmml::cuda {

/// A share of a device's memory; given back when it goes out of scope.
class Reservation {
 public:
  Reservation() = default;
  Reservation(int device, int64_t bytes) : device_(device), bytes_(bytes) {}
  ~Reservation();
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&&) = delete;

 private:
  int device_ = 0;
  int64_t bytes_ = 0;
};

/// Counts bytes of matrices that stay on the device, or don't stay any longer.
void hold(int device, int64_t bytes);
void let_go(int device, int64_t bytes);

/// The bytes that products have reserved.
int64_t reserved_bytes(int device);

/// The bytes that the matrices that stay leave to a product when no other runs and packed forms are dropped. All of it is at
/// most `limit`, unless that is 0.
int64_t device_capacity(int device, int64_t limit);

/// Products that need no more memory don't ask for admission, because asking takes longer than they do. `limit` is the most
/// that may be taken; 0: all that is free. Beside a limit all memory counts.
int64_t little_memory(int64_t limit);

/// Whether a product can have so many bytes, when no other runs.
bool can_have(int device, int64_t bytes, int64_t limit);

/// Waits until memory may have been given back, but not for long.
void await_others();

/// Reserves `bytes`, at most device_capacity(), as soon as earlier products leave that much, and drops packed forms for them.
/// Throws Error(kAborted) if `is_cancelled` while it waits.
Reservation admit(int device, int64_t bytes, int64_t limit, const std::function<bool()>& is_cancelled);

}  // namespace mpmml::cuda
