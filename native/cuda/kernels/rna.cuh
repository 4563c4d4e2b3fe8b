// Folding and interaction of RNA on a GPU. Tables (core/rna/triangle.h) and algorithm are those of the CPU backend: a
// product of triangular tables for each interval of strand 1, and then a closure of the table, block diagonal by block
// diagonal.
#pragma once
#include <cstdint>

#include "core/algebra/sentinels.h"
#include "core/rna/intervals.h"

// Without __grid_constant__, parameters that are indexed at run time are copied to local memory.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
#define MPMML_GRID_CONSTANT __grid_constant__
#else
#define MPMML_GRID_CONSTANT
#endif

namespace mpmml::cuda::rna {

constexpr int kBlock = kTriangleBlock;
constexpr int kThreads = 128;

/// Layout of a Triangle for kernels.
struct Shape : TriangleSizes {
  const int64_t* rows;  ///< by block: offset that element (first row, column 0) would have

  __device__ int64_t row(int row) const {
    const int block = row / kBlock;
    return rows[block] + int64_t(row - block * kBlock) * stride(block);
  }
};

/// Scores of pairs by both bases.
struct Pairs {
  int of[16];
  int min_loop;
};

/// Operations on words of two 16-bit scores or one 32-bit score.
template <class Score>
struct Lanes;

__device__ inline uint32_t word_of(const uint4& vector, int index) {
  return index == 0 ? vector.x : index == 1 ? vector.y : index == 2 ? vector.z : vector.w;
}

template <>
struct Lanes<int16_t> {
  static constexpr int count = 2;
  static __device__ uint32_t both(int score) { return __byte_perm(uint32_t(score), 0, 0x1010); }
  /// Broadcasts one score of a word to both lanes. `lane` must be a compile-time constant, so that words stay in
  /// registers.
  static __device__ uint32_t broadcast(uint32_t word, int lane) { return __byte_perm(word, 0, lane ? 0x3232 : 0x1010); }
  static __device__ int lane(uint32_t word, int lane) { return lane ? int(word) >> 16 : int(word << 16) >> 16; }
  static __device__ uint32_t word(const int (&scores)[2]) {
    return __byte_perm(uint32_t(scores[0]), uint32_t(scores[1]), 0x5410);
  }
  static __device__ uint32_t step(uint32_t x, uint32_t y, uint32_t best) { return __viaddmax_s16x2(x, y, best); }
};

template <>
struct Lanes<int32_t> {
  static constexpr int count = 1;
  static __device__ uint32_t both(int score) { return uint32_t(score); }
  static __device__ uint32_t broadcast(uint32_t word, int) { return word; }
  static __device__ int lane(uint32_t word, int) { return int(word); }
  static __device__ uint32_t word(const int (&scores)[1]) { return uint32_t(scores[0]); }
  static __device__ uint32_t step(uint32_t x, uint32_t y, uint32_t best) {
    return uint32_t(__viaddmax_s32(int(x), int(y), int(best)));
  }
};

/// A table to be closed under products with `folded`, which is the table itself if a single strand is folded.
template <class Score>
struct FoldingTask {
  Shape shape;
  Score* table;
  const Score* folded;
  const uint8_t* bases;  ///< by position
};

/// All tables of an interaction, one for each pair of nodes a < b of strand 1.
template <class Score>
struct Tables {
  FoldingTask<Score> strand1, strand2;  ///< S1 and S2
  Score* first;
  int64_t each;  ///< elements per table
  int n;

  __device__ Score* table(int a, int b) const { return first + number_of_interval(n, a, b) * each; }
  __device__ FoldingTask<Score> closed(int a, int b) const {
    return {strand2.shape, table(a, b), strand2.table, strand2.bases};
  }
};

/// The products for all tables of one interval length. A thread block computes a tile of 64 rows × 64 words.
template <class Score>
struct Product {
  using L = Lanes<Score>;
  static constexpr int kRows = 64, kWords = 64, kColumns = kWords * L::count, kDepth = 32;
  static constexpr int kVector = 16 / sizeof(Score);                   ///< scores per vector load
  static constexpr int kReadsA = kRows * kDepth / kVector / kThreads;  ///< vector loads of A per thread
  static constexpr int kReadsB = kDepth * kColumns / kVector / kThreads;
  static constexpr int kNone = kNoInterval<Score>;

