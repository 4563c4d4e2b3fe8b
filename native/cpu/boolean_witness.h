// Products of truth values with witnesses. For each row of A, the kernel scans the rows of B that the row selects, in
// order, until each column has met a true element. This is less work than a product of packed bits with a search
// afterwards: if many elements are true, all columns are soon decided, and if few are true, few rows are selected.
// Compiled once for each instruction set (see vector.h).
#pragma once
#include "core/algebra/arithmetic.h"
#include "cpu/bit_packing.h"
#include "cpu/epilogue.h"
#include "cpu/intrinsics.h"
#include "cpu/kernel.h"
#include "cpu/vector.h"

namespace mpmml::cpu::MPMML_ISA {

/// Selected rows of B that are scanned before the decided columns are written, and rows of a group that are scanned
/// together.
constexpr int kGroup = 64;
constexpr int kLook = 4;
constexpr int kWordSteps = 64;
/// Entries past the end of a list that list_steps() may write and a group may read.
constexpr int kListSlack = kGroup;

/// Lists the steps whose bits are set, in order, and returns their number. Repeats the last one up to a multiple of
/// kLook.
MPMML_INLINE int64_t list_steps(const uint64_t* words, int64_t count, int32_t* to) {
  int64_t listed = 0;
#if defined(__AVX512BW__)
  constexpr int kLanes = VectorOf<int32_t>::lanes;
  Vector<int32_t> steps = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  for (int64_t index = 0; index < count; ++index) {
    for (int part = 0; part < kWordSteps; part += kLanes, steps += kLanes) {
      const auto mask = static_cast<__mmask16>(words[index] >> part);
      store(to + listed, (Vector<int32_t>)_mm512_maskz_compress_epi32(mask, (__m512i)steps));
      listed += __builtin_popcount(mask);
    }
  }
#else
  for (int64_t index = 0; index < count; ++index) {
    for (uint64_t word = words[index]; word != 0; word &= word - 1) {
      to[listed++] = static_cast<int32_t>(index * kWordSteps) + __builtin_ctzll(word);
    }
  }
#endif
  for (int64_t i = listed; i % kLook != 0; ++i) to[i] = to[listed - 1];
  return listed;
}

/// A chunk of the columns of a row of A ⊗ B, with a bit for each column. A column is open while its result isn't true.
/// For a column that becomes true in the current group of rows of B, the chunk records the row's number in the group.
/// Columns past the last are never open, so the contents of packed rows don't matter there.
class Chunk {
  using V = Vector<uint64_t>;
  static constexpr int kWords = VectorOf<uint64_t>::lanes;

 public:
  static constexpr int kBytes = sizeof(V);
  static constexpr int kColumns = 8 * kBytes;

  MPMML_HOST_DEVICE explicit Chunk(int64_t cols) {
    for (int i = 0; i < kWords; ++i) {
      const int64_t rest = cols - 64 * i;
      open_[i] = rest >= 64 ? ~uint64_t{0} : rest > 0 ? (uint64_t{1} << rest) - 1 : 0;
    }
  }

  MPMML_HOST_DEVICE bool any_open() const {
#if defined(__AVX512BW__)
    return _mm512_test_epi64_mask((__m512i)open_, (__m512i)open_) != 0;
#else
    return any(open_);
#endif
  }

  /// Scans `count` rows of one group: the packed rows from `rows` on with the numbers in `steps`.
  MPMML_HOST_DEVICE void look(const int32_t* steps, int64_t count, const char* rows, int32_t* found) {
    const V before = open_;
    V bits[kBits]{};
    MPMML_UNROLL
    for (int first = 0; first < kGroup; first += kLook) {
      if (first >= count || !any_open()) break;
      const auto row = [&](int i) __attribute__((always_inline)) {
        return load(reinterpret_cast<const uint64_t*>(rows + int64_t{kBytes} * steps[first + i]));
      };
      const V row0 = row(0), row1 = row(1), row2 = row(2), of_two = row0 | row1, of_all = of_two | row2 | row(3);
      const V decided = of_all & open_;
      open_ &= ~of_all;
      // The two bits of the number of the first true row of the four.
      bits[0] |= decided & ~row0 & (row1 | ~row2);
      bits[1] |= decided & ~of_two;
      MPMML_UNROLL
      for (int bit = 2; bit < kBits; ++bit) {
        if (first >> bit & 1) bits[bit] |= decided;
      }
    }
    const V decided = before & ~open_;
    if (any(decided)) write(decided, bits, steps, found);
  }

  static Range pack(const PackRequest& request) { return pack_bits<Bits<OrAnd<uint8_t>>, 1>(request); }

 private:
  static constexpr int kBits = 6;
  static_assert(kGroup == 1 << kBits && kLook == 4);

  /// Expands eight bits into eight bytes.
  [[maybe_unused]] MPMML_HOST_DEVICE static uint64_t expand_bits(uint64_t bits) {
    constexpr uint64_t kOnes = 0x0101010101010101;
    // Byte i keeps bit i; adding 127 carries it to the byte's highest bit.
    const uint64_t kept = bits * kOnes & 0x8040201008040201;
    return (kept + 127 * kOnes) >> 7 & kOnes;
  }

