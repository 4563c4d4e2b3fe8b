#include "core/scan.h"

#include <algorithm>
#include <type_traits>

#include "core/dispatch.h"

namespace mpmml {
namespace {

// Compiled for AVX2 too and chosen when the addon is loaded: the baseline has no 32-bit minimum and maximum. The code
// that chooses runs before ThreadSanitizer is ready for it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define MPMML_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define MPMML_CLONES
#endif

/// Modulo 2^32 the distance from zero orders the finite values as they are, from 1 on, whichever end zero is at: so
/// zero drops out of a maximum of distances, and out of a minimum of distances less one.
MPMML_CLONES ValueRange scan(const int32_t* data, int64_t count, int32_t zero) {
  uint32_t highest = 0, lowest_less_one = ~0u, highest_less_one = 0;
  for (int64_t index = 0; index < count; ++index) {
    const uint32_t distance = static_cast<uint32_t>(data[index]) - static_cast<uint32_t>(zero);
    const uint32_t less_one = distance - 1;
    highest = distance > highest ? distance : highest;
    lowest_less_one = less_one < lowest_less_one ? less_one : lowest_less_one;
    highest_less_one = less_one > highest_less_one ? less_one : highest_less_one;
  }
  const bool has_zero = count > 0 && highest_less_one == ~0u;
  ValueRange range;
  range.has_zero = has_zero;
  if (highest == 0) return range;
  const auto value = [&](uint32_t distance) { return static_cast<int32_t>(distance + static_cast<uint32_t>(zero)); };
  range.minimum = value(lowest_less_one + 1);
  range.maximum = value(highest);
  return range;
}

MPMML_CLONES ValueRange scan(const float* data, int64_t count, float zero) {
  constexpr int32_t kHighest = std::numeric_limits<int32_t>::max(), kLowest = std::numeric_limits<int32_t>::min();
  const int32_t place_of_zero = place_of(zero);
  int32_t minimum = kHighest, maximum = kLowest;
  int32_t has_zero = 0;
  for (int64_t index = 0; index < count; ++index) {
    const int32_t place = place_of(data[index]);
    const bool is_zero = place == place_of_zero;
    const int32_t low = is_zero ? kHighest : place, high = is_zero ? kLowest : place;
    minimum = low < minimum ? low : minimum;
    maximum = high > maximum ? high : maximum;
    has_zero |= is_zero;
  }
  ValueRange range;
  range.has_zero = has_zero != 0;
  if (minimum > maximum) return range;
  range.minimum = minimum;
  range.maximum = maximum;
  return range;
}

/// Runs of elements that aren't contiguous, or not in their own type, pass through a buffer of this many.
constexpr int64_t kBuffered = 4096;

template <class S, class Stored>
ValueRange scan_strided(const Stored* data, int64_t count, int64_t stride) {
  using Element = typename S::Element;
  if constexpr (std::is_same_v<Stored, Element>) {
    if (stride == 1) return scan(data, count, S::zero);
  }
  ValueRange range;
  Element buffer[kBuffered];
  for (int64_t first = 0; first < count; first += kBuffered) {
    const int64_t run = std::min(kBuffered, count - first);
    for (int64_t index = 0; index < run; ++index) buffer[index] = widened<S>(data[(first + index) * stride]);
    range.merge(scan(buffer, run, S::zero));
  }
  return range;
}

/// Calls `body` with `data` as a pointer to what is stored.
template <class S, class Body>
ValueRange with_stored(Storage storage, const void* data, Body&& body) {
  if (storage == Storage::kInt16) return body(static_cast<const int16_t*>(data));
  return body(static_cast<const typename S::Element*>(data));
}

}  // namespace

ValueRange scan_elements(SemiringId semiring, DataType dtype, Storage storage, const void* data, int64_t count) {
  ValueRange range;
  with_ranged_semiring(semiring, dtype, [&](auto value) {
    using S = decltype(value);
    range = with_stored<S>(storage, data, [&](const auto* stored) { return scan_strided<S>(stored, count, 1); });
  });
  return range;
}

ValueRange scan_matrices(SemiringId semiring, DataType dtype, const MatrixView& view, int64_t batch) {
  if (!is_integral(dtype)) return {};
  const bool along_columns = view.row_stride < view.col_stride;
  const int64_t lines = along_columns ? view.cols : view.rows, length = along_columns ? view.rows : view.cols;
  const int64_t line_stride = along_columns ? view.col_stride : view.row_stride;
  const int64_t stride = along_columns ? view.row_stride : view.col_stride;
  const int64_t items = view.batch_stride == 0 ? std::min<int64_t>(batch, 1) : batch;
  return with_integer_semiring(semiring, dtype, [&](auto value) {
    using S = decltype(value);
    return with_stored<S>(view.storage, view.data, [&](const auto* stored) {
      ValueRange range;
      for (int64_t item = 0; item < items; ++item) {
        for (int64_t line = 0; line < lines; ++line) {
          range.merge(scan_strided<S>(stored + item * view.batch_stride + line * line_stride, length, stride));
        }
      }
      return range;
    });
  });
}

}  // namespace mpmml