  struct Shared {
    uint32_t a[kDepth][kRows];  ///< each score in all lanes
    alignas(16) uint32_t b[kDepth][kWords];
  };

  static __device__ uint4 nothing() {
    const uint32_t none = L::both(kNone);
    return make_uint4(none, none, none, none);
  }

  static __device__ uint4 read(const Shape& shape, const Score* table, int row, int col) {
    if (row >= shape.positions || col < 0 || !shape.has(row / kBlock, col / kBlock)) return nothing();
    return *reinterpret_cast<const uint4*>(table + shape.row(row) + col);
  }

  static __device__ void run(const Tables<Score>& all, const Pairs& within, const Pairs& between, int length,
                             const short2* tiles, Shared& shared) {
    const int tables = all.n - length + 1;
    const int a = blockIdx.x % tables, b = a + length;
    const short2 tile = tiles[blockIdx.x / tables];
    const Shape& shape = all.strand2.shape;
    const int first_row = tile.x, first_col = tile.y, end_col = min(first_col + kColumns, shape.positions);
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    // A warp computes 32 rows of 32 words, and a thread 8 rows of 4 words.
    const int row = warp / 2 * 32 + lane / 8 * 8, word = warp % 2 * 32 + lane % 8 * 4;
    const int warp_row = first_row + warp / 2 * 32, warp_end = first_col + (warp % 2 + 1) * 32 * L::count;
    uint32_t sum[8][4];
    start(all, within, between, a, b, first_row + row, first_col + word * L::count, sum);

    const int chunks = max(0, (end_col - first_row + kDepth - 1) / kDepth);
    const int steps = (length - 1) * chunks;
    uint4 next_a[kReadsA], next_b[kReadsB];
    const auto fetch = [&](int step) {
      const int c = a + 1 + step / chunks, k = first_row + step % chunks * kDepth;
      const Score *const left = all.table(a, c), *const right = all.table(c, b);
#pragma unroll
      for (int i = 0; i < kReadsA; ++i) {
        const int at = thread + i * kThreads;
        next_a[i] = read(shape, left, first_row + at % kRows, k + at / kRows * kVector);
      }
#pragma unroll
      for (int i = 0; i < kReadsB; ++i) {
        const int at = thread + i * kThreads;
        next_b[i] = read(shape, right, k + at / (kColumns / kVector), first_col + at % (kColumns / kVector) * kVector);
      }
    };
    if (steps > 0) fetch(0);
    for (int step = 0; step < steps; ++step) {
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kReadsA; ++i) {
        const int at = thread + i * kThreads;
#pragma unroll
        for (int j = 0; j < kVector; ++j) {
          shared.a[at / kRows * kVector + j][at % kRows] = L::broadcast(word_of(next_a[i], j / L::count), j % L::count);
        }
      }
#pragma unroll
      for (int i = 0; i < kReadsB; ++i) reinterpret_cast<uint4*>(shared.b)[thread + i * kThreads] = next_b[i];
      __syncthreads();
      if (step + 1 < steps) fetch(step + 1);
      // Tables are triangular: rows begin, and columns end, at their own node.
      const int k = first_row + step % chunks * kDepth;
      if (k + kDepth <= warp_row || k >= warp_end) continue;
#pragma unroll 8
      for (int i = 0; i < kDepth; ++i) {
        const uint4 upper = *reinterpret_cast<const uint4*>(&shared.a[i][row]);
        const uint4 lower = *reinterpret_cast<const uint4*>(&shared.a[i][row + 4]);
        const uint4 right = *reinterpret_cast<const uint4*>(&shared.b[i][word]);
#pragma unroll
        for (int r = 0; r < 8; ++r) {
          const uint32_t left = word_of(r < 4 ? upper : lower, r % 4);
#pragma unroll
          for (int j = 0; j < 4; ++j) sum[r][j] = L::step(left, word_of(right, j), sum[r][j]);
        }
      }
    }
    Score* const table = all.table(a, b);
    const int col = first_col + word * L::count;
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      const int to = first_row + row + r;
      if (to >= shape.positions || col < 0 || !shape.has(to / kBlock, col / kBlock)) continue;
      *reinterpret_cast<uint4*>(table + shape.row(to) + col) = make_uint4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
    }
  }

  /// Initial values of a table before the products (cpu/rna_kernels.h).
  static __device__ void start(const Tables<Score>& all, const Pairs& within, const Pairs& between, int a, int b,
                               int row, int col, uint32_t (&sum)[8][4]) {
    const FoldingTask<Score>&strand1 = all.strand1, &strand2 = all.strand2;
    const int pad1 = strand1.shape.padding;
    const int add = strand1.table[strand1.shape.row(a + pad1) + b + pad1];
    const int base = strand1.bases[a + pad1];
    const int pair = b - a - 2 < within.min_loop ? 0 : within.of[base * 4 + strand1.bases[b - 1 + pad1]];
    const Score* const inside = b == a + 2 ? strand2.table : pair > 0 ? all.table(a + 1, b - 1) : nullptr;
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      const uint4 alone = read(strand2.shape, strand2.table, row + r, col);
      const uint4 others = pair > 0 ? read(strand2.shape, inside, row + r, col) : nothing();
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        int scores[L::count];
#pragma unroll
        for (int j = 0; j < L::count; ++j) {
          scores[j] = max(L::lane(word_of(alone, i), j) + add, L::lane(word_of(others, i), j) + pair);
          if (b == a + 1 && col + i * L::count + j == row + r + 1 && row + r >= strand2.shape.padding) {
            scores[j] = max(scores[j], between.of[base * 4 + strand2.bases[row + r]]);
          }
        }
        sum[r][i] = L::word(scores);
      }
    }
  }
};

