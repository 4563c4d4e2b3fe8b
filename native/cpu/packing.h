// Copies operands into panels, translates the semiring's zero and sees what values occur, all in one pass.
//
// Panels of Narrow are packed as for its translated path before the ranges are known. That serves the direct path as
// well: there no zero occurs, and every other value is held as itself on both. Only the steps past k differ, and they
// are written afterwards (fill_border).
#pragma once
#include "core/arithmetic.h"
#include "cpu/kernel.h"
#include "cpu/vector.h"

namespace mpmml::cpu::MPMML_ISA {

/// k-steps that are packed of one panel before the next panel's turn: panels side by side share cache lines of an
/// operand whose lanes are adjacent.
constexpr int64_t kPackingSteps = 64;

/// What occurs in an operand, gathered lane by lane so that the compiler keeps it in vectors.
template <class S, int width>
struct Scan {
  using Element = typename S::Element;
  static constexpr Element lowest = std::numeric_limits<Element>::min();
  static constexpr Element highest = std::numeric_limits<Element>::max();

  Element minimum[width];
  Element maximum[width];
  Element zeros[width];

  MPMML_HOST_DEVICE Scan() {
    for (int lane = 0; lane < width; ++lane) {
      minimum[lane] = highest;
      maximum[lane] = lowest;
      zeros[lane] = 0;
    }
  }

  MPMML_HOST_DEVICE void see(int lane, Element x) {
    const bool is_zero = x == S::zero;
    const Element low = is_zero ? highest : x;
    const Element high = is_zero ? lowest : x;
    minimum[lane] = low < minimum[lane] ? low : minimum[lane];
    maximum[lane] = high > maximum[lane] ? high : maximum[lane];
    zeros[lane] |= is_zero ? Element{-1} : Element{0};
  }

  MPMML_HOST_DEVICE void merge_into(Occurring& all) const {
    for (int lane = 0; lane < width; ++lane) {
      // Of an extreme value that is the semiring's zero, nothing was seen; the other extreme is a value like others.
      if (minimum[lane] <= maximum[lane]) {
        all.minimum = minimum[lane] < all.minimum ? minimum[lane] : all.minimum;
        all.maximum = maximum[lane] > all.maximum ? maximum[lane] : all.maximum;
      }
      all.has_zero = all.has_zero || zeros[lane] != 0;
    }
  }
};

/// Packs steps [first_k, end_k) of one panel with `lanes` ≤ width lanes.
template <class Arithmetic, int width, class Element = typename Arithmetic::Element>
MPMML_INLINE void pack_steps(const Arithmetic& arithmetic, const Element* source, int64_t lane_stride, int64_t k_stride,
                             int lanes, int64_t steps, typename Arithmetic::Operand* panel, Occurring& occurring) {
  using S = typename Arithmetic::Semiring;
  if (lanes == width && lane_stride == 1) {
    Scan<S, width> scan;
    for (int64_t k = 0; k < steps; ++k) {
      for (int lane = 0; lane < width; ++lane) {
        const Element x = source[k * k_stride + lane];
        scan.see(lane, x);
        panel[k * width + lane] = arithmetic.encode(x);
      }
    }
    scan.merge_into(occurring);
    return;
  }
  // Through a buffer that stays in the first-level cache: along k while reading, across lanes while writing.
  Element buffer[width][kPackingSteps];
  constexpr int chunk = 16;
  Scan<S, chunk> scan;
  for (int lane = 0; lane < lanes; ++lane) {
    const Element* from = source + lane * lane_stride;
    int64_t k = 0;
    if (k_stride == 1) {
      for (; k + chunk <= steps; k += chunk) {
        for (int i = 0; i < chunk; ++i) {
          scan.see(i, from[k + i]);
          buffer[lane][k + i] = from[k + i];
        }
      }
    }
    for (; k < steps; ++k) {
      scan.see(0, from[k * k_stride]);
      buffer[lane][k] = from[k * k_stride];
    }
  }
  scan.merge_into(occurring);
  for (int64_t k = 0; k < steps; ++k) {
    for (int lane = 0; lane < lanes; ++lane) panel[k * width + lane] = arithmetic.encode(buffer[lane][k]);
    for (int lane = lanes; lane < width; ++lane) panel[k * width + lane] = arithmetic.encode(S::border_b);
  }
}

template <class Arithmetic, int width>
static Occurring pack(const PackRequest& request) {
  using Element = typename Arithmetic::Element;
  using Operand = typename Arithmetic::Operand;
  constexpr Arithmetic arithmetic = Arithmetic::for_path(RangePath::kTranslated);
  const Lanes& source = request.source;
  Occurring occurring{INT64_MAX, INT64_MIN, false};
  for (int64_t k = 0; k < source.k; k += kPackingSteps) {
    const int64_t steps = source.k - k < kPackingSteps ? source.k - k : kPackingSteps;
    for (int64_t panel = request.first_panel; panel < request.end_panel; ++panel) {
      const int64_t left = source.lanes - panel * width;
      pack_steps<Arithmetic, width>(
          arithmetic,
          static_cast<const Element*>(source.data) + panel * width * source.lane_stride + k * source.k_stride,
          source.lane_stride, source.k_stride, static_cast<int>(left < width ? left : width), steps,
          static_cast<Operand*>(request.panels) + (panel * request.padded_k + k) * width, occurring);
    }
  }
  return occurring;
}

template <int width, class Operand>
MPMML_INLINE void fill_border(const PackRequest& request, Operand border) {
  for (int64_t panel = request.first_panel; panel < request.end_panel; ++panel) {
    Operand* steps = static_cast<Operand*>(request.panels) + panel * request.padded_k * width;
    for (int64_t i = request.source.k * width; i < request.padded_k * width; ++i) steps[i] = border;
  }
}

}  // namespace mpmml::cpu::MPMML_ISA
