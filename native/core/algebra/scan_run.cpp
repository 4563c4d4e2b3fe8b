#include "core/algebra/scan_run.h"

#include "core/algebra/clones.h"

namespace mpmml {

/// Modulo 2^32 the distance from zero keeps the order of the finite values and starts at 1, whether zero is the least
/// or the greatest value. So zero is never the maximum of distances, nor the minimum of distances minus one.
MPMML_CLONES Range scan_run(const int32_t* data, int64_t count, int32_t zero) {
  uint32_t highest = 0, lowest_less_one = ~0u, highest_less_one = 0;
  for (int64_t index = 0; index < count; ++index) {
    const uint32_t distance = static_cast<uint32_t>(data[index]) - static_cast<uint32_t>(zero);
    const uint32_t less_one = distance - 1;
    highest = distance > highest ? distance : highest;
    lowest_less_one = less_one < lowest_less_one ? less_one : lowest_less_one;
    highest_less_one = less_one > highest_less_one ? less_one : highest_less_one;
  }
  Range range;
  range.has_zero = count > 0 && highest_less_one == ~0u;
  if (highest == 0) return range;
  const auto value = [&](uint32_t distance) { return static_cast<int32_t>(distance + static_cast<uint32_t>(zero)); };
  range.include(value(lowest_less_one + 1), value(highest));
  return range;
}

MPMML_CLONES Range scan_run(const float* data, int64_t count, float zero) {
  const int32_t key_of_zero = order_key(zero);
  int32_t least = kHighest<int32_t>, most = kLowest<int32_t>;
  int32_t has_zero = 0;
  for (int64_t index = 0; index < count; ++index) {
    const int32_t key = order_key(data[index]), counts = mask(key != key_of_zero);
    const int32_t low = choose(counts, key, kHighest<int32_t>), high = choose(counts, key, kLowest<int32_t>);
    least = low < least ? low : least;
    most = high > most ? high : most;
    has_zero |= ~counts;
  }
  Range range;
  range.has_zero = has_zero != 0;
  if (least <= most) range.include(least, most);
  return range;
}

}  // namespace mpmml
