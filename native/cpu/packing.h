// Copies operands into panels, translates the semiring's zero and scans the values, all in one pass.
//
// Panels for NativeArithmetic are packed for its translated path, before the ranges are known. Such panels are valid
// for the direct path, too: its operands have no zero, and both paths encode every other value as itself. Only the
// steps past k differ. They are written afterwards (fill_border).
#pragma once
#include "core/algebra/arithmetic.h"
#include "cpu/kernel.h"
#include "cpu/vector.h"

namespace mpmml::cpu::MPMML_ISA {

/// If an operand's lanes are adjacent in memory, the k-steps of one panel that are packed before the next panel: as
/// many streams as the hardware prefetchers follow.
constexpr int64_t kPackingSteps = 8;

/// The values in an operand, gathered in the elements of a vector.
template <class S, int n>
struct Scan {
  using Element = typename S::Element;
  using V = ShortVector<Element, n>;
  static constexpr Element lowest = std::numeric_limits<Element>::min();
  static constexpr Element highest = std::numeric_limits<Element>::max();

  V minimum = highest - V{};
  V maximum = lowest - V{};
  V zeros = V{};

  MPMML_HOST_DEVICE void see(V x) {
    // Zero is the least or the greatest of all values, so it is neutral for one of minimum and maximum. For the other
    // it is replaced by the opposite extreme.
    const V away = x == S::zero ? (S::maximizes ? highest : lowest) - V{} : x;
    const V low = S::maximizes ? away : x;
    const V high = S::maximizes ? x : away;
    minimum = low < minimum ? low : minimum;
    maximum = high > maximum ? high : maximum;
    zeros |= x == S::zero;
  }

  MPMML_HOST_DEVICE void merge_into(Range& all) const {
    for (int i = 0; i < n; ++i) {
      if (minimum[i] <= maximum[i]) all.include(minimum[i], maximum[i]);
      all.has_zero = all.has_zero || zeros[i] != 0;
    }
  }
};

/// Scan for values that aren't elements of the semiring. Such values are below all elements; NaN is skipped.
template <class S, int n>
struct InvalidElementScan {
  using Element = typename S::Element;
  static_assert(S::holds(kHighest<Element>) && S::holds(S::zero) && !S::holds(kLowest<Element>));
  using V = ShortVector<Element, n>;
  V least = S::zero - V{};

  MPMML_HOST_DEVICE void see(const V& x) { least = x < least ? x : least; }
  MPMML_HOST_DEVICE void merge_into(Range& all) const {
    for (int i = 0; i < n; ++i) all.has_invalid_element = all.has_invalid_element || !S::holds(least[i]);
  }
};

/// No scan: for products that don't need the range of the values.
template <class S, int n>
struct NoScan {
  MPMML_HOST_DEVICE void see(const ShortVector<typename S::Element, n>&) {}
  MPMML_HOST_DEVICE void merge_into(Range&) const {}
};

template <class S, int n>
using ScanOf = std::conditional_t<S::can_overflow, Scan<S, n>,
                                  std::conditional_t<S::restricts_elements, InvalidElementScan<S, n>, NoScan<S, n>>>;

/// Repeats an element of 8 or 16 bits to fill 32 bits.
MPMML_INLINE uint32_t repeated(uint16_t x) { return x * uint32_t{0x10001}; }
MPMML_INLINE uint32_t repeated(uint8_t x) { return x * uint32_t{0x1010101}; }
/// Returns wider elements unchanged.
template <class T>
MPMML_INLINE T repeated(T x) {
  static_assert(std::is_same_v<T, Broadcast<T>>);
  return x;
}

/// Loads `n` adjacent elements into `x`, converting them if they are stored in a narrower type. Conversion thus needs
/// no separate pass over the operand.
template <class S, int n, class Source>
MPMML_INLINE void load_elements(ShortVector<typename S::Element, n>& x, const Source* from) {
  using Element = typename S::Element;
  ShortVector<Source, n> stored;
  __builtin_memcpy(&stored, from, sizeof stored);
  if constexpr (std::is_same_v<Source, Element>) {
    x = stored;
  } else {
    x = __builtin_convertvector(stored, ShortVector<Element, n>);
    x = x == Element{stored_zero<S, Source>()} ? S::zero - ShortVector<Element, n>{} : x;
  }
}

/// Packs panels of `width` lanes, whose elements are stored as `Source`. Operands are stored as `Stored`: the operand
/// type, or Broadcast.
template <class Arithmetic, int width, class Stored, class Source>
class Packer {
  using S = typename Arithmetic::Semiring;
  using Element = typename Arithmetic::Element;
  using Operand = typename Arithmetic::Operand;
  static constexpr Arithmetic arithmetic = Arithmetic::for_operands(ArithmeticKind::kTranslated);
  static constexpr int kLanes = VectorOf<Element>::lanes < width ? VectorOf<Element>::lanes : width;

