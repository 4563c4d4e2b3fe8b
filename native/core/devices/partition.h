// Partition of one product among multiple devices.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/problem/problem.h"
#include "core/problem/region.h"
#include "core/session/backend.h"
#include "core/status.h"

namespace mpmml {

/// Divides [0, size) in proportion to the speeds of devices. Returns a span for each device, in their order; a span may
/// be empty. `in_tiles`: rounds spans to whole tiles of rows or columns, if there are enough.
std::vector<Span> shares_of(int64_t size, const std::vector<double>& speeds, bool in_tiles);

/// Divides the region of a whole product in proportion to the speeds of the devices, by batch entries, rows or columns.
/// Returns a region for each device, in their order; one may be empty.
std::vector<Region> divide(const Region& all, const std::vector<double>& speeds);

/// Returns `where` for a region of a product whose other regions other devices compute.
Placement for_part(const Problem& problem, const Region& region, const Placement& where);

/// Measured speeds of devices, for parts in proportion to them.
class Speeds {
 public:
  /// Returns the speeds of `devices`, or `fallback` if one of them hasn't been measured.
  std::vector<double> of(const Operation& operation, const std::vector<int>& devices,
                         const std::vector<double>& fallback);
  /// Records the speeds in one product. Only their ratios are stored, because other products are faster or slower on all
  /// devices.
  void measured(const Operation& operation, const std::vector<int>& devices, const std::vector<double>& speeds);

 private:
  struct Known {
    SemiringId semiring;
    DataType dtype;
    int device;
    double speed;
  };
  std::mutex mutex_;
  std::vector<Known> known_;
};

/// Returns whether the cause of an error is the device, and not the request.
inline bool is_of_device(const Error& error) {
  return error.code() == ErrorCode::kCuda || error.code() == ErrorCode::kOutOfMemory;
}

/// Returns the name of a device in messages.
std::string name_of_device(BackendKind backend, int device);

/// Returns `error` with the name of the device in its message.
Error of_device(BackendKind backend, int device, const Error& error);

}  // namespace mpmml
