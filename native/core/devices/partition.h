// One product on several devices: how it is divided.
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

/// Divides [0, size) in proportion to the speeds of devices. A span for each of them, in their order; one may be empty.
/// `in_tiles`: whether they consist of whole tiles of rows or columns, if there are enough.
std::vector<Span> shares_of(int64_t size, const std::vector<double>& speeds, bool in_tiles);

/// Divides the region that is all of a product in proportion to the speeds of the devices, by its instances, its rows or its
/// columns. Returns a region for each device, in their order; one may be empty.
std::vector<Region> divide(const Region& all, const std::vector<double>& speeds);

/// `where`, for a region of a product of which other devices compute the rest.
Placement for_part(const Problem& problem, const Region& region, const Placement& where);

/// How fast devices have been in the parts that they computed, so that unequal ones get unequal parts.
class Speeds {
 public:
  /// `fallback[i]` is what is assumed of devices[i] if one of them hasn't been measured.
  std::vector<double> of(const Operation& operation, const std::vector<int>& devices,
                         const std::vector<double>& fallback);
  /// Speeds in one product. Only what they are relative to each other is kept: other products are faster or slower on all.
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

/// Whether it says something of a device, and not of what was asked for.
inline bool is_of_device(const Error& error) {
  return error.code() == ErrorCode::kCuda || error.code() == ErrorCode::kOutOfMemory;
}

/// What messages call a device.
std::string name_of_device(BackendKind backend, int device);

/// An error of a device of several, which says which.
Error of_device(BackendKind backend, int device, const Error& error);

}  // namespace mpmml
