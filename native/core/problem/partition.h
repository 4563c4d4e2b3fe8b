// Partitions of regions: into equal parts along an axis, and into halves.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "core/problem/region.h"
#include "core/rounding.h"

namespace mpmml {

using Axis = Span Region::*;

/// Returns consecutive regions with `step` items, rows or columns each. The last one may have fewer.
inline std::vector<Region> cut(const Region& region, Axis axis, int64_t step) {
  const Span all = region.*axis;
  std::vector<Region> parts;
  for (int64_t first = all.first; first < all.end; first += step) {
    parts.push_back(region);
    parts.back().*axis = {first, std::min(first + step, all.end)};
  }
  return parts;
}

/// Returns the axis along which a region is halved: its batch entries, or the longer side of a single one.
inline Axis longest_axis(const Region& region) {
  if (region.items.size() > 1) return &Region::items;
  return region.rows.size() >= region.cols.size() ? &Region::rows : &Region::cols;
}

/// Returns the halves of a region. The size of the first is a multiple of `granularity`.
inline std::pair<Region, Region> halves(const Region& region, Axis axis, int64_t granularity) {
  std::pair<Region, Region> both{region, region};
  const Span all = region.*axis;
  const int64_t middle = all.first + round_up(all.size() / 2, granularity);
  (both.first.*axis).end = (both.second.*axis).first = middle;
  return both;
}

}  // namespace mpmml
