#include "core/problem/scan.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <mutex>
#include <sstream>
#include <string>
#include <type_traits>

#include "core/algebra/dispatch.h"
#include "core/algebra/scan_run.h"
#include "core/problem/structured.h"
#include "core/status.h"

namespace mpmml {
namespace {

template <class S>
Range scan_run(const typename S::Element* data, int64_t count) {
  if constexpr (has_range<S>) {
    return mpmml::scan_run(data, count, S::zero);
  } else {
    bool all = true;
    for (int64_t index = 0; index < count; ++index) all &= S::holds(data[index]);
    Range range;
    range.has_invalid_element = !all;
    return range;
  }
}

/// Size in elements of the buffer for runs that aren't contiguous, or are stored in another type.
constexpr int64_t kBuffered = 4096;

template <class S, class Stored>
Range scan_strided(const Stored* data, int64_t count, int64_t stride) {
  using Element = typename S::Element;
  if constexpr (std::is_same_v<Stored, Element>) {
    if (stride == 1) return scan_run<S>(data, count);
  }
  Range range;
  Element buffer[kBuffered];
  for (int64_t first = 0; first < count; first += kBuffered) {
    const int64_t run = std::min(kBuffered, count - first);
    for (int64_t index = 0; index < run; ++index) buffer[index] = widened<S>(data[(first + index) * stride]);
    range.merge(scan_run<S>(buffer, run));
  }
  return range;
}

/// Returns text such as "a[1, 2, 3]", without the batch index if there is only one matrix.
std::string place(const char* name, bool batched, int64_t item, int64_t row, int64_t col) {
  return std::string(name) + "[" + (batched ? std::to_string(item) + ", " : "") + std::to_string(row) + ", " +
         std::to_string(col) + "]";
}

/// Returns the number in JavaScript's notation.
std::string text(double value) {
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  std::ostringstream stream;
  stream << std::setprecision(9) << value;
  return stream.str();
}

/// Throws Error(kValue) for the first value of `view` in the band that isn't an element of the semiring.
void refuse_invalid_element(const Operation& operation, const MatrixView& view, int64_t batch, const Band& band,
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
    range.merge(with_stored<S>(
        storage, [&](auto zero) { return scan_strided<S>(static_cast<const decltype(zero)*>(data), count, 1); }));
  });
  return range;
}

ValueRange scan_matrices(const Operation& operation, const MatrixView& view, int64_t batch, const Band& band,
                         const ForRuns& for_runs) {
  const Lines lines(view);
  const Band of_lines = lines.are_columns ? band.transposed() : band;
  ValueRange range;
  std::mutex mutex;
  with_scanned_semiring(operation, [&](auto value) {
    using S = decltype(value);
    for_runs(items_of(view, batch) * lines.count, lines.length, [&](int64_t first_line, int64_t end) {
      const Range seen = with_stored<S>(view.storage, [&](auto zero) {
        const auto* const stored = static_cast<const decltype(zero)*>(view.data);
        Range all;
        for (int64_t index = first_line; index < end; ++index) {
          const int64_t item = index / lines.count, line = index % lines.count;
          const Span inside = span_of_row(of_lines, line, lines.length);
          if (inside.is_empty()) continue;
          const auto* const first = stored + item * view.batch_stride + line * lines.line_stride;
          all.merge(scan_strided<S>(first + inside.first * lines.element_stride, inside.end - inside.first,
                                    lines.element_stride));
        }
        return all;
      });
      const std::lock_guard<std::mutex> lock(mutex);
      range.merge(seen);
    });
  });
  if (!band.is_all(view.rows, view.cols)) range.has_zero = true;
  return range;
}

void require_elements(const Problem& problem, const ValueRange& a, const ValueRange& b) {
  const Structure& structure = problem.structure;
  if (a.has_invalid_element) refuse_invalid_element(problem.operation, problem.a, problem.batch, structure.a, "a");
  if (b.has_invalid_element) refuse_invalid_element(problem.operation, problem.b, problem.batch, structure.b, "b");
}

void require_elements(const Operation& operation, const MatrixView& view, int64_t batch, const char* name,
                      const Band& band) {
  if (!restricts_elements(operation)) return;
  if (scan_matrices(operation, view, batch, band).has_invalid_element)
    refuse_invalid_element(operation, view, batch, band, name);
}

void require_elements_of_c0(const Problem& problem) {
  if (!problem.c0.data) return;
  require_elements(problem.operation, problem.c0, problem.batch, "accumulate", problem.structure.c);
}

void require_elements_of_operands(const Problem& problem) {
  require_elements(problem.operation, problem.a, problem.batch, "a", problem.structure.a);
  require_elements(problem.operation, problem.b, problem.batch, "b", problem.structure.b);
}

}  // namespace mpmml
