#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/algebra/dispatch.h"
#include "cuda/device/error.h"
#include "cuda/kernels/reduce.cuh"
#include "cuda/runtime/levels.h"

namespace mpmml::cuda {
namespace {

constexpr unsigned kAll = 0xffffffffu;
constexpr int kWarps = 16, kThreads = kWarps * 32;
constexpr int kLines = 32;    ///< lines that a block scans
constexpr int kSampled = 16;  ///< elements per thread for the sample, all of one line
static_assert(kChunkSteps == 32, "the lanes of a warp look at a chunk");
constexpr int64_t kMaxOfChunk = exponent_scale_of(ArithmeticKind::kExponentBounded).most;  ///< range without outliers
constexpr int kMaxNumber = 1 << 24;                                                        ///< floats have 24 bits
/// Limit of the exponents of quantization steps of floats. They are from 2^−100 to 2^100, so that they and their
/// inverses are normal.
constexpr int kMaxScale = 100;

/// Conversion of an operand's elements to integers whose differences count quantization steps.
template <class Stored>
struct Numbers {
  Stored zero;
  __device__ bool is_zero(Stored x) const { return x == zero; }
  __device__ int32_t of(Stored x, bool& /*misfits*/, bool& /*negative_zero*/) const { return x; }
};
template <>
struct Numbers<float> {
  float zero, inverse_scale;
  int32_t step, offset;
  float per_step;

  __device__ bool is_zero(float x) const { return x == zero; }
  /// Returns x in quantization steps, and sets `misfits` if it isn't an integer of them.
  __device__ int32_t scaled(float x, bool& misfits) const {
    const float number = x * inverse_scale;
    const int32_t integer = __float2int_rn(number);
    const bool fits = static_cast<float>(integer) == number && integer >= -kMaxNumber && integer <= kMaxNumber;
    misfits |= !fits;
    return fits ? integer : offset;
  }
  __device__ int32_t of(float x, bool& misfits, bool& negative_zero) const {
    const int32_t away = scaled(x, misfits) - offset;
    negative_zero |= __float_as_int(x) == kLowest<int32_t>;
    // A special case that saves a third of the time.
    if (step == 1) return away;
    const auto steps = __float2int_rn(static_cast<float>(away) * per_step);
    misfits |= steps * step != away;
    return steps;
  }
};

struct LevelRange : KeyRange {
  bool has_zero = false;

