#include "core/levels.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <vector>

#include "core/dispatch.h"
#include "core/structured.h"

namespace mpmml {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Exact sums have at most so many granules.
constexpr double kMostGranules = 1 << 24;

/// What a scan of floats finds.
struct Granules {
  int lowest_bit = std::numeric_limits<int>::max();  ///< as a power of two
  bool fits = true, has_negative_zero = false;
  float least = std::numeric_limits<float>::infinity(), most = 0;  ///< the least, and the farthest from 0

  void include(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof(bits));
    const uint32_t exponent = bits >> 23 & 255, fraction = bits & 0x7fffff;
    fits &= exponent != 255;
    if (exponent == 0 && fraction == 0) {
      has_negative_zero |= bits != 0;
    } else {
      const uint32_t significand = exponent == 0 ? fraction : fraction | 1u << 23;
      const int power = static_cast<int>(exponent == 0 ? 1 : exponent) - 150;
      lowest_bit = std::min(lowest_bit, __builtin_ctz(significand) + power);
    }
    least = std::min(least, x);
    most = std::max(most, std::fabs(x));
  }
  void merge(const Granules& other) {
    lowest_bit = std::min(lowest_bit, other.lowest_bit);
    fits &= other.fits;
    has_negative_zero |= other.has_negative_zero;
    least = std::min(least, other.least);
    most = std::max(most, other.most);
  }
};

/// Calls `body(x)` for the elements in the band that aren't zero, of some of the lines of matrices.
template <class S, class Body>
void for_finite(const MatrixView& view, const Lines& lines, const Band& of_lines, Span some, Body&& body) {
  for (int64_t index = some.first; index < some.end; ++index) {
    const int64_t item = index / lines.count, line = index % lines.count;
    const Span inside = span_of_row(of_lines, line, lines.length);
    const auto* const data =
        static_cast<const typename S::Element*>(view.data) + item * view.batch_stride + line * lines.line_stride;
    for (int64_t at = inside.first; at < inside.end; ++at) {
      const auto x = data[at * lines.element_stride];
      if (x != S::zero) body(x);
    }
  }
}

/// The step and the offset of floats, if their granules are few enough for exact sums; else unknown.
template <class S>
bool find_steps(LineLevels& levels, const MatrixView& view, int64_t items, const Band& band, const ForRuns& for_runs) {
  const Lines lines(view);
  const Band of_lines = lines.are_columns ? band.transposed() : band;
  std::mutex mutex;
  Granules all;
  for_runs(items * lines.count, lines.length, [&](int64_t first, int64_t end) {
    Granules seen;
    for_finite<S>(view, lines, of_lines, {first, end}, [&](float x) { seen.include(x); });
    const std::lock_guard<std::mutex> lock(mutex);
    all.merge(seen);
  });
  const bool is_empty = all.lowest_bit == std::numeric_limits<int>::max();
  if (!all.fits || (!is_empty && std::abs(all.lowest_bit) > kMostGranule)) return false;
  levels.granule = is_empty ? 1 : std::ldexp(1.0, all.lowest_bit);
  levels.has_negative_zero = all.has_negative_zero;
  if (double{all.most} > levels.granule * kMostGranules) return false;
  levels.offset = std::isinf(all.least) ? 0 : double{all.least};
  // Distances from the least element are whole numbers of granules, at most 2^25.
  std::atomic<int64_t> divisor{0};
  const double per_granule = 1 / levels.granule;
  for_runs(items * lines.count, lines.length, [&](int64_t first, int64_t end) {
    int64_t own = divisor.load(std::memory_order_relaxed);
    if (own == 1) return;
    for_finite<S>(view, lines, of_lines, {first, end}, [&](float x) {
      const auto distance = static_cast<int64_t>((double{x} - levels.offset) * per_granule);
      if (distance != 0 && (own == 0 || distance % own != 0)) own = std::gcd(own, distance);
    });
    const std::lock_guard<std::mutex> lock(mutex);
    divisor.store(std::gcd(divisor.load(std::memory_order_relaxed), own), std::memory_order_relaxed);
  });
  levels.step = levels.granule * static_cast<double>(divisor.load());
  return true;
}

/// A chunk of K of some lines, with zero outside of the band.
template <class S>
class Chunk {
 public:
  using Element = typename S::Element;
  static constexpr int64_t kLines = 64;

  void read(const MatrixView& view, const Band& band, int64_t item, Span lines, Span steps) {
    if constexpr (std::is_same_v<Element, int32_t>) {
      if (view.storage == Storage::kInt16) return read_stored<int16_t>(view, band, item, lines, steps);
    }
    read_stored<Element>(view, band, item, lines, steps);
  }
  /// The elements of a line, kChunkSteps of them: zero beyond the last.
  const Element* line(int64_t index) const { return elements_[index]; }

