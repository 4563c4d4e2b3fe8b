// Packs truth values, bytes that are 0 or not, into words of 64 k-steps: bit s of a word is step s. Missing steps are
// 0.
// Compiled once for each instruction set (see vector.h).
#pragma once
#include "core/algebra/arithmetic.h"
#include "cpu/bits.h"
#include "cpu/intrinsics.h"
#include "cpu/kernel.h"
#include "cpu/packing.h"
#include "cpu/vector.h"

namespace mpmml::cpu::MPMML_ISA {

/// One bit for each of 64 bytes: whether the byte isn't 0.
MPMML_INLINE uint64_t bits_of(const uint8_t* bytes) {
#if defined(__AVX512BW__)
  const __m512i x = _mm512_loadu_si512(bytes);
  return _mm512_test_epi8_mask(x, x);
#elif defined(__AVX2__)
  uint64_t zeros = 0;
  for (int part = 0; part < 2; ++part) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + 32 * part));
    const int mask = _mm256_movemask_epi8(_mm256_cmpeq_epi8(x, _mm256_setzero_si256()));
    zeros |= uint64_t{static_cast<uint32_t>(mask)} << 32 * part;
  }
  return ~zeros;
#elif defined(__SSE2__)
  uint64_t zeros = 0;
  for (int part = 0; part < 4; ++part) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * part));
    const int mask = _mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_setzero_si128()));
    zeros |= uint64_t{static_cast<uint16_t>(mask)} << 16 * part;
  }
  return ~zeros;
#else
  uint64_t bits = 0;
  for (int part = 0; part < 8; ++part) {
    uint8_t ones[8];
    for (int i = 0; i < 8; ++i) ones[i] = bytes[8 * part + i] != 0;
    uint64_t x;
    __builtin_memcpy(&x, ones, sizeof x);
    // The product has bit 8i of x at 56 + i.
    bits |= (x * 0x0102040810204080 >> 56) << 8 * part;
  }
  return bits;
#endif
}

template <int width>
class BitPacker {
  static constexpr int kSteps = 64;
  /// Lanes that are packed together if they are adjacent in memory, so that each of their steps is read as a stream.
  static constexpr int kRun = 1024;
  /// Lanes whose bytes are turned into words together, and k-steps per byte.
  static constexpr int kTogether = 16, kStepsOfByte = 8;
  static_assert(kTogether % width == 0 && kRun % kTogether == 0);

 public:
  MPMML_HOST_DEVICE explicit BitPacker(const PackRequest& request)
      : request_(request),
        source_(request.source),
        from_(static_cast<const uint8_t*>(source_.data)),
        to_(static_cast<uint64_t*>(request.packed)),
        words_(ceil_div(source_.k, kSteps)) {}

  MPMML_HOST_DEVICE void pack() const {
    if (source_.lane_stride == 1 && source_.k_stride != 1) {
      const int64_t end = request_.end_panel * width < source_.lanes ? request_.end_panel * width : source_.lanes;
      for (int64_t lane = request_.first_panel * width; lane < end; lane += kRun) {
        pack_adjacent_lanes(lane, end - lane < kRun ? static_cast<int>(end - lane) : kRun);
      }
      return;
    }
    for (int64_t panel = request_.first_panel; panel < request_.end_panel; ++panel) {
      const int64_t first = panel * width;
      const int lanes = source_.lanes - first < width ? static_cast<int>(source_.lanes - first) : width;
      if (source_.k_stride == 1) {
        pack_adjacent_steps(panel, lanes);
      } else {
        pack_any(panel, lanes, 0);
      }
    }
  }

  /// Sets the elements outside of the operand's band to zero.
  MPMML_HOST_DEVICE void keep_band() const {
    for (int64_t panel = request_.first_panel; panel < request_.end_panel; ++panel) {
      for (int64_t index = 0; index < words_; ++index) {
        uint64_t* const to = word(panel, index);
        for (int lane = 0; lane < width; ++lane) {
          const Span inside = request_.band.of_row(panel * width + lane).from(index * kSteps);
          to[lane] &= bits_before(inside.end) & ~bits_before(inside.first);
        }
      }
    }
  }

 private:
  /// The bits of the steps before `step` of a word.
  MPMML_HOST_DEVICE static uint64_t bits_before(int64_t step) {
    return step <= 0 ? 0 : step >= kSteps ? ~uint64_t{0} : (uint64_t{1} << step) - 1;
  }

  using Bytes = Vector<uint8_t>;
  static constexpr int kBytes = VectorOf<uint8_t>::lanes;

  MPMML_HOST_DEVICE uint64_t* word(int64_t panel, int64_t word) const {
    return to_ + offset_of<width>(request_, panel, word);
  }

  /// Words from `first` on, of lanes whose bytes may be anywhere.
  MPMML_HOST_DEVICE void pack_any(int64_t panel, int lanes, int64_t first) const {
    for (int64_t index = first; index < words_; ++index) {
      uint64_t* to = word(panel, index);
      for (int lane = 0; lane < width; ++lane) {
        const uint8_t* from = from_ + (panel * width + lane) * source_.lane_stride + index * kSteps * source_.k_stride;
        const int64_t rest = source_.k - index * kSteps;
        uint64_t bits = 0;
        for (int step = 0; lane < lanes && step < kSteps && step < rest; ++step) {
          bits |= uint64_t{from[step * source_.k_stride] != 0} << step;
        }
        to[lane] = bits;
      }
    }
  }

