// The holes of a template, for each number of lanes: lines of inline assembly which splice.cpp replaces by instructions of a semiring.
// Each names its results first, then its operands, lane by lane.
#pragma once
#include <cstdint>

namespace mpmml::cuda {

using Word = uint32_t;

/// - step: d = z ⊕ x ⊗ y
/// - mark: d = marks + bit if x and y may change z, else marks; mark_always: the same for a z that any step may change
/// - plus: d = x ⊕ y
/// - candidate: d = x ⊗ y, with the bits of NaN that are stored; settle: d = x with those bits
template <int L>
struct Placeholders;

// A hole's text has the places of its operands, and an operand is as many registers as there are lanes.
#define MPMML_PLACES_2 "%0 %1"
#define MPMML_PLACES_3 MPMML_PLACES_2 " %2"
#define MPMML_PLACES_4 MPMML_PLACES_3 " %3"
#define MPMML_PLACES_5 MPMML_PLACES_4 " %4"
#define MPMML_PLACES_6 MPMML_PLACES_5 " %5"
#define MPMML_PLACES_7 MPMML_PLACES_6 " %6"
#define MPMML_PLACES_8 MPMML_PLACES_7 " %7"
#define MPMML_PLACES_9 MPMML_PLACES_8 " %8"
#define MPMML_PLACES_10 MPMML_PLACES_9 " %9"
#define MPMML_PLACES_11 MPMML_PLACES_10 " %10"
#define MPMML_PLACES_12 MPMML_PLACES_11 " %11"
#define MPMML_PLACES_13 MPMML_PLACES_12 " %12"
#define MPMML_PLACES_14 MPMML_PLACES_13 " %13"
#define MPMML_PLACES_15 MPMML_PLACES_14 " %14"
#define MPMML_PLACES_16 MPMML_PLACES_15 " %15"

#define MPMML_OUT(word) "=r"(word)
#define MPMML_IN(word) "r"(word)
#define MPMML_LANES_1(how, x) how((x)[0])
#define MPMML_LANES_2(how, x) MPMML_LANES_1(how, x), how((x)[1])
#define MPMML_LANES_3(how, x) MPMML_LANES_2(how, x), how((x)[2])
#define MPMML_LANES_4(how, x) MPMML_LANES_3(how, x), how((x)[3])

/// The holes for `lanes` lanes, in which an operand of ⊕ ⊗ has as many registers. The other parameters are the registers of each hole:
/// 4, 3 and 2 operands; those of mark and mark_always have 3 words and 3 operands or one.
#define MPMML_HOLES(lanes, of_step, of_plus, of_settle, of_mark, of_mark_always)                                    \
  template <>                                                                                                       \
  struct Placeholders<lanes> {                                                                                      \
    using Element = Word[lanes];                                                                                    \
    static __device__ __forceinline__ Word mark(Word marks, Word bit, const Element& z, const Element& x,           \
                                                const Element& y) {                                                 \
      Word all;                                                                                                     \
      asm("// @mark " MPMML_PLACES_##of_mark                                                                        \
          : "=r"(all)                                                                                               \
          : "r"(marks), "r"(bit), MPMML_LANES_##lanes(MPMML_IN, z), MPMML_LANES_##lanes(MPMML_IN, x),               \
            MPMML_LANES_##lanes(MPMML_IN, y));                                                                      \
      return all;                                                                                                   \
    }                                                                                                               \
    static __device__ __forceinline__ Word mark_always(Word marks, Word bit, const Element& z) {                    \
      Word all;                                                                                                     \
      asm("// @mark_always " MPMML_PLACES_##of_mark_always                                                          \
          : "=r"(all)                                                                                               \
          : "r"(marks), "r"(bit), MPMML_LANES_##lanes(MPMML_IN, z));                                                \
      return all;                                                                                                   \
    }                                                                                                               \
    static __device__ __forceinline__ void step(Element& d, const Element& z, const Element& x, const Element& y) { \
      asm("// @step " MPMML_PLACES_##of_step                                                                        \
          : MPMML_LANES_##lanes(MPMML_OUT, d)                                                                       \
          : MPMML_LANES_##lanes(MPMML_IN, z), MPMML_LANES_##lanes(MPMML_IN, x), MPMML_LANES_##lanes(MPMML_IN, y));  \
    }                                                                                                               \
    static __device__ __forceinline__ void plus(Element& d, const Element& x, const Element& y) {                   \
      asm("// @plus " MPMML_PLACES_##of_plus                                                                        \
          : MPMML_LANES_##lanes(MPMML_OUT, d)                                                                       \
          : MPMML_LANES_##lanes(MPMML_IN, x), MPMML_LANES_##lanes(MPMML_IN, y));                                    \
    }                                                                                                               \
    static __device__ __forceinline__ void candidate(Element& d, const Element& x, const Element& y) {              \
      asm("// @candidate " MPMML_PLACES_##of_plus                                                                   \
          : MPMML_LANES_##lanes(MPMML_OUT, d)                                                                       \
          : MPMML_LANES_##lanes(MPMML_IN, x), MPMML_LANES_##lanes(MPMML_IN, y));                                    \
    }                                                                                                               \
    static __device__ __forceinline__ void settle(Element& d, const Element& x) {                                   \
      asm("// @settle " MPMML_PLACES_##of_settle                                                                    \
          : MPMML_LANES_##lanes(MPMML_OUT, d)                                                                       \
          : MPMML_LANES_##lanes(MPMML_IN, x));                                                                      \
    }                                                                                                               \
  }

MPMML_HOLES(1, 4, 3, 2, 6, 4);
MPMML_HOLES(2, 8, 6, 4, 9, 5);
MPMML_HOLES(3, 12, 9, 6, 12, 6);
MPMML_HOLES(4, 16, 12, 8, 15, 7);

}  // namespace mpmml::cuda