 private:
  template <class Stored>
  void read_stored(const MatrixView& view, const Band& band, int64_t item, Span lines, Span steps) {
    const auto* const data = static_cast<const Stored*>(view.data) + item * view.batch_stride +
                             lines.first * view.row_stride + steps.first * view.col_stride;
    const int64_t rows = lines.end - lines.first, cols = steps.end - steps.first;
    if (view.col_stride <= view.row_stride) {
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t col = 0; col < cols; ++col) {
          elements_[row][col] = widened<S>(data[row * view.row_stride + col * view.col_stride]);
        }
      }
    } else {
      for (int64_t col = 0; col < cols; ++col) {
        for (int64_t row = 0; row < rows; ++row) {
          elements_[row][col] = widened<S>(data[row * view.row_stride + col * view.col_stride]);
        }
      }
    }
    for (int64_t row = 0; row < rows; ++row) {
      const Span inside = span_of_row(band, lines.first + row, view.cols);
      const int64_t first = std::clamp<int64_t>(inside.first - steps.first, 0, cols),
                    end = std::clamp<int64_t>(inside.end - steps.first, first, cols);
      std::fill(elements_[row], elements_[row] + first, S::zero);
      std::fill(elements_[row] + end, elements_[row] + kChunkSteps, S::zero);
    }
  }

  Element elements_[kLines][kChunkSteps];
};

/// The least and the greatest element that isn't zero, and whether there are zeros.
template <class S>
struct Extent {
  using Element = typename S::Element;
  Element least = kHighest<Element>, most = kLowest<Element>;
  bool has_zero = false;

  bool is_empty() const { return least > most; }
  void include(const Element* elements, int64_t count) {
    int zeros = 0;
    for (int64_t index = 0; index < count; ++index) {
      const Element x = elements[index];
      const bool is_zero = x == S::zero;
      const Element low = is_zero ? kHighest<Element> : x, high = is_zero ? kLowest<Element> : x;
      least = low < least ? low : least;
      most = high > most ? high : most;
      zeros |= is_zero;
    }
    has_zero = has_zero || zeros != 0;
  }
  void merge(const Extent& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
    has_zero = has_zero || other.has_zero;
  }
  int64_t spread(double step) const {
    if (is_empty() || step == 0) return 0;
    return static_cast<int64_t>((static_cast<double>(most) - static_cast<double>(least)) / step);
  }
};

/// What a scan of some lines finds.
struct Seen {
  explicit Seen(int64_t chunks) : is_rough(static_cast<size_t>(chunks)) {}
  int64_t spread = 0;
  bool has_zero = false;
  std::vector<char> is_rough;

  void merge(const Seen& other) {
    spread = std::max(spread, other.spread);
    has_zero = has_zero || other.has_zero;
    for (size_t chunk = 0; chunk < is_rough.size(); ++chunk) is_rough[chunk] |= other.is_rough[chunk];
  }
};

template <class S>
void scan(Seen& seen, const MatrixView& view, const Band& band, int64_t item, Span lines, double step) {
  Chunk<S> chunk;
  Extent<S> whole[Chunk<S>::kLines];
  const int64_t count = lines.end - lines.first;
  for (int64_t first = 0; first < view.cols; first += kChunkSteps) {
    const Span steps{first, std::min(first + kChunkSteps, view.cols)};
    chunk.read(view, band, item, lines, steps);
    for (int64_t line = 0; line < count; ++line) {
      Extent<S> extent;
      extent.include(chunk.line(line), steps.end - first);
      const bool is_rough =
          extent.has_zero || extent.spread(step) > exponent_scale_of(RangePath::kExponentBounded).most;
      seen.is_rough[static_cast<size_t>(first / kChunkSteps)] |= is_rough;
      whole[line].merge(extent);
    }
  }
  for (int64_t line = 0; line < count; ++line) {
    seen.spread = std::max(seen.spread, whole[line].spread(step));
    seen.has_zero = seen.has_zero || (whole[line].has_zero && !whole[line].is_empty());
  }
}

template <class S>
LineLevels levels_of_lines(const MatrixView& view, int64_t items, const Band& band, const ForRuns& for_runs) {
  LineLevels levels;
  if constexpr (!S::can_overflow) {
    if (!find_steps<S>(levels, view, items, band, for_runs)) return {};
  }
  const int64_t blocks = ceil_div(view.rows, Chunk<S>::kLines), chunks = ceil_div(view.cols, kChunkSteps);
  Seen all(chunks);
  std::mutex mutex;
  for_runs(items * blocks, Chunk<S>::kLines * view.cols, [&](int64_t first, int64_t end) {
    Seen seen(chunks);
    for (int64_t index = first; index < end; ++index) {
      const int64_t line = index % blocks * Chunk<S>::kLines;
      scan<S>(seen, view, band, index / blocks, {line, std::min(line + Chunk<S>::kLines, view.rows)}, levels.step);
    }
    const std::lock_guard<std::mutex> lock(mutex);
    all.merge(seen);
  });
  levels.spread = all.spread;
  levels.has_zero = all.has_zero;
  if (S::can_overflow && chunks > 0) {
    levels.rough_share =
        static_cast<double>(std::count(all.is_rough.begin(), all.is_rough.end(), 1)) / static_cast<double>(chunks);
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
