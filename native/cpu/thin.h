// The skinny family (`thin`): products of an operand with few lanes (rows of A or columns of B) and an operand with
// many. Packing the large operand would take longer than the product. So the kernel reads the large operand in place,
// once, and scans its values in the same pass. Compiled once for each instruction set (see vector.h).
#pragma once
#include "core/algebra/arithmetic.h"
#include "cpu/kernel.h"
#include "cpu/packing.h"
#include "cpu/tile.h"
#include "cpu/witness_windows.h"

namespace mpmml::cpu::MPMML_ISA {

/// If the large operand's lanes are adjacent, the k-steps of it that are read at the same time: as many streams as
/// hardware prefetchers follow. Short rows that follow each other in memory are one stream.
constexpr int kStreams = 8, kShortRows = 64;
constexpr int64_t kShortRowBytes = 1024;

/// Finds the least and the greatest value. A zero is one of the two, in its encoding in `Source`.
template <class S, int n, class Source>
struct Ends {
  using Element = typename S::Element;
  using V = ShortVector<Element, n>;
  V minimum = std::numeric_limits<Element>::max() - V{};
  V maximum = std::numeric_limits<Element>::min() - V{};
  static constexpr Element zero = stored_zero<S, Source>();

  MPMML_HOST_DEVICE void see(V x) {
    minimum = x < minimum ? x : minimum;
    maximum = x > maximum ? x : maximum;
  }
  MPMML_HOST_DEVICE void merge_into(Range& all) const {
    for (int i = 0; i < n && minimum[0] <= maximum[0]; ++i) {
      all.include(minimum[i], maximum[i]);
      all.has_zero = all.has_zero || minimum[i] == zero || maximum[i] == zero;
    }
  }
};

/// accumulators ⊕= small ⊗ large. `zeros`: whether the large operand may contain zero that is encoded as another value.
/// The large operand's elements are stored as `Source`.
template <class Arithmetic, bool zeros, class Source = typename Arithmetic::Element>
class ThreadTile {
  template <class, bool, class>
  friend class ThreadTile;
  using S = typename Arithmetic::Semiring;
  using Element = typename Arithmetic::Element;
  using Operand = typename Arithmetic::Operand;
  using Accumulator = typename Arithmetic::Accumulator;
  static constexpr bool is_held_as_it_is = std::is_same_v<Operand, Element>;
  static constexpr Arithmetic arithmetic = Arithmetic::for_operands(ArithmeticKind::kTranslated);
  static constexpr int kLanes = VectorOf<Operand>::lanes;

 public:
  using Note = std::conditional_t<sizeof(Accumulator) == 4, int32_t, int64_t>;

  MPMML_HOST_DEVICE explicit ThreadTile(const ThinRequest& request)
      : small_(request.small),
        large_(request.large),
        from_(static_cast<const Source*>(large_.data)),
        encoded_(static_cast<Operand*>(request.encoded)),
        accumulators_(static_cast<Accumulator*>(request.accumulators)),
        row_stride_(request.row_stride),
        starts_(request.starts),
        notes_(static_cast<Note*>(request.notes)),
        first_k_(request.first_k) {}

  MPMML_HOST_DEVICE ThinRanges accumulate() {
    ThinRanges ranges;
    with_stored<S>(small_.storage, [&](auto zero) { encode_small<decltype(zero)>(ranges.small); });
    if (starts_) start();
    if (large_.k_stride == 1 && large_.lane_stride != 1 && large_.k >= kLanes) {
      along_steps();
    } else if (S::idempotent && notes_) {
      along_lanes<S::idempotent>();
    } else {
      along_lanes<false>();
    }
    full_.merge_into(ranges.large);
    few_.merge_into(ranges.large);
    one_.merge_into(ranges.large);
    return ranges;
  }

 private:
  static constexpr int kFew = kLanes < 4 ? kLanes : 4;
  /// Vectors of the large operand in a tile with R lanes of the small one: as many as fit the registers.
  template <int R>
  static constexpr int kVectors = R > 2 ? 2 : 4;
  /// Vectors of the large operand in a tile whose accumulators have notes.
  template <int R>
  static constexpr int kNotedVectors = kHasManyRegisters ? kVectors<R> : kVectors<R> / 2;

  template <int n>
  using Elements = ShortVector<Element, n>;
  template <int n>
  using Operands = ShortVector<Operand, n>;
  template <int n>
  using PackScan = std::conditional_t<!is_held_as_it_is, NoScan<S, n>,
                                      std::conditional_t<S::can_overflow && !zeros, Ends<S, n, Source>, ScanOf<S, n>>>;

