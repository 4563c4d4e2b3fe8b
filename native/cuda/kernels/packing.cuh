// Packing for the families over packed operands. An operand becomes k-major panels of encoded words, padded to whole
// tiles, so that the main loop has no borders, no strides and only 16-byte copies. Along K it is padded with border
// elements. Lines past the last one don't reach any result; they repeat the last line, so that their sums are like the
// others.
//
// What is outside an operand's band isn't read: it is zero. What is so far outside that no tile reaches it isn't written.
#pragma once
#include "core/algebra/arithmetic.h"
#include "cuda/kernels/device_problem.h"
#include "cuda/kernels/indexed_sum.cuh"
#include "cuda/kernels/simd_step.cuh"

namespace mpmml::cuda {

/// An operand of the product as packing sees it: `lines` rows of A or columns of B, of `depth` elements each.
struct PackSource {
  const void* data;
  int64_t lines, depth;
  int64_t line_stride, k_stride, batch_stride;
  Storage storage;
  Band band{};  ///< of the elements (line, k)
  bool is_banded = false;
};

/// Where packing writes: target[item][k][line] for k < padded_depth, line < padded_lines.
struct PackTarget {
  void* data;
  int64_t items, padded_lines, padded_depth;
};

/// Whether an arithmetic encodes elements of A and of B differently.
template <class Arithmetic, class = void>
constexpr bool tells_sides_apart = false;
template <class Arithmetic>
constexpr bool tells_sides_apart<Arithmetic, std::void_t<decltype(&Arithmetic::encode_a)>> = true;

/// Encodes elements of A: a row's element is copied into every lane of its word.
template <class Arithmetic>
struct EncodeA {
  using Semiring = typename Arithmetic::Semiring;
  using Target = typename Words<Arithmetic>::Word;
  static constexpr bool kRepeatsLastLine = true;
  Arithmetic arithmetic;

  __device__ Target operator()(typename Arithmetic::Element x, int64_t /*k*/) const {
    if constexpr (tells_sides_apart<Arithmetic>) {
      return Words<Arithmetic>::word_of(arithmetic.encode_a(x));
    } else {
      return Words<Arithmetic>::word_of(arithmetic.encode(x));
    }
  }
  __device__ Target border() const {
    if constexpr (tells_sides_apart<Arithmetic>) {
      return Words<Arithmetic>::word_of(arithmetic.border_a());
    } else {
      return Words<Arithmetic>::word_of(arithmetic.encode(Arithmetic::Semiring::border_a));
    }
  }
};

/// Encodes elements of B: the lanes of a word are neighbouring columns.
template <class Arithmetic>
struct EncodeB {
  using Semiring = typename Arithmetic::Semiring;
  using Target = std::conditional_t<Words<Arithmetic>::kLanes == 1, typename Words<Arithmetic>::Word, uint16_t>;
  static constexpr bool kRepeatsLastLine = true;
  Arithmetic arithmetic;

  __device__ Target operator()(typename Arithmetic::Element x, [[maybe_unused]] int64_t k) const {
    if constexpr (numbers_steps<Arithmetic>) {
      return arithmetic.encode_b(x, k);
    } else if constexpr (tells_sides_apart<Arithmetic>) {
      return arithmetic.encode_b(x);
    } else {
      return Words<Arithmetic>::word_of(arithmetic.encode(x));
    }
  }
  __device__ Target border() const {
    if constexpr (tells_sides_apart<Arithmetic>) {
      return arithmetic.border_b();
    } else {
      return Words<Arithmetic>::word_of(arithmetic.encode(Arithmetic::Semiring::border_b));
    }
  }
};

/// Elements as they are. pack() writes the target's second dimension along the dimension that it calls lines.
template <class S>
struct CopyElements {
  using Semiring = S;
  using Target = typename S::Element;
  static constexpr bool kRepeatsLastLine = false;
  Target filling;