  /// Writes the steps of the columns that a group has decided, from the bits of their numbers.
  MPMML_HOST_DEVICE static void write(const V& decided, const V (&bits)[kBits], const int32_t* steps, int32_t* found) {
    uint64_t words[kBits][kWords];
    __builtin_memcpy(words, bits, sizeof words);
#if defined(__AVX512BW__)
    uint16_t masks[kColumns / 16];
    __builtin_memcpy(masks, &decided, sizeof masks);
    // Without the fence GCC extracts the masks from vectors, which takes several times as long as loading them.
    MPMML_FENCE();
    __m512i table[kGroup / 16];
    MPMML_UNROLL
    for (int i = 0; i < kGroup / 16; ++i) table[i] = _mm512_loadu_si512(steps + 16 * i);
    const __m512i half = _mm512_set1_epi32(kGroup / 2);
    MPMML_UNROLL
    for (int i = 0; i < kWords; ++i) {
      __m512i numbers = _mm512_setzero_si512();
      MPMML_UNROLL
      for (int bit = 0; bit < kBits; ++bit) {
        numbers = _mm512_mask_add_epi8(numbers, words[bit][i], numbers, _mm512_set1_epi8(1 << bit));
      }
      uint8_t bytes[64];
      _mm512_storeu_si512(bytes, numbers);
      MPMML_UNROLL
      for (int part = 0; part < 4; ++part) {
        const __mmask16 mask = masks[4 * i + part];
        const __m512i number =
            _mm512_maskz_cvtepu8_epi32(mask, _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * part)));
        const __m512i low = _mm512_permutex2var_epi32(table[0], number, table[1]);
        const __m512i high = _mm512_permutex2var_epi32(table[2], number, table[3]);
        const __m512i step = _mm512_mask_blend_epi32(_mm512_test_epi32_mask(number, half), low, high);
        _mm512_mask_storeu_epi32(found + 64 * i + 16 * part, mask, step);
      }
    }
#else
    uint64_t masks[kWords];
    __builtin_memcpy(masks, &decided, sizeof masks);
    for (int i = 0; i < kWords; ++i) {
      for (int first = 0; first < 64; first += 8) {
        const uint64_t mask = masks[i] >> first & 255;
        if (mask == 0) continue;
        uint64_t numbers = 0;
        for (int bit = 0; bit < kBits; ++bit) numbers |= expand_bits(words[bit][i] >> first & 255) << bit;
        int32_t* const to = found + 64 * i + first;
        for (int col = 0; col < 8; ++col)
          to[col] = mask >> col & 1 ? steps[numbers >> 8 * col & (kGroup - 1)] : to[col];
      }
    }
#endif
  }

  V open_;
};

/// The kernel of truth values whose ⊕ is "or".
template <class S>
struct FirstTrue {
  static_assert(S::combine_kind == OperatorKind::kOr && S::extend_kind == OperatorKind::kAnd &&
                std::is_same_v<typename S::Element, uint8_t>);

  static constexpr FirstTrueKernel kernel() {
    return {Chunk::kColumns,       Chunk::kBytes, sizeof(uint64_t), 1 + kListSlack,
            pack_bits<Bits<S>, 1>, Chunk::pack,   multiply};
  }

 private:
  static __attribute__((noinline)) void list_rows(const FirstTrueRequest& request) {
    for (int64_t row = 0; row < request.rows; ++row) {
      int32_t* const list = request.lists + row * request.list_length;
      list[0] = static_cast<int32_t>(list_steps(request.a + row * request.words, request.words, list + 1));
    }
  }

  static __attribute__((noinline)) void find_row(const int32_t* list, const char* rows, int64_t cols, int32_t* found) {
    Chunk chunk(cols);
    const int32_t* const end = list + 1 + list[0];
    for (const int32_t* group = list + 1; group < end && chunk.any_open(); group += kGroup) {
      chunk.look(group, end - group, rows, found);
    }
  }

  static void multiply(const FirstTrueRequest& request) {
    const Plain<S> arithmetic{};
    Epilogue<Plain<S>> epilogue(arithmetic, request.results);
    alignas(kVectorBytes) int32_t found[Chunk::kColumns];
    alignas(kVectorBytes) uint8_t acc[Chunk::kColumns];
    list_rows(request);
    const auto* chunk = static_cast<const char*>(request.b);
    for (int64_t col = 0; col < request.cols; col += Chunk::kColumns, chunk += request.chunk_bytes) {
      const int64_t cols = request.cols - col < Chunk::kColumns ? request.cols - col : Chunk::kColumns;
      for (int64_t row = 0; row < request.rows; ++row) {
        for (int i = 0; i < Chunk::kColumns; i += VectorOf<int32_t>::lanes) store(found + i, splat(kNoWitness));
        find_row(request.lists + row * request.list_length, chunk, cols, found);
        for (int i = 0; i < Chunk::kColumns; ++i) acc[i] = found[i] != kNoWitness;
        epilogue.store_witnesses(acc, found, row, col, cols);
        epilogue.store_row(acc, row, col, cols);
      }
    }
  }
};

}  // namespace mpmml::cpu::MPMML_ISA
