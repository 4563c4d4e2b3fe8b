#include "cuda/runtime/host_levels.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <vector>

#include "core/algebra/clones.h"
#include "core/algebra/dispatch.h"
#include "core/algebra/scan_run.h"
#include "core/problem/structured.h"

namespace mpmml {
namespace {

/// Limit of the magnitude of exact sums, in quantization steps.
constexpr double kMaxGranules = 1 << 24;
/// Elements per run between two tests of the intermediate result.
constexpr int64_t kAtOnce = 4096;

/// Result of a scan of floats.
struct QuantizationScan {
  int32_t lowest_bit = std::numeric_limits<int32_t>::max();  ///< exponent of the least significant bit
  bool fits = true, has_negative_zero = false;
  int32_t least = kHighest<int32_t>;  ///< order key of the least element
  float most = 0;                     ///< greatest absolute value

  void merge(const QuantizationScan& other) {
    lowest_bit = std::min(lowest_bit, other.lowest_bit);
    fits &= other.fits;
    has_negative_zero |= other.has_negative_zero;
    least = std::min(least, other.least);
    most = std::max(most, other.most);
  }
  bool is_empty() const { return lowest_bit == std::numeric_limits<int32_t>::max(); }
  /// Returns whether the elements are few enough quantization steps for exact sums. Once false, it stays false as
  /// elements are added.
  bool are_few() const { return fits && (is_empty() || most <= std::ldexp(kMaxGranules, lowest_bit)); }
};

/// Scans the elements that differ from `zero`, which is an infinity.
MPMML_CLONES QuantizationScan scan_quantization(const float* data, int64_t count, float zero) {
  constexpr int32_t kNoBit = std::numeric_limits<int32_t>::max(), kFloatBias = 127, kFraction = 0x7fffff;
  int32_t lowest_bit = kNoBit, least = kHighest<int32_t>, most = 0, misfits = 0, negative_zeros = 0;
  for (int64_t index = 0; index < count; ++index) {
    int32_t bits;
    std::memcpy(&bits, data + index, sizeof bits);
    const int32_t counts = mask(data[index] != zero), size = bits & 0x7fffffff & counts, exponent = size >> 23;
    misfits |= mask(exponent == 255);
    negative_zeros |= counts & mask(size == 0) & bits;
    const int32_t is_normal = mask(exponent != 0), significand = (size & kFraction) | (is_normal & 1 << 23);
    // A power of two, whose exponent is the index of the lowest bit.
    const auto lowest = static_cast<float>(significand & -significand);
    int32_t bits_of_lowest;
    std::memcpy(&bits_of_lowest, &lowest, sizeof bits_of_lowest);
    const int32_t power = (bits_of_lowest >> 23) - kFloatBias + exponent + 1 + is_normal - 150;
    const int32_t bit = choose(mask(size != 0), power, kNoBit);
    lowest_bit = bit < lowest_bit ? bit : lowest_bit;
    most = size > most ? size : most;
    const int32_t key = choose(counts, bits ^ (bits >> 31 & 0x7fffffff), kHighest<int32_t>);
    least = key < least ? key : least;
  }
  return {lowest_bit, misfits == 0, negative_zeros < 0, least, from_order_key<float>(most)};
}

/// Returns whether the distances of all elements from `offset`, in quantization steps, are multiples of `divisor`, or 0
/// if `divisor` is 0. The distances are integers up to 2^25, so all arithmetic is exact except the quotient, whose
/// error is small enough.
MPMML_CLONES bool are_multiples(const float* data, int64_t count, float zero, double offset, double inverse_scale,
                                int64_t divisor) {
  constexpr double kBeyondAll = 1LL << 40, kRounds = 3LL << 51;  // adding kRounds rounds to an integer
  const double by = divisor == 0 ? kBeyondAll : static_cast<double>(divisor), inverse = 1 / by;
  const auto start = static_cast<float>(offset);
  int64_t others = 0;
  for (int64_t index = 0; index < count; ++index) {
    const float x = data[index] == zero ? start : data[index];
    const double distance = (double{x} - offset) * inverse_scale;
    const double quotient = (distance * inverse + kRounds) - kRounds;
    others |= distance != quotient * by;
  }
  return others == 0;
}

/// Calls `body(first, count)` with runs of contiguous elements of the band, in a range of lines of the matrices, until
/// it returns that no more runs are needed.
template <class Element, class Body>
void for_runs_of(const MatrixView& view, const Lines& lines, const Band& of_lines, Span some, Body&& body) {
  Element buffer[kAtOnce];
  for (int64_t index = some.first; index < some.end; ++index) {
    const int64_t item = index / lines.count, line = index % lines.count;
    const Span inside = span_of_row(of_lines, line, lines.length);
    const auto* const data =
        static_cast<const Element*>(view.data) + item * view.batch_stride + line * lines.line_stride;
    for (int64_t at = inside.first; at < inside.end; at += kAtOnce) {
      const int64_t count = std::min(kAtOnce, inside.end - at);
      const Element* first = data + at * lines.element_stride;
      if (lines.element_stride != 1) {
        for (int64_t i = 0; i < count; ++i) buffer[i] = first[i * lines.element_stride];
        first = buffer;
      }
      if (body(first, count)) return;
    }
  }
}

/// Finds the step and the offset of floats, if their quantization steps are few enough for exact sums. Returns false if
/// not.
template <class S>
bool find_steps(LineLevels& levels, const MatrixView& view, int64_t items, const Band& band, const ForRuns& for_runs) {
  const Lines lines(view);
  const Band of_lines = lines.are_columns ? band.transposed() : band;
  std::mutex mutex;
  std::atomic<bool> are_too_many{false};
  QuantizationScan all;
  for_runs(items * lines.count, lines.length, [&](int64_t first, int64_t end) {
    QuantizationScan seen;
    for_runs_of<float>(view, lines, of_lines, {first, end}, [&](const float* data, int64_t count) {
      seen.merge(scan_quantization(data, count, S::zero));
      if (!seen.are_few()) are_too_many.store(true, std::memory_order_relaxed);
      return are_too_many.load(std::memory_order_relaxed);
    });
    const std::lock_guard<std::mutex> lock(mutex);
    all.merge(seen);
  });
  if (are_too_many || !all.are_few() || (!all.is_empty() && std::abs(all.lowest_bit) > kMaxScale)) return false;
  levels.scale = all.is_empty() ? 1 : std::ldexp(1.0, all.lowest_bit);
  levels.has_negative_zero = all.has_negative_zero;
  // Adding 0.0 turns −0 into 0.
  levels.offset = all.least == kHighest<int32_t> ? 0 : double{from_order_key<float>(all.least)} + 0.0;
  std::atomic<int64_t> divisor{0};
  const double inverse_scale = 1 / levels.scale;
  for_runs(items * lines.count, lines.length, [&](int64_t first, int64_t end) {
    int64_t own = divisor.load(std::memory_order_relaxed);
    for_runs_of<float>(view, lines, of_lines, {first, end}, [&](const float* data, int64_t count) {
      if (own == 1) return true;
      if (are_multiples(data, count, S::zero, levels.offset, inverse_scale, own)) return false;
      for (int64_t index = 0; index < count; ++index) {
        if (data[index] == S::zero) continue;
        const auto distance = static_cast<int64_t>((double{data[index]} - levels.offset) * inverse_scale);
        if (distance != 0 && (own == 0 || distance % own != 0)) own = std::gcd(own, distance);
      }
      return own == 1;
    });
    const std::lock_guard<std::mutex> lock(mutex);
    divisor.store(std::gcd(divisor.load(std::memory_order_relaxed), own), std::memory_order_relaxed);
  });
  levels.step = levels.scale * static_cast<double>(divisor.load());
  return true;
}

template <class Element>
int64_t range_of(const Range& range, double step) {
  if (!range.has_finite() || step == 0) return 0;
  const auto value = [](int64_t key) { return static_cast<double>(from_order_key<Element>(key)); };
  return static_cast<int64_t>((value(range.maximum) - value(range.minimum)) / step);
}

/// Returns whether neighbours in a line are closer together in memory than elements of neighbouring lines.
bool runs_along_lines(const MatrixView& view) { return view.col_stride <= view.row_stride; }

/// Limit of the lines that are scanned together. If lines are interleaved in memory, many lines make long runs (4096²,
/// 2 cores: half of the time of 64 lines).
constexpr int64_t kMaxLinesAtOnce = 512;
int64_t lines_at_once(const MatrixView& view) { return runs_along_lines(view) ? 64 : kMaxLinesAtOnce; }

/// Ranges of lines: each line has an index in these arrays.
struct LineRanges {
  int32_t least[kMaxLinesAtOnce], most[kMaxLinesAtOnce], has_zero[kMaxLinesAtOnce];

