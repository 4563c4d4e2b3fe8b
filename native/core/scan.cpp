#include "core/scan.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <string>
#include <type_traits>

#include "core/dispatch.h"
#include "core/status.h"
#include "core/structured.h"

namespace mpmml {
namespace {

// Compiled for AVX2 too, because the baseline has no 32-bit minimum and maximum; the version is chosen when the addon
// is loaded. The choice uses an indirect function of glibc. musl has none, and ThreadSanitizer isn't ready yet when it
// runs.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define MPMML_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define MPMML_CLONES
#endif

/// Modulo 2^32 the distance from zero keeps the order of the finite values and starts at 1, whether zero is the least
/// or the greatest value. So zero never wins a maximum of distances, nor a minimum of distances minus one.
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

/// For elements without a range: whether there are values that aren't elements of S.
template <class S>
ValueRange scan_for_outsiders(const typename S::Element* data, int64_t count) {
  bool all = true;
  for (int64_t index = 0; index < count; ++index) all &= S::holds(data[index]);
  ValueRange range;
  range.has_outsider = !all;
  return range;
}

template <class S>
ValueRange scan_run(const typename S::Element* data, int64_t count) {
  if constexpr (has_range<S>) {
    return scan(data, count, S::zero);
  } else {
    return scan_for_outsiders<S>(data, count);
  }
}

/// Runs of elements that aren't contiguous, or are stored in another type, are copied through a buffer of this many.
constexpr int64_t kBuffered = 4096;

template <class S, class Stored>
ValueRange scan_strided(const Stored* data, int64_t count, int64_t stride) {
  using Element = typename S::Element;
  if constexpr (std::is_same_v<Stored, Element>) {
    if (stride == 1) return scan_run<S>(data, count);
  }
  ValueRange range;
  Element buffer[kBuffered];
  for (int64_t first = 0; first < count; first += kBuffered) {
    const int64_t run = std::min(kBuffered, count - first);
    for (int64_t index = 0; index < run; ++index) buffer[index] = widened<S>(data[(first + index) * stride]);
    range.merge(scan_run<S>(buffer, run));
  }
  return range;
}

/// Calls `body` with `data` as a pointer to what is stored.
template <class S, class Body>
ValueRange with_stored(Storage storage, const void* data, Body&& body) {
  if constexpr (std::is_same_v<typename S::Element, int32_t>) {
    if (storage == Storage::kInt16) return body(static_cast<const int16_t*>(data));
  }
  return body(static_cast<const typename S::Element*>(data));
}

/// The power of two of the lowest bit of a finite number; 0 for 0.
double lowest_bit(float x) {
  if (x == 0) return 0;
  int exponent;
  const auto bits = static_cast<int32_t>(std::ldexp(std::frexp(x, &exponent), 24));
  return std::ldexp(static_cast<double>(bits & -bits), exponent - 24);
}

/// The step and the offset of floats, if their granules are few enough for exact sums; else unknown.
template <class ForEach>
bool find_steps(LineLevels& levels, ForEach&& for_each_finite) {
  constexpr double kMostGranules = 1 << 24;
  levels.granule = std::numeric_limits<double>::infinity();
  double least = std::numeric_limits<double>::infinity(), most = 0;
  bool fits = true;
  for_each_finite([&](float x) {
    fits &= std::isfinite(x);
    if (!std::isfinite(x)) return;
    if (x != 0) levels.granule = std::min(levels.granule, lowest_bit(x));
    levels.has_negative_zero |= x == 0 && std::signbit(x);
    least = std::min(least, double{x});
    most = std::max(most, std::fabs(double{x}));
  });
  if (std::isinf(levels.granule)) levels.granule = 1;
  const bool is_normal = std::abs(std::ilogb(levels.granule)) <= kMostGranule;
  if (!fits || !is_normal || most > levels.granule * kMostGranules) return false;
  levels.offset = std::isinf(least) ? 0 : least;
  levels.step = 0;
  for_each_finite([&](float x) { levels.step = common_divisor(double{x} - levels.offset, levels.step); });
  return true;
}

template <class S>
LineLevels levels_of_lines(const MatrixView& view, int64_t items, const Band& band) {
  const auto element = [&](int64_t item, int64_t row, int64_t col) {
    return band.has(row, col) ? element_at<S>(view, item, row, col) : S::zero;
  };
  LineLevels levels;
  if constexpr (!S::can_overflow) {
    const bool fits = find_steps(levels, [&](const auto& body) {
      for (int64_t index = 0; index < items * view.rows * view.cols; ++index) {
        const auto x = element(index / view.cols / view.rows, index / view.cols % view.rows, index % view.cols);
        if (x != S::zero) body(x);
      }
    });
    if (!fits) return {};
  }
  levels.spread = 0;
  std::vector<bool> is_rough(static_cast<size_t>(ceil_div(view.cols, kChunkSteps)));
  levels.has_zero = false;
  struct Extent {
    double least = std::numeric_limits<double>::infinity(), most = -least;
  };
  const auto spread = [&](const Extent& extent) -> int64_t {
    if (extent.least > extent.most || levels.step == 0) return 0;
    return static_cast<int64_t>((extent.most - extent.least) / levels.step);
  };
  for (int64_t line = 0; line < items * view.rows; ++line) {
    Extent whole;
    bool has_zero = false;
    for (int64_t first = 0; first < view.cols; first += kChunkSteps) {
      Extent chunk;
      bool chunk_has_zero = false;
      for (int64_t col = first; col < std::min(first + kChunkSteps, view.cols); ++col) {
        const auto x = element(line / view.rows, line % view.rows, col);
        chunk_has_zero |= x == S::zero;
        if (x == S::zero) continue;
        chunk.least = std::min(chunk.least, static_cast<double>(x));
        chunk.most = std::max(chunk.most, static_cast<double>(x));
      }
      has_zero |= chunk_has_zero;
      if (chunk_has_zero || spread(chunk) > exponent_scale_of(RangePath::kExponentBounded).most) {
        is_rough[static_cast<size_t>(first / kChunkSteps)] = true;
      }
      whole.least = std::min(whole.least, chunk.least);
      whole.most = std::max(whole.most, chunk.most);
    }
    levels.spread = std::max(levels.spread, spread(whole));
    levels.has_zero |= has_zero && whole.least <= whole.most;
  }
  if (S::can_overflow && !is_rough.empty()) {
    const auto rough = static_cast<double>(std::count(is_rough.begin(), is_rough.end(), true));
    levels.rough_share = rough / static_cast<double>(is_rough.size());
  }
  return levels;
}

/// "a[1, 2, 3]"; without the batch index if there is only one matrix.
std::string place(const char* name, bool batched, int64_t item, int64_t row, int64_t col) {
  return std::string(name) + "[" + (batched ? std::to_string(item) + ", " : "") + std::to_string(row) + ", " +
         std::to_string(col) + "]";
}

/// As JavaScript writes the number.
std::string text(double value) {
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  std::ostringstream stream;
  stream << std::setprecision(9) << value;
  return stream.str();
}

/// Throws Error(kValue) for the first value of `view` in the band that isn't an element of the semiring.
void refuse_outsider(const Operation& operation, const MatrixView& view, int64_t batch, const Band& band,
                     const char* name) {
  with_scanned_semiring(operation, [&](auto semiring) {
    using S = decltype(semiring);
    for (int64_t item = 0; item < items_of(view, batch); ++item) {
      for (int64_t row = 0; row < view.rows; ++row) {
        const Span inside = span_of_row(band, row, view.cols);
        for (int64_t col = inside.first; col < inside.end; ++col) {
          const auto value = element_at<S>(view, item, row, col);
          if (S::holds(value)) continue;
          throw Error(ErrorCode::kValue, place(name, view.batch_stride != 0, item, row, col) + " is " +
                                             text(static_cast<double>(value)) + ": elements of " +
                                             semiring_name(operation.semiring) + " must be 0 or greater");
        }
      }
    }
  });
}

}  // namespace

ValueRange scan_elements(const Operation& operation, Storage storage, const void* data, int64_t count) {
  ValueRange range;
  with_scanned_semiring(operation, [&](auto value) {
    using S = decltype(value);
    range = with_stored<S>(storage, data, [&](const auto* stored) { return scan_strided<S>(stored, count, 1); });
  });
  return range;
}

ValueRange scan_matrices(const Operation& operation, const MatrixView& view, int64_t batch, const Band& band) {
  const Lines lines(view);
  const Band of_lines = lines.are_columns ? band.transposed() : band;
  ValueRange range;
  with_scanned_semiring(operation, [&](auto value) {
    using S = decltype(value);
    range = with_stored<S>(view.storage, view.data, [&](const auto* stored) {
      ValueRange all;
      for (int64_t item = 0; item < items_of(view, batch); ++item) {
        for (int64_t line = 0; line < lines.count; ++line) {
          const Span inside = span_of_row(of_lines, line, lines.length);
          if (inside.is_empty()) continue;
          const auto* const first = stored + item * view.batch_stride + line * lines.line_stride;
          all.merge(scan_strided<S>(first + inside.first * lines.element_stride, inside.end - inside.first,
                                    lines.element_stride));
        }
      }
      return all;
    });
  });
  if (!band.is_all(view.rows, view.cols)) range.has_zero = true;
  return range;
}

LineLevels levels_of_rows(const Operation& operation, const MatrixView& view, int64_t batch, const Band& band) {
  return with_semiring(operation, [&](auto semiring) {
    using S = decltype(semiring);
    if constexpr (has_range<S>) return levels_of_lines<S>(view, items_of(view, batch), band);
    return LineLevels{};
  });
}

LineLevels levels_of_columns(const Operation& operation, const MatrixView& view, int64_t batch, const Band& band) {
  MatrixView by_columns = view;
  std::swap(by_columns.rows, by_columns.cols);
  std::swap(by_columns.row_stride, by_columns.col_stride);
  return levels_of_rows(operation, by_columns, batch, band.transposed());
}

void require_elements(const Problem& problem, const ValueRange& a, const ValueRange& b) {
  const Structure& structure = problem.structure;
  if (a.has_outsider) refuse_outsider(problem.operation, problem.a, problem.batch, structure.a, "a");
  if (b.has_outsider) refuse_outsider(problem.operation, problem.b, problem.batch, structure.b, "b");
}

void require_elements(const Operation& operation, const MatrixView& view, int64_t batch, const char* name,
                      const Band& band) {
  if (!restricts_elements(operation)) return;
  if (scan_matrices(operation, view, batch, band).has_outsider) refuse_outsider(operation, view, batch, band, name);
}

void require_elements_of_c0(const Problem& problem) {
  if (!problem.c0.data) return;
  require_elements(problem.operation, problem.c0, problem.batch, "accumulate", problem.structure.c);
}

}  // namespace mpmml