  /// Elements of the large operand. The zero of a narrower type isn't converted if any zero makes the accumulators
  /// invalid, because Ends finds it.
  template <int n>
  MPMML_HOST_DEVICE static Elements<n> read(const Source* from) {
    Elements<n> x;
    if constexpr (S::can_overflow && !zeros && !std::is_same_v<Source, Element>) {
      ShortVector<Source, n> stored;
      __builtin_memcpy(&stored, from, sizeof stored);
      x = __builtin_convertvector(stored, Elements<n>);
    } else {
      load_elements<S, n>(x, from);
    }
    return x;
  }

  template <int n>
  MPMML_HOST_DEVICE static Operands<n> encode(Elements<n> x) {
    if constexpr (!S::can_overflow) {
      return Arithmetic::encode(x);
    } else if constexpr (!is_held_as_it_is) {
      return arithmetic.encode_wide(__builtin_convertvector(x, Operands<n>));
    } else if constexpr (zeros) {
      return x == S::zero ? arithmetic.encode(S::zero) - Operands<n>{} : x;
    } else {
      return x;
    }
  }

  template <int n>
  MPMML_HOST_DEVICE PackScan<n>& sight() {
    if constexpr (n == kLanes) {
      return full_;
    } else if constexpr (n == 1) {
      return one_;
    } else {
      return few_;
    }
  }

  template <class SmallSource>
  MPMML_HOST_DEVICE void encode_small(Range& range) {
    ScanOf<S, kLanes> scan;
    ScanOf<S, 1> rest;
    for (int64_t lane = 0; lane < small_.lanes; ++lane) {
      const auto* from = static_cast<const SmallSource*>(small_.data) + lane * small_.lane_stride;
      Operand* to = encoded_ + lane * small_.k;
      int64_t k = 0;
      for (; small_.k_stride == 1 && k + kLanes <= small_.k; k += kLanes) {
        Elements<kLanes> x;
        load_elements<S, kLanes>(x, from + k);
        scan.see(x);
        const Operands<kLanes> encoded = ThreadTile<Arithmetic, true>::template encode<kLanes>(x);
        __builtin_memcpy(to + k, &encoded, sizeof encoded);
      }
      for (; k < small_.k; ++k) {
        Elements<1> x;
        load_elements<S, 1>(x, from + k * small_.k_stride);
        rest.see(x);
        to[k] = arithmetic.encode(x[0]);
      }
    }
    scan.merge_into(range);
    rest.merge_into(range);
  }

  MPMML_HOST_DEVICE void start() {
    const Accumulator initial = Arithmetic::for_operands(ArithmeticKind::kDirect).initial();
    for (int64_t row = 0; row < small_.lanes; ++row) {
      for (int64_t col = 0; col < large_.lanes; ++col) accumulators_[row * row_stride_ + col] = initial;
      for (int64_t col = 0; notes_ && col < large_.lanes; ++col) notes_[row * row_stride_ + col] = kNoWitness;
    }
  }

  /// Runs over [0, count) in parts of `each`, and passes `body` how many elements of a part are done already: if count
  /// isn't a multiple of `each` the last part overlaps the one before. An idempotent ⊕ allows that. count ≥ each.
  template <class Body>
  MPMML_HOST_DEVICE static void in_parts(int64_t count, int64_t each, Body body) {
    for (int64_t first = 0; first < count; first += each) {
      const int64_t done = first + each > count ? first + each - count : 0;
      first -= done;
      body(first, done);
    }
  }

  /// Stores some vectors of accumulators, except the first `done`, which are stored already.
  template <class V, int NV>
  MPMML_HOST_DEVICE static void store(const V (&acc)[NV], Accumulator* to, int64_t done) {
    constexpr int n = sizeof(V) / sizeof(Accumulator);
    if constexpr (!S::idempotent) {
      if (done > 0) {
        Accumulator all[NV * n];
        __builtin_memcpy(all, acc, sizeof all);
        for (int64_t lane = done; lane < NV * n; ++lane) to[lane] = all[lane];
        return;
      }
    }
    MPMML_UNROLL
    for (int j = 0; j < NV; ++j) __builtin_memcpy(to + j * n, &acc[j], sizeof acc[j]);
  }