  LineRanges() {
    std::fill(std::begin(least), std::end(least), kHighest<int32_t>);
    std::fill(std::begin(most), std::end(most), kLowest<int32_t>);
    std::fill(std::begin(has_zero), std::end(has_zero), 0);
  }
  Range of(int64_t line) const { return {least[line], most[line], has_zero[line] != 0}; }
};

/// Includes one element of each line from `first` on.
template <class Element>
inline __attribute__((always_inline)) void include(LineRanges& ranges, int64_t first, const Element* data,
                                                   int64_t count, int32_t zero) {
  int32_t* const least = ranges.least + first;
  int32_t* const most = ranges.most + first;
  int32_t* const zeros = ranges.has_zero + first;
  for (int64_t line = 0; line < count; ++line) {
    const int32_t key = order_key(data[line]), counts = mask(key != zero);
    const int32_t low = choose(counts, key, kHighest<int32_t>), high = choose(counts, key, kLowest<int32_t>);
    least[line] = low < least[line] ? low : least[line];
    most[line] = high > most[line] ? high : most[line];
    zeros[line] |= ~counts;
  }
}
MPMML_CLONES void include_in(LineRanges& ranges, int64_t first, const int32_t* data, int64_t count, int32_t zero) {
  include(ranges, first, data, count, zero);
}
MPMML_CLONES void include_in(LineRanges& ranges, int64_t first, const float* data, int64_t count, int32_t zero) {
  include(ranges, first, data, count, zero);
}

/// Returns contiguous elements of S from elements with a stride; they are copied to `buffer` unless they are contiguous
/// in memory.
template <class S, class Stored>
const typename S::Element* side_by_side(const Stored* data, int64_t count, int64_t stride,
                                        typename S::Element* buffer) {
  if constexpr (std::is_same_v<Stored, typename S::Element>) {
    if (stride == 1) return data;
  }
  for (int64_t index = 0; index < count; ++index) buffer[index] = widened<S>(data[index * stride]);
  return buffer;
}

/// Returns the ranges of a part of K of lines, reading elements in memory order. Elements outside the band are zero.
template <class S, class Stored>
LineRanges ranges_of(const MatrixView& view, const Band& band, int64_t item, Span lines, Span steps) {
  const auto* const data = static_cast<const Stored*>(view.data) + item * view.batch_stride;
  const int32_t zero = order_key(S::zero);
  typename S::Element buffer[std::max<int64_t>(kMaxLinesAtOnce, kChunkSteps)];
  LineRanges ranges;
  const auto clamped = [](Span inside, Span to) {
    const int64_t first = std::clamp(inside.first, to.first, to.end);
    return Span{first, std::clamp(inside.end, first, to.end)};
  };
  if (runs_along_lines(view)) {
    for (int64_t line = lines.first; line < lines.end; ++line) {
      const Span inside = clamped(span_of_row(band, line, view.cols), steps);
      const int64_t count = inside.end - inside.first, place = line - lines.first;
      const Stored* const first = data + line * view.row_stride + inside.first * view.col_stride;
      const Range found = scan_run(side_by_side<S>(first, count, view.col_stride, buffer), count, S::zero);
      if (found.has_finite()) {
        ranges.least[place] = static_cast<int32_t>(found.minimum);
        ranges.most[place] = static_cast<int32_t>(found.maximum);
      }
      ranges.has_zero[place] = found.has_zero | (count < steps.end - steps.first);
    }
  } else {
    for (int64_t step = steps.first; step < steps.end; ++step) {
      const Span inside = clamped(span_of_row(band.transposed(), step, view.rows), lines);
      const int64_t count = inside.end - inside.first;
      const Stored* const first = data + inside.first * view.row_stride + step * view.col_stride;
      include_in(ranges, inside.first - lines.first, side_by_side<S>(first, count, view.row_stride, buffer), count,
                 zero);
      std::fill(ranges.has_zero, ranges.has_zero + (inside.first - lines.first), 1);
      std::fill(ranges.has_zero + (inside.end - lines.first), ranges.has_zero + (lines.end - lines.first), 1);
    }
  }
  return ranges;
}

/// Result of a scan of a range of lines.
struct LineScan {
  explicit LineScan(int64_t chunks) : is_outlier(static_cast<size_t>(chunks)) {}
  int64_t range = 0;
  bool has_zero = false;
  std::vector<char> is_outlier;