  MPMML_HOST_DEVICE void pack_adjacent_steps(int64_t panel, int lanes) const {
    const int64_t whole = source_.k / kSteps;
    for (int64_t index = 0; index < whole; ++index) {
      uint64_t* to = word(panel, index);
      const uint8_t* from = from_ + panel * width * source_.lane_stride + index * kSteps;
      if (lanes == width) {
        MPMML_UNROLL
        for (int lane = 0; lane < width; ++lane) to[lane] = bits_of(from + lane * source_.lane_stride);
      } else {
        for (int lane = 0; lane < width; ++lane)
          to[lane] = lane < lanes ? bits_of(from + lane * source_.lane_stride) : 0;
      }
    }
    pack_any(panel, lanes, whole);
  }

  /// Up to kRun lanes from `first` on, word by word: first eight steps of each lane become a byte, then eight bytes
  /// become a word.
  MPMML_HOST_DEVICE void pack_adjacent_lanes(int64_t first, int lanes) const {
    constexpr int kParts = kSteps / kStepsOfByte;
    alignas(kVectorBytes) uint8_t bytes[kParts][kRun];
    const int padded = static_cast<int>(round_up(lanes, kTogether));
    for (int64_t index = 0; index < words_; ++index) {
      for (int part = 0; part < kParts; ++part) {
        const int64_t step = index * kSteps + part * kStepsOfByte, rest = source_.k - step;
        const int steps = rest >= kStepsOfByte ? kStepsOfByte : rest > 0 ? static_cast<int>(rest) : 0;
        gather(from_ + first + step * source_.k_stride, steps, lanes, padded, bytes[part]);
      }
      for (int lane = 0; lane < padded; lane += kTogether) {
        alignas(kVectorBytes) uint64_t words[kTogether];
        interleave<kRun>(&bytes[0][lane], words);
        for (int part = 0; part < kTogether; part += width) {
          const int64_t panel = (first + lane + part) / width;
          if (panel < request_.end_panel) __builtin_memcpy(word(panel, index), words + part, width * sizeof(uint64_t));
        }
      }
    }
  }

  /// Packs up to eight steps of each of `lanes` adjacent lanes into a byte, and writes 0 for the lanes from there up to
  /// `padded`.
  MPMML_HOST_DEVICE void gather(const uint8_t* from, int steps, int lanes, int padded, uint8_t* to) const {
    int lane = 0;
    if (steps == kStepsOfByte) {
      for (; lane + kBytes <= lanes; lane += kBytes) {
        Bytes all{};
        MPMML_UNROLL
        for (int step = kStepsOfByte - 1; step >= 0; --step) {
          const Bytes x = load(from + step * source_.k_stride + lane);
          all = all + all + (x < 1 ? x : Bytes{} + 1);
        }
        store(to + lane, all);
      }
    }
    for (; lane < lanes; ++lane) {
      int all = 0;
      for (int step = 0; step < steps; ++step) all |= (from[step * source_.k_stride + lane] != 0) << step;
      to[lane] = static_cast<uint8_t>(all);
    }
    for (; lane < padded; ++lane) to[lane] = 0;
  }

  /// Turns eight rows of 16 bytes, `stride` apart, into 16 words with one byte from each row.
  template <int stride>
  MPMML_HOST_DEVICE static void interleave(const uint8_t* from, uint64_t* words) {
    using V = ShortVector<uint8_t, kTogether>;
    V rows[8], pairs[8], fours[8];
    MPMML_UNROLL
    for (int i = 0; i < 8; ++i) __builtin_memcpy(&rows[i], from + i * stride, sizeof rows[i]);
    MPMML_UNROLL
    for (int i = 0; i < 4; ++i) {
      shuffle<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(pairs[2 * i], rows[2 * i], rows[2 * i + 1]);
      shuffle<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(pairs[2 * i + 1], rows[2 * i],
                                                                            rows[2 * i + 1]);
    }
    // pairs[2i + h]: bytes 2i and 2i + 1 of lanes 8h to 8h + 7.
    MPMML_UNROLL
    for (int i = 0; i < 2; ++i) {
      MPMML_UNROLL
      for (int half = 0; half < 2; ++half) {
        const V& x = pairs[4 * i + half];
        const V& y = pairs[4 * i + 2 + half];
        shuffle<0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23>(fours[4 * i + 2 * half], x, y);
        shuffle<8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31>(fours[4 * i + 2 * half + 1], x, y);
      }
    }
    // fours[4i + q]: bytes 4i to 4i + 3 of lanes 4q to 4q + 3.
    MPMML_UNROLL
    for (int q = 0; q < 4; ++q) {
      V low, high;
      shuffle<0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23>(low, fours[q], fours[4 + q]);
      shuffle<8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31>(high, fours[q], fours[4 + q]);
      __builtin_memcpy(words + 4 * q, &low, sizeof low);
      __builtin_memcpy(words + 4 * q + 2, &high, sizeof high);
    }
  }

  const PackRequest& request_;
  const Lanes source_;
  const uint8_t* const from_;
  uint64_t* const to_;
  const int64_t words_;
};

template <class Arithmetic, int width>
static Range pack_bits(const PackRequest& request) {
  static_assert(std::is_same_v<Arithmetic, Bits<typename Arithmetic::Semiring>> &&
                std::is_same_v<typename Arithmetic::Element, uint8_t> && Arithmetic::Semiring::zero == 0);
  const BitPacker<width> packer(request);
  packer.pack();
  if (request.is_partial) packer.keep_band();
  return {};
}

}  // namespace mpmml::cpu::MPMML_ISA
