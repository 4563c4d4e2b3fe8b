#include "core/scan.h"

#include <vector>

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

}  // namespace

ValueRange scan_elements(SemiringId semiring, DataType dtype, const void* data, int64_t count) {
  return with_semiring(semiring, dtype, [&](auto value) {
    return scan(static_cast<const int32_t*>(data), count, decltype(value)::zero);
  });
}

ValueRange scan_matrices(SemiringId semiring, DataType dtype, const MatrixView& view, int64_t batch) {
  const bool along_columns = view.row_stride < view.col_stride;
  const int64_t lines = along_columns ? view.cols : view.rows, length = along_columns ? view.rows : view.cols;
  const int64_t line_stride = along_columns ? view.col_stride : view.row_stride;
  const int64_t stride = along_columns ? view.row_stride : view.col_stride;
  std::vector<int32_t> gathered(stride == 1 ? 0 : length);
  ValueRange range;
  for (int64_t item = 0; item < (view.batch_stride == 0 ? std::min<int64_t>(batch, 1) : batch); ++item) {
    for (int64_t line = 0; line < lines; ++line) {
      const int32_t* data = static_cast<const int32_t*>(view.data) + item * view.batch_stride + line * line_stride;
      for (size_t index = 0; index < gathered.size(); ++index) gathered[index] = data[index * stride];
      range.merge(scan_elements(semiring, dtype, stride == 1 ? data : gathered.data(), length));
    }
  }
  return range;
}

}  // namespace mpmml