 public:
  MPMML_HOST_DEVICE explicit Packer(const PackRequest& request)
      : source_(request.source),
        data_(static_cast<const Source*>(source_.data)),
        offset_(request.offset),
        band_(request.band),
        k_alignment_(request.k_alignment) {}

  /// Packs steps [first_k, end_k) of the panels of lanes [first_lane, end_lane). `to` is where the first step of the
  /// first one goes, and panels are `stride` apart. Not inlined, so that it is compiled once.
  __attribute__((noinline)) void pack(int64_t first_lane, int64_t end_lane, int64_t first_k, int64_t end_k, Stored* to,
                                      int64_t stride) {
    // The scan of a local copy stays in registers.
    Packer own = *this;
    for (int64_t lane = first_lane; lane < end_lane; lane += width, to += stride)
      own.pack_panel(lane, first_k, end_k, to);
    lanes_ = own.lanes_;
    fours_ = own.fours_;
    ones_ = own.ones_;
  }

  /// pack() for an operand of which some elements are outside of the band. Skips steps that no tile needs.
  MPMML_HOST_DEVICE void pack_partial(int64_t first_lane, int64_t first_k, int64_t end_k, Stored* to) {
    const int64_t after = first_lane + width;
    const Span lanes{first_lane, after < source_.lanes ? after : source_.lanes};
    Span needed{first_k, end_k};
    if (k_alignment_ > 0) {
      const auto [first, end] = band_.of_some(lanes);
      if (end <= 0 || end <= first) return;
      if (first > first_k)
        needed.first = first / k_alignment_ * k_alignment_ > first_k ? first / k_alignment_ * k_alignment_ : first_k;
      if (end < end_k) needed.end = round_up(end, k_alignment_) < end_k ? round_up(end, k_alignment_) : end_k;
      if (needed.is_empty()) return;
    }
    const auto within = [&](int64_t k) { return k < needed.first ? needed.first : k > needed.end ? needed.end : k; };
    const Span whole = band_.of_all(lanes);
    const int64_t first_whole = within(whole.first), after_whole = within(whole.end);
    const int64_t end_whole = after_whole > first_whole ? after_whole : first_whole;
    pack_some(first_lane, needed.first, first_whole, to + (needed.first - first_k) * width);
    if (first_whole < end_whole) {
      pack(first_lane, first_lane + width, first_whole, end_whole, to + (first_whole - first_k) * width, 0);
    }
    pack_some(first_lane, end_whole, needed.end, to + (end_whole - first_k) * width);
  }

  MPMML_HOST_DEVICE Range range() const {
    Range all;
    lanes_.merge_into(all);
    fours_.merge_into(all);
    ones_.merge_into(all);
    return all;
  }

 private:
  using Four = ShortVector<Element, 4>;

  /// Packs one element for each of some lanes.
  template <class V>
  MPMML_HOST_DEVICE void encode(const V& x, Stored* to) const {
    constexpr int lanes = sizeof(V) / sizeof(Element);
    if constexpr (takes_offsets<Arithmetic>) {
      auto wide = Arithmetic::encode_vector(x, offset_);
      if constexpr (!std::is_same_v<Stored, Operand>) {
        static_assert(sizeof(Stored) == sizeof(Element));
        if constexpr (sizeof(Operand) == 1) wide |= wide << 8;
        wide |= wide << 16;
        __builtin_memcpy(to, &wide, sizeof wide);
      } else {
        const auto encoded = __builtin_convertvector(wide, ShortVector<Operand, lanes>);
        __builtin_memcpy(to, &encoded, sizeof encoded);
      }
    } else if constexpr (is_held_unchanged() && !std::is_same_v<Stored, Operand>) {
      for (int lane = 0; lane < lanes; ++lane) to[lane] = repeated(x[lane]);
    } else if constexpr (is_held_unchanged()) {
      __builtin_memcpy(to, &x, sizeof x);
    } else if constexpr (S::can_overflow && std::is_same_v<Operand, Element>) {
      const V encoded = x == S::zero ? arithmetic.encode(S::zero) - V{} : x;
      __builtin_memcpy(to, &encoded, sizeof encoded);
    } else {
      constexpr int n = lanes < VectorOf<Operand>::lanes ? lanes : VectorOf<Operand>::lanes;
      MPMML_UNROLL
      for (int i = 0; i < lanes; i += n) {
        ShortVector<Element, n> part;
        __builtin_memcpy(&part, reinterpret_cast<const char*>(&x) + i * sizeof(Element), sizeof part);
        const auto encoded = encode_part<n>(part);
        __builtin_memcpy(to + i, &encoded, sizeof encoded);
      }
    }
  }