  /// The first step whose candidate is `acc`, with a row of the small operand and a lane of the large one whose steps
  /// are adjacent. There must be one.
  __attribute__((noinline)) Note first_step(const Operand* a, const Source* b, Accumulator acc) const {
    uint64_t equal = 0;
    int64_t k = 0;
    for (bool last = false; equal == 0 && !last; k += kLanes) {
      // The last vector overlaps the one before; the steps that both share had no match.
      last = k + kLanes >= large_.k;
      if (last) k = large_.k - kLanes;
      const auto x = read<kLanes>(b + k);
      Operands<kLanes> elements;
      __builtin_memcpy(&elements, a + k, sizeof elements);
      const Operands<kLanes> candidates = candidate<Arithmetic>(elements, encode<kLanes>(x));
      equal = equal_lanes<Operand>(candidates, acc - Operands<kLanes>{});
    }
    return static_cast<Note>(first_k_ + k - kLanes + __builtin_ctzll(equal | uint64_t{1} << (kLanes - 1)));
  }

  /// `x`, but with zero in the first `done` lanes, whose products are accumulated already.
  template <int n>
  MPMML_HOST_DEVICE static Operands<n> rest_of(Operands<n> x, int64_t done) {
    if constexpr (!S::idempotent) {
      for (int lane = 0; lane < n && lane < done; ++lane) x[lane] = S::zero;
    }
    return x;
  }

  /// Calls `body` for groups of lanes of the small operand, with the group's size and first lane.
  template <class Body>
  MPMML_HOST_DEVICE void for_rows(Body body) {
    int64_t row = 0;
    for (; row + 4 <= small_.lanes; row += 4) body(std::integral_constant<int, 4>{}, row);
    for (; row + 2 <= small_.lanes; row += 2) body(std::integral_constant<int, 2>{}, row);
    if (row < small_.lanes) body(std::integral_constant<int, 1>{}, row);
  }

  // These loops aren't inlined, because together they would need more registers than there are.

  /// R lanes of the small operand ⊗ all lanes of the large one, over the steps [first_k, end_k). The large operand's
  /// lanes are adjacent and are read as NV vectors of n at a time. If `noted`, the steps that improve accumulators are
  /// recorded.
  template <int R, int NV, int n, bool noted>
  __attribute__((noinline)) void row_along_lanes(int64_t row, int64_t first_k, int64_t end_k) {
    using Notes = ShortVector<Note, n>;
    PackScan<n> seen = sight<n>();
    in_parts(large_.lanes, NV * n, [&](int64_t col, int64_t done) __attribute__((always_inline)) {
      const int64_t place = row * row_stride_ + col;
      Accumulator* to = accumulators_ + place;
      Operands<n> acc[R][NV];
      [[maybe_unused]] Notes notes[R][NV], number = static_cast<Note>(first_k_ + first_k) - Notes{};
      MPMML_UNROLL
      for (int i = 0; i < R; ++i) {
        MPMML_UNROLL
        for (int j = 0; j < NV; ++j) {
          __builtin_memcpy(&acc[i][j], to + i * row_stride_ + j * n, sizeof acc[i][j]);
          if constexpr (noted)
            __builtin_memcpy(&notes[i][j], notes_ + place + i * row_stride_ + j * n, sizeof notes[i][j]);
        }
      }
      const Source* from = from_ + first_k * large_.k_stride + col * large_.lane_stride;
      const Operand* a = encoded_ + row * small_.k;
      // With notes the steps take too long for the loads of later ones to begin meanwhile.
      const bool is_first = noted && row == 0;
      // After the last steps those of the next lanes follow, at least if there are few steps.
      const int64_t ahead =
          end_k < large_.k ? (end_k - first_k) * large_.k_stride : large_.lanes - first_k * large_.k_stride;
      for (int64_t k = first_k; k < end_k; ++k, from += large_.k_stride) {
        Operands<n> b[NV];
        MPMML_UNROLL
        for (int j = 0; j < NV; ++j) {
          if (is_first) __builtin_prefetch(from + ahead + j * n);
          const auto x = read<n>(from + j * n);
          seen.see(x);
          b[j] = encode<n>(x);
        }
        MPMML_UNROLL
        for (int i = 0; i < R; ++i) {
          Operands<n> element = a[i * small_.k + k] - Operands<n>{};
          if constexpr (n > 1) MPMML_OPAQUE(element);
          MPMML_UNROLL
          for (int j = 0; j < NV; ++j) {
            const Operands<n> before = acc[i][j];
            acc[i][j] = Arithmetic::accumulate(before, element, b[j]);
            if constexpr (n > 1) MPMML_OPAQUE(acc[i][j]);
            if constexpr (noted) notes[i][j] = acc[i][j] != before ? number : notes[i][j];
          }
        }
        if constexpr (noted) number += 1;
      }
      MPMML_UNROLL
      for (int i = 0; i < R; ++i) {
        store(acc[i], to + i * row_stride_, done);
        if constexpr (noted) __builtin_memcpy(notes_ + place + i * row_stride_, notes[i], sizeof notes[i]);
      }
    });
    sight<n>() = seen;
  }

