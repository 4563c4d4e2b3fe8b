#include "core/devices/partition.h"

#include <algorithm>
#include <numeric>

namespace mpmml {
namespace {

/// Number of rows and columns of a tile of most kernels.
constexpr int64_t kTile = 128;

/// Returns the axis to divide: batch entries, rows of A and C, or columns of B and C.
Span Region::* axis_for(const Region& all, int64_t parts) {
  // An uneven partition of batch entries costs little if each device gets many.
  constexpr int64_t kManyPerPart = 4;
  const int64_t batch = all.items.size(), m = all.rows.size(), n = all.cols.size();
  const bool is_even = batch % parts == 0 || batch >= kManyPerPart * parts;
  if (batch > 1 && is_even) return &Region::items;
  if (m >= parts * kTile || m >= n) return batch > m ? &Region::items : &Region::rows;
  return batch > n ? &Region::items : &Region::cols;
}

}  // namespace

std::vector<Region> divide(const Region& all, const std::vector<double>& speeds) {
  Span Region::* const axis = axis_for(all, static_cast<int64_t>(speeds.size()));
  std::vector<Region> regions(speeds.size(), all);
  const std::vector<Span> spans = shares_of((all.*axis).size(), speeds, axis != &Region::items);
  for (size_t part = 0; part < spans.size(); ++part) regions[part].*axis = spans[part];
  return regions;
}

std::vector<Span> shares_of(int64_t size, const std::vector<double>& speeds, bool in_tiles) {
  const auto parts = static_cast<int64_t>(speeds.size());
  const int64_t alignment = in_tiles && size >= parts * kTile ? kTile : 1;
  const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<Span> spans;
  double before = 0;
  int64_t first = 0;
  for (const double speed : speeds) {
    before += speed;
    const double share = before / all * static_cast<double>(size) / static_cast<double>(alignment);
    const int64_t end = spans.size() + 1 == speeds.size()
                            ? size
                            : std::clamp(static_cast<int64_t>(share + 0.5) * alignment, first, size);
    spans.push_back({first, end});
    first = end;
  }
  return spans;
}

Placement for_part(const Problem& problem, const Region& region, const Placement& where) {
  Placement place = where;
  if (region.rows.size() < problem.m() || region.cols.size() < problem.n()) {
    place.whole_m = problem.m();
    place.whole_n = problem.n();
  }
  return place;
}

std::string name_of_device(BackendKind backend, int device) {
  return kDeviceNames[static_cast<int>(backend)] + (" " + std::to_string(device));
}

Error of_device(BackendKind backend, int device, const Error& error) {
  return Error(error.code(), name_of_device(backend, device) + " failed, so the whole product did: " + error.what(),
               error.product());
}

std::vector<double> Speeds::of(const Operation& operation, const std::vector<int>& devices,
                               const std::vector<double>& fallback) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<double> speeds;
  for (const int device : devices) {
    for (const Known& known : known_) {
      if (known.semiring == operation.semiring && known.dtype == operation.dtype && known.device == device) {
        speeds.push_back(known.speed);
      }
    }
  }
  if (speeds.size() != devices.size()) return fallback;
  // Measured speeds of equal devices vary slightly. Speeds within this ratio count as equal, and give equal parts.
  constexpr double kEqual = 1.08;
  const auto [least, most] = std::minmax_element(speeds.begin(), speeds.end());
  if (*most <= kEqual * *least) return std::vector<double>(devices.size(), 1.0);
  return speeds;
}

void Speeds::measured(const Operation& operation, const std::vector<int>& devices, const std::vector<double>& speeds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Known*> known(devices.size(), nullptr);
  double before = 0, now = 0;
  for (size_t index = 0; index < devices.size(); ++index) {
    for (Known& each : known_) {
      if (each.semiring == operation.semiring && each.dtype == operation.dtype && each.device == devices[index]) {
        known[index] = &each;
      }
    }
    before += known[index] ? known[index]->speed : 1;
    now += speeds[index];
  }
  std::vector<Known> added;
  for (size_t index = 0; index < devices.size(); ++index) {
    const double speed = speeds[index] * before / now;
    if (known[index]) {
      known[index]->speed += (speed - known[index]->speed) / 4;
    } else {
      added.push_back({operation.semiring, operation.dtype, devices[index], speed});
    }
  }
  known_.insert(known_.end(), added.begin(), added.end());
}

}  // namespace mpmml