  /// Returns whether encode() returns its argument.
  static constexpr bool is_held_unchanged() {
    if constexpr (S::can_overflow) {
      return false;
    } else {
      return !Arithmetic::kKeepsElements || std::is_integral_v<Element>;
    }
  }

  /// Packs at most as many lanes as a vector of operands has.
  template <int n>
  MPMML_HOST_DEVICE static ShortVector<Operand, n> encode_part(ShortVector<Element, n> x) {
    if constexpr (S::can_overflow) {
      return arithmetic.encode_wide(__builtin_convertvector(x, ShortVector<Operand, n>));
    } else {
      return Arithmetic::encode(x);
    }
  }

  MPMML_HOST_DEVICE void pack_panel(int64_t first_lane, int64_t first_k, int64_t end_k, Stored* to) {
    const bool whole = first_lane + width <= source_.lanes;
    const Source* from = data_ + first_lane * source_.lane_stride + first_k * source_.k_stride;
    if (whole && source_.lane_stride == 1) {
      pack_adjacent_lanes(from, end_k - first_k, to);
    } else if (whole && source_.k_stride == 1 && width % 4 == 0) {
      const int64_t fours = (end_k - first_k) / 4 * 4;
      pack_adjacent_steps(from, fours, to);
      pack_any(from + fours, width, end_k - first_k - fours, to + fours * width);
    } else {
      const int64_t lanes = whole ? width : source_.lanes - first_lane;
      pack_any(from, static_cast<int>(lanes), end_k - first_k, to);
    }
  }

  MPMML_HOST_DEVICE void pack_adjacent_lanes(const Source* from, int64_t steps, Stored* to) {
    for (int64_t k = 0; k < steps; ++k) {
      MPMML_UNROLL
      for (int lane = 0; lane < width; lane += kLanes) {
        ShortVector<Element, kLanes> x;
        load_elements<S, kLanes>(x, from + k * source_.k_stride + lane);
        lanes_.see(x);
        encode(x, to + k * width + lane);
      }
    }
  }

  /// Transposes blocks of four lanes by four steps.
  MPMML_HOST_DEVICE void pack_adjacent_steps(const Source* from, int64_t steps, Stored* to) {
    for (int lane = 0; lane < width; lane += 4) {
      for (int64_t k = 0; k < steps; k += 4) {
        Four x[4];
        MPMML_UNROLL
        for (int i = 0; i < 4; ++i) {
          load_elements<S, 4>(x[i], from + (lane + i) * source_.lane_stride + k);
          fours_.see(x[i]);
        }
        Four low01, low23, high01, high23;
        shuffle<0, 4, 1, 5>(low01, x[0], x[1]);
        shuffle<0, 4, 1, 5>(low23, x[2], x[3]);
        shuffle<2, 6, 3, 7>(high01, x[0], x[1]);
        shuffle<2, 6, 3, 7>(high23, x[2], x[3]);
        shuffle<0, 1, 4, 5>(x[0], low01, low23);
        shuffle<2, 3, 6, 7>(x[1], low01, low23);
        shuffle<0, 1, 4, 5>(x[2], high01, high23);
        shuffle<2, 3, 6, 7>(x[3], high01, high23);
        MPMML_UNROLL
        for (int step = 0; step < 4; ++step) encode(x[step], to + (k + step) * width + lane);
      }
    }
  }

  MPMML_HOST_DEVICE void pack_any(const Source* from, int lanes, int64_t steps, Stored* to) {
    for (int64_t k = 0; k < steps; ++k) {
      for (int lane = 0; lane < lanes; ++lane) {
        ShortVector<Element, 1> x;
        load_elements<S, 1>(x, from + lane * source_.lane_stride + k * source_.k_stride);
        ones_.see(x);
        encode(x, to + k * width + lane);
      }
      for (int lane = lanes; lane < width; ++lane) to[k * width + lane] = 0;
    }
  }

