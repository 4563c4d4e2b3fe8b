#include "core/dispatch.h"
#include "cuda/range.h"

namespace mpmml::cuda {
namespace {

// Compiled for AVX2 too and chosen when the addon is loaded: the baseline has no 32-bit minimum and maximum.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define MPMML_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define MPMML_CLONES
#endif

/// Modulo 2^32 the distance from zero orders the finite values as they are, from 1 on, whichever end zero is at: so
/// zero drops out of a maximum of distances, and out of a minimum of distances less one.
MPMML_CLONES ScanResult scan(const int32_t* data, int64_t count, int32_t zero) {
  uint32_t highest = 0, lowest_less_one = ~0u, highest_less_one = 0;
  for (int64_t index = 0; index < count; ++index) {
    const uint32_t distance = static_cast<uint32_t>(data[index]) - static_cast<uint32_t>(zero);
    const uint32_t less_one = distance - 1;
    highest = distance > highest ? distance : highest;
    lowest_less_one = less_one < lowest_less_one ? less_one : lowest_less_one;
    highest_less_one = less_one > highest_less_one ? less_one : highest_less_one;
  }
  const bool has_zero = count > 0 && highest_less_one == ~0u;
  if (highest == 0) return {std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min(), has_zero};
  const auto value = [&](uint32_t distance) { return static_cast<int32_t>(distance + static_cast<uint32_t>(zero)); };
  return {value(lowest_less_one + 1), value(highest), has_zero};
}

}  // namespace

ValueRange scan_host_range(SemiringId semiring, DataType dtype, const void* data, int64_t count) {
  return with_semiring(semiring, dtype, [&](auto value) {
    return scan(static_cast<const int32_t*>(data), count, decltype(value)::zero).range();
  });
}

}  // namespace mpmml::cuda