/// Computes the closure of one block of each table. The thread block has `groups` groups of threads, which divide the
/// terms of the block's scores: if few blocks can be closed concurrently, a single group would wait for memory most of
/// the time.
template <class Score, int groups>
struct Close {
  using L = Lanes<Score>;
  static constexpr int kAllThreads = groups * kThreads;
  static constexpr int kNone = kNoInterval<Score>;
  static constexpr int kWords = kBlock / L::count;              ///< words per row
  static constexpr int kOwnWords = kBlock * kWords / kThreads;  ///< words per thread, each in another row
  static constexpr int kVector = 16 / sizeof(Score);
  static constexpr int kReads = kBlock * kBlock / kVector / kThreads;

  struct Shared {
    union {
      struct {
        alignas(16) uint32_t a[kBlock][kBlock + 4];  ///< k by row, each score in all lanes
        alignas(16) uint32_t b[kBlock][kWords];
      } group[groups];
      struct {
        int left[kBlock][kBlock + 1], right[kBlock][kBlock + 1];
      };
    };
    int scores[kBlock][kBlock + 1];
  };

  static __device__ uint4 read(const FoldingTask<Score>& it, const Score* table, int row, int col, int at) {
    const int block = row / kBlock, stride = it.shape.stride(block), per_row = kBlock / kVector;
    return *reinterpret_cast<const uint4*>(table + it.shape.row(row) + int64_t(at / per_row) * stride + col +
                                           at % per_row * kVector);
  }