  void merge(const LineScan& other) {
    range = std::max(range, other.range);
    has_zero = has_zero || other.has_zero;
    for (size_t chunk = 0; chunk < is_outlier.size(); ++chunk) is_outlier[chunk] |= other.is_outlier[chunk];
  }
};

template <class S, class Stored>
void scan(LineScan& seen, const MatrixView& view, const Band& band, int64_t item, Span lines, double step) {
  using Element = typename S::Element;
  Range whole[kMaxLinesAtOnce];
  const int64_t count = lines.end - lines.first;
  for (int64_t first = 0; first < view.cols; first += kChunkSteps) {
    const Span steps{first, std::min(first + kChunkSteps, view.cols)};
    const LineRanges ranges = ranges_of<S, Stored>(view, band, item, lines, steps);
    for (int64_t line = 0; line < count; ++line) {
      const Range range = ranges.of(line);
      seen.is_outlier[static_cast<size_t>(first / kChunkSteps)] |=
          range.has_zero || range_of<Element>(range, step) > exponent_scale_of(ArithmeticKind::kExponentBounded).most;
      whole[line].merge(range);
    }
  }
  for (int64_t line = 0; line < count; ++line) {
    seen.range = std::max(seen.range, range_of<Element>(whole[line], step));
    seen.has_zero = seen.has_zero || (whole[line].has_zero && whole[line].has_finite());
  }
}

template <class S>
LineLevels levels_of_lines(const MatrixView& view, int64_t items, const Band& band, const ForRuns& for_runs) {
  LineLevels levels;
  if constexpr (!S::can_overflow) {
    if (!find_steps<S>(levels, view, items, band, for_runs)) return {};
  }
  const int64_t at_once = lines_at_once(view), blocks = ceil_div(view.rows, at_once),
                chunks = ceil_div(view.cols, kChunkSteps);
  LineScan all(chunks);
  std::mutex mutex;
  for_runs(items * blocks, at_once * view.cols, [&](int64_t first, int64_t end) {
    LineScan seen(chunks);
    for (int64_t index = first; index < end; ++index) {
      const int64_t item = index / blocks, line = index % blocks * at_once;
      const Span lines{line, std::min(line + at_once, view.rows)};
      with_stored<S>(view.storage,
                     [&](auto zero) { scan<S, decltype(zero)>(seen, view, band, item, lines, levels.step); });
    }
    const std::lock_guard<std::mutex> lock(mutex);
    all.merge(seen);
  });
  levels.range = all.range;
  levels.has_zero = all.has_zero;
  if (S::can_overflow && chunks > 0) {
    levels.outlier_share =
        static_cast<double>(std::count(all.is_outlier.begin(), all.is_outlier.end(), 1)) / static_cast<double>(chunks);
  }
  return levels;
}

}  // namespace

LineLevels levels_of_rows(const Operation& operation, const MatrixView& view, int64_t batch, const Band& band,
                          const ForRuns& for_runs) {
  return with_semiring(operation, [&](auto semiring) {
    using S = decltype(semiring);
    if constexpr (has_range<S>) return levels_of_lines<S>(view, items_of(view, batch), band, for_runs);
    return LineLevels{};
  });
}

LineLevels levels_of_columns(const Operation& operation, const MatrixView& view, int64_t batch, const Band& band,
                             const ForRuns& for_runs) {
  MatrixView by_columns = view;
  std::swap(by_columns.rows, by_columns.cols);
  std::swap(by_columns.row_stride, by_columns.col_stride);
  return levels_of_rows(operation, by_columns, batch, band.transposed(), for_runs);
}

}  // namespace mpmml