  template <bool noted>
  MPMML_HOST_DEVICE void along_lanes() {
    const int64_t lanes = large_.lane_stride == 1 ? large_.lanes : 1;
    const bool is_short = large_.k_stride > 0 && large_.k_stride * int64_t{sizeof(Source)} <= kShortRowBytes;
    const int64_t together = is_short ? kShortRows : kStreams;
    for (int64_t k = 0, end; k < large_.k; k = end) {
      end = k + together < large_.k ? k + together : large_.k;
      if (lanes >= kLanes) {
        for_rows([&](auto rows, int64_t row) {
          constexpr int NV = noted ? kNotedVectors<rows> : kVectors<rows>;
          if (lanes >= NV * kLanes) {
            row_along_lanes<rows, NV, kLanes, noted>(row, k, end);
          } else {
            row_along_lanes<rows, 1, kLanes, noted>(row, k, end);
          }
        });
        continue;
      }
      for (int64_t row = 0; row < small_.lanes; ++row) {
        if (lanes >= kFew) {
          row_along_lanes<1, 1, kFew, noted>(row, k, end);
        } else {
          row_along_lanes<1, 1, 1, noted>(row, k, end);
        }
      }
    }
  }

  /// R lanes of the small operand ⊗ all lanes of the large one, NJ lanes at a time. The large operand's steps are
  /// adjacent.
  template <int R, int NJ>
  __attribute__((noinline)) void row_along_steps(int64_t row) {
    constexpr int n = kLanes;
    PackScan<n> seen = full_;
    in_parts(large_.lanes, NJ, [&](int64_t col, int64_t done) __attribute__((always_inline)) {
      Operands<n> acc[R][NJ];
      MPMML_UNROLL
      for (int i = 0; i < R; ++i) {
        MPMML_UNROLL
        for (int j = 0; j < NJ; ++j)
          acc[i][j] = Arithmetic::for_operands(ArithmeticKind::kDirect).initial() - Operands<n>{};
      }
      const Source* from = from_ + col * large_.lane_stride;
      const Operand* a = encoded_ + row * small_.k;
      in_parts(large_.k, n, [&](int64_t k, int64_t steps_done) __attribute__((always_inline)) {
        Operands<n> b[NJ];
        MPMML_UNROLL
        for (int j = 0; j < NJ; ++j) {
          const auto x = read<n>(from + j * large_.lane_stride + k);
          seen.see(x);
          b[j] = rest_of<n>(encode<n>(x), steps_done);
        }
        MPMML_UNROLL
        for (int i = 0; i < R; ++i) {
          Operands<n> elements;
          __builtin_memcpy(&elements, a + i * small_.k + k, sizeof elements);
          elements = rest_of<n>(elements, steps_done);
          MPMML_UNROLL
          for (int j = 0; j < NJ; ++j) {
            acc[i][j] = Arithmetic::accumulate(acc[i][j], elements, b[j]);
            MPMML_OPAQUE(acc[i][j]);
          }
        }
      });
      for (int i = 0; i < R; ++i) {
        for (int j = S::idempotent ? 0 : static_cast<int>(done); j < NJ; ++j) {
          const int64_t place = (row + i) * row_stride_ + col + j;
          Accumulator& result = accumulators_[place];
          [[maybe_unused]] const Accumulator before = result;
          for (int lane = 0; lane < n; ++lane) result = S::combine(result, acc[i][j][lane]);
          if constexpr (S::idempotent) {
            if (notes_ && result != before) {
              notes_[place] = first_step(a + i * small_.k, from + j * large_.lane_stride, result);
            }
          }
        }
      }
    });
    full_ = seen;
  }

  MPMML_HOST_DEVICE void along_steps() {
    for_rows([&](auto rows, int64_t row) {
      if (large_.lanes >= kVectors<rows>) {
        row_along_steps<rows, kVectors<rows>>(row);
      } else {
        row_along_steps<rows, 1>(row);
      }
    });
  }