  static __device__ void run(const FoldingTask<Score>& it, const Pairs& within, int row_block, int distance,
                             Shared& shared) {
    const int col_block = row_block + distance, first = row_block * kBlock, col = col_block * kBlock;
    if (!it.shape.has(row_block, col_block)) return;
    const bool alone = it.table == it.folded;
    const int thread = threadIdx.x % kThreads, group = threadIdx.x / kThreads;
    auto& own = shared.group[group];
    const int own_row = thread / kWords * kOwnWords, own_word = thread % kWords;
    uint32_t sum[kOwnWords];
#pragma unroll
    for (int r = 0; r < kOwnWords; ++r) sum[r] = L::both(kNone);
    const int64_t from = it.shape.row(first) + col;
    const int stride = it.shape.stride(row_block);
    for (int at = threadIdx.x; at < kBlock * kBlock; at += kAllThreads) {
      shared.scores[at / kBlock][at % kBlock] = it.table[from + int64_t(at / kBlock) * stride + at % kBlock];
    }
    // First the terms with blocks of S2 on the left, then the terms with blocks of S2 on the right.
    const int lefts = alone ? max(distance - 1, 0) : distance, steps = alone ? lefts : 2 * lefts;
    uint4 next_a[kReads], next_b[kReads];
    const auto fetch = [&](int step) {
      const bool left = step < lefts;
      const int k = (left ? row_block + 1 + step : row_block + step - lefts) * kBlock;
      const Score *const a = left ? it.folded : it.table, *const b = left ? it.table : it.folded;
#pragma unroll
      for (int i = 0; i < kReads; ++i) {
        next_a[i] = read(it, a, first, k, thread + i * kThreads);
        next_b[i] = read(it, b, k, col, thread + i * kThreads);
      }
    };
    if (group < steps) fetch(group);
    for (int turn = 0; turn < steps; turn += groups) {
      const int step = turn + group;
      __syncthreads();
      if (step < steps) {
#pragma unroll
        for (int i = 0; i < kReads; ++i) {
          const int at = thread + i * kThreads, row = at / (kBlock / kVector), k = at % (kBlock / kVector) * kVector;
#pragma unroll
          for (int j = 0; j < kVector; ++j) {
            own.a[k + j][row] = L::broadcast(word_of(next_a[i], j / L::count), j % L::count);
          }
          reinterpret_cast<uint4*>(own.b)[at] = next_b[i];
        }
      }
      __syncthreads();
      if (step + groups < steps) fetch(step + groups);
      if (step >= steps) continue;
#pragma unroll 8
      for (int k = 0; k < kBlock; ++k) {
        const uint32_t y = own.b[k][own_word];
#pragma unroll
        for (int r = 0; r < kOwnWords; ++r) sum[r] = L::step(own.a[k][own_row + r], y, sum[r]);
      }
    }
    __syncthreads();
    if (group < steps) {
#pragma unroll
      for (int r = 0; r < kOwnWords; ++r) {
#pragma unroll
        for (int j = 0; j < L::count; ++j) {
          atomicMax(&shared.scores[own_row + r][own_word * L::count + j], L::lane(sum[r], j));
        }
      }
    }
    if (!(alone && distance == 0)) {
      for (int at = threadIdx.x; at < kBlock * kBlock; at += kAllThreads) {
        const int row = at / kBlock, k = at % kBlock;
        shared.left[row][k] = it.folded[it.shape.row(first) + int64_t(row) * stride + first + k];
        shared.right[row][k] = it.folded[it.shape.row(col) + int64_t(row) * it.shape.stride(col_block) + col + k];
      }
    }
    __syncthreads();
    if (threadIdx.x < 32) close_rows(it, within, row_block, col_block, alone, shared);
    __syncthreads();
    for (int at = threadIdx.x; at < kBlock * kBlock; at += kAllThreads) {
      const int row = at / kBlock;
      it.table[from + int64_t(row) * stride + at % kBlock] = static_cast<Score>(shared.scores[row][at % kBlock]);
    }
  }