  __device__ Target operator()(Target x, int64_t /*k*/) const { return x; }
  __device__ Target border() const { return filling; }
};

constexpr int kPackTile = 32;
constexpr int kPackRows = 8;
/// Blocks of a multiprocessor that registers must suffice for. With all that an H200 takes, both operands of 8192³ are packed
/// in 0.41 ms; without this bound in 0.51.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
constexpr int kPackBlocks = 8;
#else
constexpr int kPackBlocks = 1;
#endif

/// How much of a part of an operand is in its band.
enum class InBand { kNothing, kSome, kAll };

/// Of kPackTile lines from `line0` on and as many steps from `k0` on. kNothing means that no tile of C needs them either:
/// those begin and end within kMaxTile lines and steps of what they need.
__device__ __forceinline__ InBand in_band(const PackSource& source, int64_t line0, int64_t k0) {
  if (!source.is_banded) return InBand::kAll;
  constexpr int64_t kMargin = 2 * kMaxTile;
  const Span lines{min(line0, source.lines - 1), min(line0 + kPackTile, source.lines)}, steps{k0, k0 + kPackTile};
  if (!source.band.widened(kMargin).has_some(lines, steps)) return InBand::kNothing;
  return source.band.has_all(lines, steps) ? InBand::kAll : InBand::kSome;
}

/// Writes target[item][k][line] for k < padded_depth, line < padded_lines. Blocks have 32 × 8 threads. If the source is
/// stored along k, tiles of 32 × 32 pass through shared memory.
template <class Encode, class Stored>
__global__ void __launch_bounds__(kPackTile* kPackRows, kPackBlocks)
    pack_kernel(PackSource source, typename Encode::Target* target, int64_t padded_lines, int64_t padded_depth,
                Encode encode) {
  using Target = typename Encode::Target;
  using S = typename Encode::Semiring;
  __shared__ Target tile[kPackTile][kPackTile + 1];
  const int64_t item = blockIdx.z;
  const auto* data = static_cast<const Stored*>(source.data) + item * source.batch_stride;
  target += item * padded_lines * padded_depth;
  const int64_t line0 = int64_t{blockIdx.x} * kPackTile;
  const bool along_k = source.k_stride < source.line_stride;
  const auto element = [&](int64_t line, int64_t k) {
    if (Encode::kRepeatsLastLine) line = min(line, source.lines - 1);
    return line < source.lines && k < source.depth
               ? encode(widened<S>(data[line * source.line_stride + k * source.k_stride]), k)
               : encode.border();
  };
  for (int64_t k0 = int64_t{blockIdx.y} * kPackTile; k0 < padded_depth; k0 += int64_t{gridDim.y} * kPackTile) {
    const InBand inside = in_band(source, line0, k0);
    if (Encode::kRepeatsLastLine && inside == InBand::kNothing) continue;
    if (along_k) {
#pragma unroll
      for (int row = 0; row < kPackTile; row += kPackRows) {
        tile[threadIdx.x][threadIdx.y + row] = element(line0 + threadIdx.y + row, k0 + threadIdx.x);
      }
      __syncthreads();
    }
#pragma unroll
    for (int row = 0; row < kPackTile; row += kPackRows) {
      const int64_t line = line0 + threadIdx.x, k = k0 + threadIdx.y + row;
      const Target word = along_k ? tile[threadIdx.y + row][threadIdx.x] : element(line, k);
      if (line < padded_lines && k < padded_depth) target[k * padded_lines + line] = word;
    }
    // Afterwards, because few parts have some of both, and all would need more registers.
    if (inside == InBand::kSome) {
#pragma unroll 1
      for (int row = 0; row < kPackTile; row += kPackRows) {
        const int64_t place = line0 + threadIdx.x, k = k0 + threadIdx.y + row;
        const int64_t line = Encode::kRepeatsLastLine ? min(place, source.lines - 1) : place;
        const bool is_zero = line < source.lines && k < source.depth && !source.band.has(line, k);
        if (is_zero && place < padded_lines) target[k * padded_lines + place] = encode(S::zero, k);
      }
    }
    __syncthreads();
  }
}

/// Writes words of 32 k-steps, one bit each. Blocks have 32 × 8 threads; a warp makes one word for each of 32 lines.
template <class Arithmetic>
__global__ void __launch_bounds__(kPackTile* kPackRows)
    pack_bits_kernel(PackSource source, typename Arithmetic::Operand* target, int64_t padded_lines,
                     int64_t padded_words) {
  using Word = typename Arithmetic::Operand;
  using Element = typename Arithmetic::Element;
  constexpr int kSteps = Arithmetic::kStepsPerOperand;
  static_assert(kSteps == kPackTile, "a lane for each bit");
  const auto* data = static_cast<const Element*>(source.data) + blockIdx.z * source.batch_stride;
  target += blockIdx.z * padded_lines * padded_words;
  const int64_t line0 = int64_t{blockIdx.x} * kPackTile;
  const int lane = threadIdx.x;
  const auto bit = [&](int64_t line, int64_t k) -> Word {
    line = min(line, source.lines - 1);
    return k < source.depth ? Arithmetic::encode(data[line * source.line_stride + k * source.k_stride]) : 0;
  };
  for (int64_t word = int64_t{blockIdx.y} * kPackRows + threadIdx.y; word < padded_words;
       word += int64_t{gridDim.y} * kPackRows) {
    const int64_t k0 = word * kSteps;
    Word own = 0;
    if (source.k_stride < source.line_stride) {
      // Neighbouring lanes read neighbouring steps of a line.
#pragma unroll 8
      for (int line = 0; line < kPackTile; ++line) {
        const Word bits = __ballot_sync(~0u, bit(line0 + line, k0 + lane) != 0);
        if (lane == line) own = bits;
      }
    } else {
#pragma unroll 8
      for (int step = 0; step < kSteps; ++step) own |= bit(line0 + lane, k0 + step) << step;
    }
    if (line0 + lane < padded_lines) target[word * padded_lines + line0 + lane] = own;
  }
}

}  // namespace mpmml::cuda