  __device__ uint32_t dynamic_range() const {
    return is_empty() ? 0 : static_cast<uint32_t>(most) - static_cast<uint32_t>(least);
  }
  /// Returns whether this is the range of an outlier chunk.
  __device__ bool is_outlier() const { return has_zero || dynamic_range() > static_cast<uint32_t>(kMaxOfChunk); }
  __device__ void merge(const LevelRange& other) {
    KeyRange::merge(other);
    has_zero |= other.has_zero;
  }
  __device__ void join_lanes() {
    KeyRange::join_lanes();
    has_zero = __any_sync(kAll, has_zero);
  }
};

__device__ int32_t common_divisor(int32_t x, int32_t y) {
  while (y != 0) {
    const int32_t rest = x % y;
    x = y;
    y = rest;
  }
  return x;
}

/// Reduces a number over the threads of the block, and returns the result to all of them. `join` must be commutative
/// and associative.
template <class Join>
__device__ int32_t join_block(int32_t number, int32_t (&of_warps)[kWarps], Join join) {
  number = reduce_warp(number, join);
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = number;
  __syncthreads();
  number = of_warps[0];
  for (int warp = 1; warp < kWarps; ++warp) number = join(number, of_warps[warp]);
  return number;
}

/// Returns the exponent of the lowest set bit of a finite number other than 0.
__device__ int32_t lowest_bit(float x) {
  const int32_t bits = __float_as_int(x), exponent = bits >> 23 & 255;
  const int32_t mantissa = (bits & 0x7fffff) | (exponent > 0 ? 1 << 23 : 0);
  return max(exponent, 1) - 150 + __ffs(mantissa) - 1;
}

__host__ __device__ float power_of_two(int exponent) {
#if defined(__CUDA_ARCH__)
  return __int_as_float((exponent + 127) << 23);
#else
  return std::ldexp(1.0f, exponent);
#endif
}

/// Marks an outlier chunk in a block's shared memory. The test avoids most atomic operations if many chunks are marked
/// already.
__device__ __forceinline__ void mark_outliers(uint32_t (&outliers)[LevelsFound::kOutlierWords], int64_t chunk) {
  const auto bit = static_cast<unsigned>(chunk % LevelsFound::kOutlierBits);
  if (!(outliers[bit / 32] >> bit % 32 & 1)) atomicOr(&outliers[bit / 32], 1u << bit % 32);
}
__device__ __forceinline__ void clear_outliers(uint32_t (&outliers)[LevelsFound::kOutlierWords]) {
  if (threadIdx.x < LevelsFound::kOutlierWords) outliers[threadIdx.x] = 0;
  __syncthreads();
}

/// Scans a sample of lines with one block, one line per warp.
template <class Stored>
__global__ void __launch_bounds__(kThreads) sample(OperandLines lines, Stored zero, LevelsFound* found) {
  __shared__ int32_t of_warps[kWarps];
  __shared__ uint32_t outliers[LevelsFound::kOutlierWords];
  clear_outliers(outliers);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto* const data = static_cast<const Stored*>(lines.data);
  const int64_t line = lines.items * lines.lines * warp / kWarps;
  const auto* const first = data + line / lines.lines * lines.item_stride + line % lines.lines * lines.line_stride;
  Stored elements[kSampled];
#pragma unroll
  for (int index = 0; index < kSampled; ++index) {
    // Indices are clamped to the last element, so that no chunk has elements of another.
    elements[index] = first[min(int64_t{index} * kChunkSteps + lane, lines.depth - 1) * lines.step_stride];
  }
  Numbers<Stored> numbers{zero};
  bool misfits = false, negative_zero = false;
  LevelsFound result{};
  const auto minimum = [](int32_t x, int32_t y) { return min(x, y); };
  if constexpr (std::is_same_v<Stored, float>) {
    int32_t scale = kHighest<int32_t>;
    for (const float x : elements) {
      if (x != zero && x != 0 && isfinite(x)) scale = min(scale, lowest_bit(x));
    }
    scale = join_block(scale, of_warps, minimum);
    if (scale == kHighest<int32_t>) scale = 0;
    misfits = abs(scale) > kMaxScale;
    scale = min(max(scale, -kMaxScale), kMaxScale);
    numbers.inverse_scale = power_of_two(-scale);
    int32_t least = kHighest<int32_t>;
    for (const float x : elements) {
      if (x != zero) least = min(least, numbers.scaled(x, misfits));
    }
    least = join_block(least, of_warps, minimum);
    numbers.offset = least == kHighest<int32_t> ? 0 : least;
    int32_t step = 0;
    for (const float x : elements) {
      if (x != zero) step = common_divisor(numbers.scaled(x, misfits) - numbers.offset, step);
    }
    numbers.step = join_block(step, of_warps, [](int32_t x, int32_t y) { return common_divisor(x, y); });
    numbers.per_step = numbers.step == 0 ? 0.0f : 1.0f / static_cast<float>(numbers.step);
    result.scale = scale;
    result.step = numbers.step;
    result.offset = numbers.offset;
  }
  LevelRange extent;
#pragma unroll
  for (int index = 0; index < kSampled; ++index) {
    const Stored x = elements[index];
    LevelRange chunk;
    chunk.has_zero = numbers.is_zero(x);
    if (!numbers.is_zero(x)) chunk.include(numbers.of(x, misfits, negative_zero));
    chunk.join_lanes();
    if (lane == 0 && chunk.is_outlier()) mark_outliers(outliers, index);
    extent.merge(chunk);
  }
  result.chunks = kSampled;
  const auto maximum = [](uint32_t x, uint32_t y) { return max(x, y); };
  result.range = join_block(static_cast<int32_t>(extent.dynamic_range()), of_warps, maximum);
  const auto any = [](int32_t x, int32_t y) { return x | y; };
  result.has_zero = join_block(extent.has_zero && !extent.is_empty(), of_warps, any);
  result.misfits = join_block(misfits, of_warps, any);
  result.has_negative_zero = join_block(negative_zero, of_warps, any);
  // The last reduction was a barrier after all marks.
  for (int word = 0; word < LevelsFound::kOutlierWords; ++word) result.outliers[word] = outliers[word];
  if (threadIdx.x == 0) *found = result;
}

__global__ void begin(LevelsFound nothing, LevelsFound* found) { *found = nothing; }

/// Scans all lines. If `by_chunks`, also finds outlier chunks.
template <class Stored, bool by_chunks>
__global__ void __launch_bounds__(kThreads) look(OperandLines lines, Numbers<Stored> numbers, LevelsFound* found) {
  __shared__ LevelRange extents[kWarps][kLines];
  __shared__ uint32_t outliers[LevelsFound::kOutlierWords];
  if constexpr (by_chunks) clear_outliers(outliers);
  const int64_t groups = ceil_div(lines.lines, kLines);
  const int64_t first = blockIdx.x % groups * kLines;
  const auto* const data = static_cast<const Stored*>(lines.data) + blockIdx.x / groups * lines.item_stride;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  bool misfits = false, negative_zero = false;
  const auto include = [&](LevelRange& extent, Stored x) {
    extent.has_zero |= numbers.is_zero(x);
    if (!numbers.is_zero(x)) extent.include(numbers.of(x, misfits, negative_zero));
  };
  LevelRange extent;
  if (lines.step_stride < lines.line_stride) {
    // One warp per line, with lanes along the elements of the line.
    for (int index = warp; index < kLines; index += kWarps) {
      extent = {};
      if (first + index < lines.lines) {
        const Stored* const line = data + (first + index) * lines.line_stride;
#pragma unroll 8
        for (int64_t k = 0; k < lines.depth; k += kChunkSteps) {
          LevelRange chunk;
          if (k + lane < lines.depth) include(chunk, line[(k + lane) * lines.step_stride]);
          if constexpr (by_chunks) {
            chunk.join_lanes();
            if (lane == 0 && chunk.is_outlier()) mark_outliers(outliers, k / kChunkSteps);
          }
          extent.merge(chunk);
        }
      }
      extent.join_lanes();
      if (lane == 0) extents[0][index] = extent;
    }
    __syncthreads();
    if (warp == 0) extent = extents[0][lane];
  } else {
    // One lane per line, with the chunks of a line divided among warps.
    if (first + lane < lines.lines) {
      const Stored* const line = data + (first + lane) * lines.line_stride;
      for (int64_t k0 = warp * kChunkSteps; k0 < lines.depth; k0 += kWarps * kChunkSteps) {
        const int64_t end = min(k0 + kChunkSteps, lines.depth);
        LevelRange chunk;
#pragma unroll 8
        for (int64_t k = k0; k < end; ++k) include(chunk, line[k * lines.step_stride]);
        if constexpr (by_chunks) {
          if (chunk.is_outlier()) mark_outliers(outliers, k0 / kChunkSteps);
        }
        extent.merge(chunk);
      }
    }
    extents[warp][lane] = extent;
    __syncthreads();
    for (int other = 1; warp == 0 && other < kWarps; ++other) extent.merge(extents[other][lane]);
  }
  misfits = __any_sync(kAll, misfits);
  negative_zero = __any_sync(kAll, negative_zero);
  if (lane == 0 && misfits) atomicOr(&found->misfits, 1);
  if (lane == 0 && negative_zero) atomicOr(&found->has_negative_zero, 1);
  if constexpr (by_chunks) {
    __syncthreads();
    if (threadIdx.x < LevelsFound::kOutlierWords && outliers[threadIdx.x] != 0) {
      atomicOr(&found->outliers[threadIdx.x], outliers[threadIdx.x]);
    }
  }
  if (warp > 0) return;
  const uint32_t range = reduce_warp(extent.dynamic_range(), [](uint32_t x, uint32_t y) { return max(x, y); });
  const bool has_zero = __any_sync(kAll, extent.has_zero && !extent.is_empty());
  if (lane > 0) return;
  if (range > 0) atomicMax(&found->range, range);
  if (has_zero) atomicOr(&found->has_zero, 1);
}

/// Returns whether a scan by chunks is worthwhile. It takes twice as long, and matters only if lines have too many
/// levels (more than in the sample) or zero.
bool worth_scanning_by_chunks(const LevelsFound& sample, bool has_zero) {
  return sample.outlier_share() <= kMaxOutlierShare && (sample.range > kMaxOfChunk / 2 || has_zero);
}

/// Calls `body` with the zero in its storage type, if the operation has levels.
template <class Body>
void with_stored_zero(const Operation& operation, Storage storage, Body&& body) {
  with_semiring(operation, [&](auto semiring) {
    using S = decltype(semiring);
    if constexpr (has_range<S>) {
      with_stored<S>(storage, body);
    }
  });
}

/// Returns which operands to scan by chunks: the operand with few outlier chunks, and the other one if its range could
/// be too large according to its bounds.
WorthScanning worth_scanning_at_chunks(const ValueRange& a, const ValueRange& guess_a, const ValueRange& b,
                                       const ValueRange& guess_b) {
  if (fits_chunks(guess_b, guess_a)) return {!fits_chunks(guess_b, a), true};
  return {true, !fits_chunks(guess_a, b)};
}

}  // namespace

OperandLines lines_of(const MatrixView& view, Side side, int64_t items) {
  const bool is_a = side == Side::kA;
  return {view.data,
          view.storage,
          items,
          is_a ? view.rows : view.cols,
          is_a ? view.cols : view.rows,
          view.batch_stride,
          is_a ? view.row_stride : view.col_stride,
          is_a ? view.col_stride : view.row_stride};
}

double LevelsFound::outlier_share() const {
  if (chunks == 0) return 1;
  int marked = 0;
  for (const uint32_t word : outliers) marked += __builtin_popcount(word);
  return double(marked) / std::min(chunks, kOutlierBits);
}

LineLevels LevelsFound::levels(DataType dtype) const {
  LineLevels levels;
  if (misfits) return levels;
  levels.range = range;
  if (dtype != DataType::kFloat32) levels.outlier_share = outlier_share();
  levels.has_zero = has_zero != 0;
  if (dtype != DataType::kFloat32) return levels;
  levels.scale = std::ldexp(1.0, scale);
  levels.step = levels.scale * step;
  levels.offset = levels.scale * offset;
  levels.has_negative_zero = has_negative_zero != 0;
  return levels;
}

void sample_levels(const Operation& operation, const OperandLines& lines, LevelsFound* found, cudaStream_t stream) {
  with_stored_zero(operation, lines.storage, [&](auto zero) {
    sample<decltype(zero)><<<1, kThreads, 0, stream>>>(lines, zero, found);
    MPMML_CUDA(cudaGetLastError());
  });
}

void find_levels(const Operation& operation, const OperandLines& lines, const LevelsFound& sample, bool has_zero,
                 LevelsFound* found, cudaStream_t stream) {
  const bool by_chunks = worth_scanning_by_chunks(sample, has_zero);
  LevelsFound nothing{};
  nothing.scale = sample.scale;
  nothing.step = sample.step;
  nothing.offset = sample.offset;
  if (by_chunks) nothing.chunks = static_cast<int32_t>(ceil_div(lines.depth, kChunkSteps));
  begin<<<1, 1, 0, stream>>>(nothing, found);
  with_stored_zero(operation, lines.storage, [&](auto zero) {
    using Stored = decltype(zero);
    Numbers<Stored> numbers{};
    numbers.zero = zero;
    if constexpr (std::is_same_v<Stored, float>) {
      numbers.inverse_scale = power_of_two(-sample.scale);
      numbers.step = sample.step;
      numbers.offset = sample.offset;
      numbers.per_step = sample.step == 0 ? 0.0f : 1.0f / static_cast<float>(sample.step);
    }
    const auto blocks = static_cast<unsigned>(lines.items * ceil_div(lines.lines, kLines));
    if (std::is_integral_v<Stored> && by_chunks) {
      look<Stored, true><<<blocks, kThreads, 0, stream>>>(lines, numbers, found);
    } else {
      look<Stored, false><<<blocks, kThreads, 0, stream>>>(lines, numbers, found);
    }
    MPMML_CUDA(cudaGetLastError());
  });
}

bool may_scan_lines(const Problem& problem, const Placement& where, Planner& planner) {
  const bool has_levels = with_semiring(problem.operation, [](auto semiring) { return has_range<decltype(semiring)>; });
  if (!has_levels || problem.known) return false;
  // A thread block scans a few whole lines, so deep operands have too few blocks.
  const auto is_deep = [&](const MatrixView& view, int64_t lines) {
    return items_of(view, problem.batch) * lines < problem.k() / kLines;
  };
  if (!where.variant && (is_deep(problem.a, problem.m()) || is_deep(problem.b, problem.n()))) return false;
  ValueRange range;
  range.minimum = range.maximum = 0;
  range.levels.range = 0;
  range.levels.has_zero = false;
  const ArithmeticKind path = planner.plan(problem, range, range, where).path;
  return std::find(std::begin(kExponentPaths), std::end(kExponentPaths), path) != std::end(kExponentPaths);
}

WorthScanning worth_scanning(const Operation& operation, const ValueRange& a, const LineLevels& sample_a,
                             const ValueRange& b, const LineLevels& sample_b) {
  const auto as_if = [](ValueRange range, const LineLevels& levels) {
    range.levels = levels;
    return range;
  };
  const ArithmeticSet known = exact_arithmetics(operation, a, b),
                      possible = exact_arithmetics(operation, as_if(a, sample_a), as_if(b, sample_b));
  for (const ArithmeticKind path : kExponentPaths) {
    if (!possible.has(path) || known.has(path)) continue;
    // Floats need both operands, and integers the operands with few levels.
    if (operation.dtype == DataType::kFloat32) return {true, true};
    if (path == ArithmeticKind::kExponentBounded)
      return worth_scanning_at_chunks(a, as_if(a, sample_a), b, as_if(b, sample_b));
    const int64_t most = exponent_scale_of(ArithmeticKind::kExponentWide).most;
    return {sample_a.range <= most, sample_b.range <= most};
  }
  return {false, false};
}

}  // namespace mpmml::cuda