  /// Closes the rows of a block from the last one upwards, with one column per lane.
  static __device__ void close_rows(const FoldingTask<Score>& it, const Pairs& within, int row_block, int col_block,
                                    bool alone, Shared& shared) {
    const int lane = threadIdx.x, col = col_block * kBlock + lane;
    const bool on_diagonal = row_block == col_block;
    for (int r = kBlock - 1; r >= 0; --r) {
      const int row = row_block * kBlock + r;
      if (row < it.shape.padding) {
        shared.scores[r][lane] = kNone;
        continue;
      }
      int score = shared.scores[r][lane];
      if (alone && on_diagonal) score = kNone;
      if (col > row + 1 + within.min_loop) {
        const int inside = r + 1 < kBlock && lane > 0 ? shared.scores[r + 1][lane - 1]
                                                      : int(it.table[it.shape.row(row + 1) + col - 1]);
        score = max(score, inside + within.of[it.bases[row] * 4 + it.bases[col - 1]]);
      }
      if (alone && on_diagonal) {
        if (lane == r + 1) score = max(score, 0);
        int best = kNone;
        for (int k = r + 1; k < kBlock; ++k) {
          best = max(best, __shfl_sync(0xffffffffu, score, k) + shared.scores[k][lane]);
        }
        shared.scores[r][lane] = lane < r ? kNone : lane == r ? 0 : best;
        __syncwarp();
        continue;
      }
      for (int k = r + 1; k < kBlock; ++k) score = max(score, shared.left[r][k] + shared.scores[k][lane]);
      if (on_diagonal && lane < r) score = kNone;
      int best = score;
#pragma unroll
      for (int k = 0; k < kBlock; ++k) best = max(best, __shfl_sync(0xffffffffu, score, k) + shared.right[k][lane]);
      shared.scores[r][lane] = on_diagonal && lane < r ? kNone : best;
      __syncwarp();
    }
  }
};

template <class Score>
__global__ void __launch_bounds__(kThreads, 3)
    multiply(const MPMML_GRID_CONSTANT Tables<Score> all, const MPMML_GRID_CONSTANT Pairs within,
             const MPMML_GRID_CONSTANT Pairs between, int length, const short2* tiles) {
  __shared__ typename Product<Score>::Shared shared;
  Product<Score>::run(all, within, between, length, tiles, shared);
}

/// Closes the blocks at `distance` from the diagonal in all tables of one interval length.
template <class Score, int groups>
__global__ void __launch_bounds__(Close<Score, groups>::kAllThreads)
    close_interaction(const MPMML_GRID_CONSTANT Tables<Score> all, const MPMML_GRID_CONSTANT Pairs within, int length,
                      int distance) {
  __shared__ typename Close<Score, groups>::Shared shared;
  Close<Score, groups>::run(all.closed(blockIdx.y, blockIdx.y + length), within, blockIdx.x, distance, shared);
}

/// Closes the blocks at `distance` from the diagonal in the tables of strands that are folded alone.
template <class Score, int groups>
__global__ void __launch_bounds__(Close<Score, groups>::kAllThreads)
    close_strands(const FoldingTask<Score>* strands, const MPMML_GRID_CONSTANT Pairs within, int distance) {
  __shared__ typename Close<Score, groups>::Shared shared;
  Close<Score, groups>::run(strands[blockIdx.y], within, blockIdx.x, distance, shared);
}

/// Initializes tables of strands: only single bases have a score.
template <class Score>
__global__ void clear_strands(const FoldingTask<Score>* strands) {
  const FoldingTask<Score>& it = strands[blockIdx.y];
  for (int row = blockIdx.x; row < it.shape.positions; row += gridDim.x) {
    const int block = row / kBlock, end = it.shape.end_column(block);
    Score* const to = it.table + it.shape.row(row);
    for (int col = block * kBlock + threadIdx.x; col < end; col += blockDim.x) {
      to[col] = row >= it.shape.padding && col == row + 1 ? Score{0} : kNoInterval<Score>;
    }
  }
}

}  // namespace mpmml::cuda::rna