  /// Packs steps of which some elements are outside of the band. These elements become zero.
  MPMML_HOST_DEVICE void pack_some(int64_t first_lane, int64_t first_k, int64_t end_k, Stored* to) {
    if (first_k < end_k) pack_one_by_one(first_lane, first_k, end_k, to);
  }
  __attribute__((noinline)) void pack_one_by_one(int64_t first_lane, int64_t first_k, int64_t end_k, Stored* to) {
    for (int64_t k = first_k; k < end_k; ++k, to += width) {
      for (int lane = 0; lane < width; ++lane) {
        const int64_t of_source = first_lane + lane;
        if (of_source >= source_.lanes) {
          to[lane] = 0;
          continue;
        }
        const bool is_inside = band_.has(of_source, k);
        ShortVector<Element, 1> x = {S::zero};
        if (is_inside) load_elements<S, 1>(x, data_ + of_source * source_.lane_stride + k * source_.k_stride);
        ones_.see(x);
        encode(x, to + lane);
      }
    }
  }

  const Lanes source_;
  const Source* const data_;
  const int32_t offset_;
  const Band band_;
  const int64_t k_alignment_;
  /// Offsets follow from the values, so with them the values are known already.
  template <int n>
  using PackScan = std::conditional_t<takes_offsets<Arithmetic>, NoScan<S, n>, ScanOf<S, n>>;
  PackScan<kLanes> lanes_;
  PackScan<4> fours_;
  PackScan<1> ones_;
};

/// Returns the position of step k of a panel in a packed operand, in operands.
template <int width>
MPMML_INLINE int64_t offset_of(const PackRequest& request, int64_t panel, int64_t k) {
  const int64_t slab = k / request.KC * request.KC;
  const int64_t steps = request.padded_k - slab < request.KC ? request.padded_k - slab : request.KC;
  return (slab * request.panels + panel * steps + k - slab) * width;
}

/// The first step past k of a packed operand.
template <class Arithmetic>
MPMML_INLINE int64_t border_of(const PackRequest& request) {
  return ceil_div(request.source.k, steps_per_operand<Arithmetic>);
}

template <class Arithmetic, int width, class Stored, class Source>
static Range pack_stored(const PackRequest& request) {
  Packer<Arithmetic, width, Stored, Source> packer(request);
  const int64_t most = request.source.lane_stride == 1 ? kPackingSteps : request.KC;
  const int64_t first_lane = request.first_panel * width, end_lane = request.end_panel * width;
  for (int64_t k = 0, end_k; k < request.source.k; k = end_k) {
    const int64_t end_slab = (k / request.KC + 1) * request.KC;
    end_k = k + most < end_slab ? k + most : end_slab;
    if (end_k > request.source.k) end_k = request.source.k;
    const int64_t first = offset_of<width>(request, request.first_panel, k);
    const int64_t stride = offset_of<width>(request, request.first_panel + 1, k) - first;
    Stored* to = static_cast<Stored*>(request.packed) + first;
    if (!request.is_partial) {
      packer.pack(first_lane, end_lane, k, end_k, to, stride);
      continue;
    }
    for (int64_t lane = first_lane; lane < end_lane; lane += width, to += stride)
      packer.pack_partial(lane, k, end_k, to);
  }
  return packer.range();
}

template <class Arithmetic, int width, class Stored = typename Arithmetic::Operand>
static Range pack(const PackRequest& request) {
  return with_stored<typename Arithmetic::Semiring>(request.source.storage, [&](auto zero) {
    return pack_stored<Arithmetic, width, Stored, decltype(zero)>(request);
  });
}

template <class Arithmetic, int width, class Stored>
MPMML_INLINE void fill_border(const PackRequest& request, Stored border) {
  const int64_t first = border_of<Arithmetic>(request);
  const int64_t count = (request.padded_k - first) * width;
  for (int64_t panel = request.first_panel; count > 0 && panel < request.end_panel; ++panel) {
    Stored* steps = static_cast<Stored*>(request.packed) + offset_of<width>(request, panel, first);
    for (int64_t i = 0; i < count; ++i) steps[i] = border;
  }
}

}  // namespace mpmml::cpu::MPMML_ISA