  const Lanes small_;
  const Lanes large_;
  const Source* const from_;
  Operand* const encoded_;
  Accumulator* const accumulators_;
  const int64_t row_stride_;
  const bool starts_;
  Note* const notes_;
  const int64_t first_k_;
  PackScan<kLanes> full_;
  PackScan<kFew> few_;
  PackScan<1> one_;
};

/// Writes the witnesses of a row, whose accumulators are still in parts.
template <class Arithmetic>
MPMML_INLINE void store_thin_witnesses(const Epilogue<Arithmetic>& epilogue, const ThinAccumulators& all, int64_t row) {
  using S = typename Arithmetic::Semiring;
  using Accumulator = typename Arithmetic::Accumulator;
  using Note = typename ThreadTile<Arithmetic, false>::Note;
  constexpr int kAtOnce = 64;
  const Accumulator* acc = static_cast<const Accumulator*>(all.accumulators) + row * all.row_stride;
  const Note* notes = static_cast<const Note*>(all.notes) + row * all.row_stride;
  if constexpr (std::is_same_v<Note, int32_t>) {
    if (all.parts == 1) {
      epilogue.store_witnesses(acc, notes, row, 0, all.cols);
      return;
    }
  }
  for (int64_t first = 0; first < all.cols; first += kAtOnce, acc += kAtOnce, notes += kAtOnce) {
    const int64_t count = all.cols - first < kAtOnce ? all.cols - first : kAtOnce;
    Accumulator best[kAtOnce];
    int32_t found[kAtOnce];
    for (int64_t i = 0; i < count; ++i) {
      best[i] = acc[i];
      found[i] = static_cast<int32_t>(notes[i]);
    }
    for (int64_t part = 1; part < all.parts; ++part) {
      const int64_t other = part * all.part_stride;
      for (int64_t i = 0; i < count; ++i) {
        // Of equal candidates the one with the smaller k remains.
        const Accumulator better = S::combine(best[i], acc[other + i]);
        found[i] = better != best[i] ? static_cast<int32_t>(notes[other + i]) : found[i];
        best[i] = better;
      }
    }
    epilogue.store_witnesses(best, found, row, first, count);
  }
}

template <class Arithmetic>
MPMML_INLINE int64_t finish_thin(const Arithmetic& arithmetic, const ThinAccumulators& all) {
  using Accumulator = typename Arithmetic::Accumulator;
  Epilogue<Arithmetic> epilogue(arithmetic, all.results);
  for (int64_t row = 0; row < all.rows; ++row) {
    Accumulator* acc = static_cast<Accumulator*>(all.accumulators) + row * all.row_stride;
    if constexpr (Arithmetic::Semiring::idempotent) {
      if (all.notes) store_thin_witnesses(epilogue, all, row);
    }
    for (int64_t part = 1; part < all.parts; ++part) {
      const Accumulator* other = acc + part * all.part_stride;
      for (int64_t col = 0; col < all.cols; ++col) acc[col] = Arithmetic::Semiring::combine(acc[col], other[col]);
    }
    epilogue.store_row(acc, row, 0, all.cols);
  }
  return epilogue.first_overflow();
}

/// The family, under its name in the variant table.
struct Thin {
  template <class First, class... Others>
  static constexpr Kernel kernel() {
    return {paths_of<First, Others...>(),
            {},
            {},
            {sizeof(typename First::Operand), sizeof(typename First::Accumulator), accumulate<First, Others...>,
             finish<First, Others...>}};
  }

 private:
  template <class Arithmetic, class... Others>
  static ThinRanges accumulate(const ThinRequest& request) {
    ThinRanges ranges;
    with_arithmetic<Arithmetic, Others...>(request.path, [&](auto arithmetic) __attribute__((always_inline)) {
      using Chosen = decltype(arithmetic);
      using S = typename Chosen::Semiring;
      const auto accumulate_with = [&](auto zeros) {
        ranges = with_stored<S>(request.large.storage, [&](auto zero) {
          return ThreadTile<Chosen, zeros, decltype(zero)>(request).accumulate();
        });
      };
      if constexpr (!S::can_overflow) {
        return accumulate_with(std::false_type{});
      } else if constexpr (std::is_same_v<typename Chosen::Operand, typename Chosen::Element>) {
        if (!request.may_be_zero) return accumulate_with(std::false_type{});
      }
      accumulate_with(std::true_type{});
    });
    return ranges;
  }

  template <class Arithmetic, class... Others>
  static int64_t finish(const ThinAccumulators& accumulators) {
    int64_t overflow = kNoOverflow;
    with_arithmetic<Arithmetic, Others...>(accumulators.path, [&](auto arithmetic) __attribute__((always_inline)) {
      overflow = finish_thin(arithmetic, accumulators);
    });
    return overflow;
  }
};

}  // namespace mpmml::cpu::MPMML_ISA
