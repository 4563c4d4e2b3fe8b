// The small family: for products that are so small, or batches of so small ones, that packing the operands would take
// longer than the product. It reads operands in place, with arbitrary strides, and needs no workspace.
//
// A warp, or a part of a warp, computes a tile of C of BM × BN, so that no thread waits for another warp. A block
// computes several tiles: the tiles at one position in consecutive batch entries, or consecutive tiles of a group.
// Tiles of A and B of depth BK pass through shared memory; the next tile is prefetched into registers while the current
// one is computed. Each thread computes TM × 4 of C. If `slices` > 1, `slices` warps of a block compute the same tile
// (split-K within the block). Each warp computes an equal part of K, and the results are reduced at the end.
#pragma once
#include "core/algebra/arithmetic.h"
#include "cuda/kernels/device_problem.h"
#include "cuda/kernels/epilogue.cuh"

namespace mpmml::cuda {

template <class Config, class Arithmetic>
__global__ void small_kernel(DeviceProblem problem, Arithmetic arithmetic);

template <class Config, class Arithmetic>
__global__ void small_group_kernel(DeviceGroup group, Arithmetic arithmetic);

template <int BM_, int BN_, int BK_, int TM_, int kSlices_>
struct Small {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = 4, kSlices = kSlices_;
  static constexpr int kThreadsM = BM / TM, kThreadsN = BN / TN;
  static constexpr int kTileThreads = kThreadsM * kThreadsN;
  static constexpr int kThreads = kSlices == 1 ? 128 : kTileThreads * kSlices;
  /// Number of tiles of operands that a block holds at a time.
  static constexpr int kSlots = kThreads / kTileThreads;
  /// Number of tiles of C that a block computes at a time.
  static constexpr int kTiles = kSlots / kSlices;

  static_assert(32 % kTileThreads == 0, "the threads of a tile are in one warp, so that only warps synchronize");
  static_assert(kSlices == 1 || kTileThreads == 32, "a slice is a warp");
  static_assert(BM <= kMaxTile && BN <= kMaxTile && BK <= kMaxTile, "as kMostTile says");

  /// An operand's tile in shared memory has kOuter lines of kInner elements. Lines of A's tile are rows, and lines of
  /// B's tile are k-steps. Lines are padded, so that columns can be written with fewer bank conflicts. Lines of the
  /// smallest tiles are so short that padding would cause conflicts.
  template <class Operand>
  static constexpr int kPadding = BM < 16 ? 0 : chunk_elements(sizeof(Operand));
  template <class Operand>
  struct TileA {
    static constexpr int kOuter = BM, kInner = BK, kPitch = BK + kPadding<Operand>;
    static constexpr bool kStepsAreInner = true;
  };
  template <class Operand>
  struct TileB {
    static constexpr int kOuter = BK, kInner = BN, kPitch = BN + kPadding<Operand>;
    static constexpr bool kStepsAreInner = false;
  };

  /// Minimum number of blocks per multiprocessor: as many as its 65 536 registers allow without spills. Without this
  /// bound the compiler uses more registers, and fewer loads are in flight.
  static constexpr int blocks_per_multiprocessor(int accumulator_bytes) {
    const bool is_64 = accumulator_bytes == 8;
    const int registers = TM == 8 ? (is_64 ? 255 : 168) : TM == 2 ? 80 : is_64 ? 56 : 48;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
    constexpr int kMaxThreads = 1024;  // maximum of resident threads on that architecture
#else
    constexpr int kMaxThreads = 1536;
#endif
    const int threads = 65536 / registers;
    const int blocks = (threads < kMaxThreads ? threads : kMaxThreads) / kThreads;
    return blocks > 0 ? blocks : 1;
  }
};

/// An operand of one product: lines (rows of A, columns of B) of k-steps from the element `first` on.
struct SmallOperand {
  const void* data;
  int64_t first;
  int64_t line_stride, k_stride;
  Storage storage;
};

/// Returns an operand of a batch entry, from the k-step `first_step` on.
template <Side side>
__device__ __forceinline__ SmallOperand operand_of(const DeviceProblem& problem, int64_t instance,
                                                   int64_t first_step = 0) {
  if constexpr (side == Side::kA) {
    const MatrixView& a = problem.a;
    return {a.data, instance * a.batch_stride + first_step * a.col_stride, a.row_stride, a.col_stride, a.storage};
  } else {
    const MatrixView& b = problem.b;
    return {b.data, instance * b.batch_stride + first_step * b.row_stride, b.col_stride, b.row_stride, b.storage};
  }
}

/// Loads tiles of an operand from global memory into registers, and stores them to shared memory. Consecutive threads
/// read consecutive elements along the dimension with the smaller stride.
template <class Arithmetic, class Tile, int kDepth, int kThreads>
class TileReader {
 public:
  using Semiring = typename Arithmetic::Semiring;
  using Element = typename Arithmetic::Element;
  using Operand = typename Arithmetic::Operand;

  /// Prepares to read tiles of the lines from `first_line` on. `lines` is the number of lines of the operand (rows of
  /// A, columns of B).
  __device__ __forceinline__ TileReader(const SmallOperand& operand, int64_t first_line, int64_t lines, int thread)
      : lines_(static_cast<int>(max(int64_t{0}, min(lines - first_line, int64_t{kLines})))),
        is_narrow_(takes_narrow && operand.storage == Storage::kNarrow),
        along_inner_(inner_stride(operand) <= outer_stride(operand)) {
    constexpr int kChunksInner = Tile::kInner / kChunk, kChunksOuter = Tile::kOuter / kChunk;
    const int bytes = is_narrow_ ? sizeof(Stored) : sizeof(Element);
    const int64_t slow_stride = (along_inner_ ? outer_stride(operand) : inner_stride(operand)) * bytes;
    fast_stride_ = (along_inner_ ? inner_stride(operand) : outer_stride(operand)) * bytes;
    slow_ = along_inner_ ? thread / kChunksInner : thread / kChunksOuter;
    fast_ = (along_inner_ ? thread % kChunksInner : thread % kChunksOuter) * kChunk;
    slow_step_ = along_inner_ ? kThreads / kChunksInner : kThreads / kChunksOuter;
    share_stride_ = slow_step_ * slow_stride;
    tile_stride_ = operand.k_stride * (kDepth * bytes);
    source_ = static_cast<const char*>(operand.data) + (operand.first + first_line * operand.line_stride) * bytes +
              slow_ * slow_stride + fast_ * fast_stride_;
    const uintptr_t places = reinterpret_cast<uintptr_t>(source_) | share_stride_ | tile_stride_;
    reads_chunks_ = !is_narrow_ && fast_stride_ == bytes && places % sizeof(ChunkOfElements) == 0;
  }

  /// Issues the loads of the tile of the next `steps` k-steps. Elements outside the operand get the padding value.
  __device__ __forceinline__ void read(int steps) {
    const bool steps_are_fast = along_inner_ == Tile::kStepsAreInner;
    const int slow_left = (steps_are_fast ? lines_ : steps) - slow_;
    const int fast_left = (steps_are_fast ? steps : lines_) - fast_;
#pragma unroll
    for (int share = 0; share < kShares; ++share) {
      ChunkOfElements& chunk = chunks_[share];
#pragma unroll
      for (Element& element : chunk.values) element = kBorder;
      if (share * slow_step_ >= slow_left) continue;
      const char* const source = source_ + share * share_stride_;
      if (reads_chunks_ && fast_left >= kChunk) {
        chunk = *reinterpret_cast<const ChunkOfElements*>(source);
      } else {
#pragma unroll
        for (int v = 0; v < kChunk; ++v) {
          if (v < fast_left) chunk.values[v] = stored_at(source + v * fast_stride_);
        }
      }
    }
    source_ += tile_stride_;
  }

  /// Encodes the loaded tile and stores it to shared memory.
  __device__ __forceinline__ void write(Operand* tile, const Arithmetic& arithmetic) {
    if constexpr (takes_narrow) {
      if (is_narrow_) widen();
    }
#pragma unroll
    for (int share = 0; share < kShares; ++share) {
      const int slow = slow_ + share * slow_step_;
      Operand values[kChunk];
#pragma unroll
      for (int v = 0; v < kChunk; ++v) values[v] = arithmetic.encode(chunks_[share].values[v]);
      if (along_inner_) {
        Operand* const target = tile + slow * Tile::kPitch + fast_;
        constexpr int kCount = chunk_elements(sizeof(Operand));
#pragma unroll
        for (int v = 0; v < kChunk; v += kCount) {
          *reinterpret_cast<Chunk<Operand, kCount>*>(target + v) =
              *reinterpret_cast<const Chunk<Operand, kCount>*>(values + v);
        }
      } else {
#pragma unroll
        for (int v = 0; v < kChunk; ++v) tile[(fast_ + v) * Tile::kPitch + slow] = values[v];
      }
    }
  }

 private:
  static constexpr bool takes_narrow = has_narrow<Element>;
  using Stored = std::conditional_t<takes_narrow, NarrowType<Element>, Element>;
  static constexpr int kLines = Tile::kStepsAreInner ? Tile::kOuter : Tile::kInner;
  static constexpr int kChunk = chunk_elements(sizeof(Element));
  static constexpr int kShares = Tile::kOuter * Tile::kInner / (kThreads * kChunk);
  static constexpr Element kBorder = Tile::kStepsAreInner ? Semiring::border_a : Semiring::border_b;
  using ChunkOfElements = Chunk<Element, kChunk>;
  static_assert(Tile::kOuter * Tile::kInner % (kThreads * kChunk) == 0, "equal shares of a tile");
  static_assert(kThreads % (Tile::kInner / kChunk) == 0 && kThreads % (Tile::kOuter / kChunk) == 0,
                "a thread's shares are at the same place in their rows or columns");

  static __device__ __forceinline__ int64_t outer_stride(const SmallOperand& operand) {
    return Tile::kStepsAreInner ? operand.line_stride : operand.k_stride;
  }
  static __device__ __forceinline__ int64_t inner_stride(const SmallOperand& operand) {
    return Tile::kStepsAreInner ? operand.k_stride : operand.line_stride;
  }

  /// Returns an element in its stored form. widen() converts it later, because the conversion waits for the load.
  __device__ __forceinline__ Element stored_at(const char* place) const {
    if constexpr (takes_narrow) {
      if (is_narrow_) return *reinterpret_cast<const Stored*>(place);
    }
    return *reinterpret_cast<const Element*>(place);
  }

  __device__ __forceinline__ void widen() {
#pragma unroll
    for (ChunkOfElements& chunk : chunks_) {
#pragma unroll
      for (Element& element : chunk.values) {
        // A padding value that the narrow type can't represent needs no conversion.
        const auto stored = static_cast<Stored>(element);
        if (element == stored) element = widened<Semiring>(stored);
      }
    }
  }

  const char* source_;
  int64_t fast_stride_, share_stride_, tile_stride_;  ///< in bytes
  int slow_, fast_, slow_step_;
  const int lines_;
  const bool is_narrow_, along_inner_;
  bool reads_chunks_;
  ChunkOfElements chunks_[kShares];
};

/// Loads neighbours from shared memory with the widest possible accesses.
template <int kCount, class Operand>
__device__ __forceinline__ void load_shared(Operand (&to)[kCount], const Operand* from) {
  constexpr int kChunk = chunk_elements(sizeof(Operand));
#pragma unroll
  for (int v = 0; v < kCount; v += kChunk) {
    const auto chunk = *reinterpret_cast<const Chunk<Operand, kChunk>*>(from + v);
#pragma unroll
    for (int element = 0; element < kChunk; ++element) to[v + element] = chunk.values[element];
  }
}

/// A tile of C, and the position of a thread among the kTileThreads that compute it.
template <class Config>
struct SmallTile {
  int64_t first_row, first_col;
  int thread;

  __device__ __forceinline__ int thread_m() const { return thread / Config::kThreadsN; }
  __device__ __forceinline__ int thread_n() const { return thread % Config::kThreadsN; }

  /// The rows of the thread are kThreadsM apart, so that threads store neighbouring rows together.
  __device__ __forceinline__ int row(int i) const { return i * Config::kThreadsM + thread_m(); }
  __device__ __forceinline__ int col() const { return thread_n() * Config::TN; }
};

/// Accumulators of a thread.
template <class Config, class Arithmetic>
using SmallSums = typename Arithmetic::Accumulator[Config::TM][Config::TN];

/// Computes the mainloop of one tile. `m`, `n` and `k` limit the operands; elements outside have the padding value.
template <class Config, class Arithmetic>
__device__ __forceinline__ void accumulate_small_tile(SmallSums<Config, Arithmetic>& acc, const SmallTile<Config>& tile,
                                                      const SmallOperand& a, const SmallOperand& b, int64_t m,
                                                      int64_t n, int64_t k, typename Arithmetic::Operand* shared_a,
                                                      typename Arithmetic::Operand* shared_b,
                                                      const Arithmetic& arithmetic) {
  using Operand = typename Arithmetic::Operand;
  constexpr int BK = Config::BK, TM = Config::TM, TN = Config::TN;
  using TileA = typename Config::template TileA<Operand>;
  using TileB = typename Config::template TileB<Operand>;
  TileReader<Arithmetic, TileA, BK, Config::kTileThreads> reader_a(a, tile.first_row, m, tile.thread);
  TileReader<Arithmetic, TileB, BK, Config::kTileThreads> reader_b(b, tile.first_col, n, tile.thread);
#pragma unroll
  for (auto& row : acc) {
#pragma unroll
    for (auto& sum : row) sum = arithmetic.initial();
  }
  const auto read = [&](int64_t left) {
    const int steps = static_cast<int>(min(left, int64_t{BK}));
    reader_a.read(steps);
    reader_b.read(steps);
  };
  if (k > 0) read(k);
  for (int64_t left = k; left > 0; left -= BK) {
    const int steps = static_cast<int>(min(left, int64_t{BK}));
    __syncwarp();
    reader_a.write(shared_a, arithmetic);
    reader_b.write(shared_b, arithmetic);
    __syncwarp();
    if (left > BK) read(left - BK);
    constexpr int kStep = chunk_elements(sizeof(Operand));
#pragma unroll 2
    for (int first = 0; first < BK; first += kStep) {
      if (first >= steps) break;
      Operand fragment_a[TM][kStep];
#pragma unroll
      for (int i = 0; i < TM; ++i) load_shared(fragment_a[i], shared_a + tile.row(i) * TileA::kPitch + first);
#pragma unroll
      for (int step = 0; step < kStep; ++step) {
        Operand fragment_b[TN];
        load_shared(fragment_b, shared_b + (first + step) * TileB::kPitch + tile.col());
#pragma unroll
        for (int i = 0; i < TM; ++i) {
#pragma unroll
          for (int j = 0; j < TN; ++j) {
            acc[i][j] = Arithmetic::accumulate(acc[i][j], fragment_a[i][step], fragment_b[j]);
          }
        }
      }
    }
  }
}

template <class Config, class Arithmetic>
__device__ __forceinline__ void store_small_tile(const SmallSums<Config, Arithmetic>& acc,
                                                 const SmallTile<Config>& tile, const DeviceProblem& problem,
                                                 int64_t instance, const Arithmetic& arithmetic) {
  const Epilogue<Arithmetic> epilogue(problem, arithmetic, instance);
#pragma unroll
  for (int i = 0; i < Config::TM; ++i) {
    const int64_t row = tile.first_row + tile.row(i);
    if (row < problem.m) epilogue.store(row, tile.first_col + tile.col(), acc[i]);
  }
}

/// Operand tiles of a block in shared memory. The tiles of A are adjacent, so that neighbouring threads use different
/// banks.
template <class Config, class Operand>
struct SmallTiles {
  static constexpr int kTileA = Config::BM * Config::template TileA<Operand>::kPitch;
  static constexpr int kTileB = Config::BK * Config::template TileB<Operand>::kPitch;
  alignas(16) Operand a[Config::kSlots][kTileA];
  alignas(16) Operand b[Config::kSlots][kTileB];
};

/// Partial results of the slices of a block: [slice][element][thread], so that neighbouring threads use different
/// banks.
template <class Config, class Arithmetic>
struct SlicedSums {
  static constexpr int kElements = Config::TM * Config::TN;
  typename Arithmetic::Accumulator sums[Config::kSlices][kElements][Config::kTileThreads];
};

/// Range of K of a slice: `steps` k-steps from `first` on.
struct SliceOfK {
  int64_t first, steps;
};
/// Returns the range of K of a slice. Slices have equal numbers of tiles of K; the last slices may have fewer, or none.
template <class Config>
__device__ __forceinline__ SliceOfK slice_of_k(int64_t k, int slice) {
  const int64_t most = ceil_div(ceil_div(k, int64_t{Config::BK}), int64_t{Config::kSlices}) * Config::BK;
  const int64_t first = min(slice * most, k);
  return {first, min(most, k - first)};
}

/// Reduces the partial results of the slices of a block, in order, and stores the results. The slices divide the rows
/// of a thread among them.
template <class Config, class Arithmetic>
__device__ __forceinline__ void store_sliced_tile(const SmallSums<Config, Arithmetic>& acc, int slice,
                                                  const SmallTile<Config>& tile, const DeviceProblem& problem,
                                                  int64_t instance, const Arithmetic& arithmetic,
                                                  SlicedSums<Config, Arithmetic>& shared) {
  using S = typename Arithmetic::Semiring;
  // Partial results reuse the memory of the operand tiles, which all threads must have read.
  __syncthreads();
#pragma unroll
  for (int element = 0; element < Config::TM * Config::TN; ++element) {
    shared.sums[slice][element][tile.thread] = acc[element / Config::TN][element % Config::TN];
  }
  __syncthreads();
  const Epilogue<Arithmetic> epilogue(problem, arithmetic, instance);
  for (int i = slice; i < Config::TM; i += Config::kSlices) {
    const int64_t row = tile.first_row + tile.row(i);
    if (row >= problem.m) continue;
    typename Arithmetic::Accumulator sums[Config::TN];
#pragma unroll
    for (int j = 0; j < Config::TN; ++j) {
      const int element = i * Config::TN + j;
      sums[j] = shared.sums[0][element][tile.thread];
#pragma unroll
      for (int other = 1; other < Config::kSlices; ++other) {
        sums[j] = S::combine(sums[j], shared.sums[other][element][tile.thread]);
      }
    }
    epilogue.store(row, tile.first_col + tile.col(), sums);
  }
}

/// Kernel for a batch. The first dimension of the grid is the batch, with several entries per block; the others are the
/// tiles of C.
template <class Config, class Arithmetic>
__global__ void __launch_bounds__(Config::kThreads,
                                  Config::blocks_per_multiprocessor(sizeof(typename Arithmetic::Accumulator)))
    small_kernel(DeviceProblem problem, Arithmetic arithmetic) {
  constexpr bool kIsSliced = Config::kSlices > 1;
  using Tiles = SmallTiles<Config, typename Arithmetic::Operand>;
  using Sums = SlicedSums<Config, Arithmetic>;
  // Operand tiles of the block, and afterwards the partial results of its slices.
  constexpr size_t kBytes = kIsSliced && sizeof(Sums) > sizeof(Tiles) ? sizeof(Sums) : sizeof(Tiles);
  __shared__ __align__(16) unsigned char memory[kBytes];
  Tiles& tiles = *reinterpret_cast<Tiles*>(memory);
  const int slot = threadIdx.x / Config::kTileThreads;
  const int64_t instance = kIsSliced ? blockIdx.x : int64_t{blockIdx.x} * (blockDim.x / Config::kTileThreads) + slot;
  const SmallTile<Config> tile{int64_t{blockIdx.y} * Config::BM, int64_t{blockIdx.z} * Config::BN,
                               static_cast<int>(threadIdx.x % Config::kTileThreads)};
  const SliceOfK slice = kIsSliced ? slice_of_k<Config>(problem.k, slot) : SliceOfK{0, problem.k};
  // Threads without a batch entry take part in the warp's barriers, but read nothing.
  const bool exists = instance < problem.batch;
  SmallSums<Config, Arithmetic> acc;
  accumulate_small_tile(acc, tile, operand_of<Side::kA>(problem, instance, slice.first),
                        operand_of<Side::kB>(problem, instance, slice.first), exists ? problem.m : 0,
                        exists ? problem.n : 0, slice.steps, tiles.a[slot], tiles.b[slot], arithmetic);
  if constexpr (kIsSliced) {
    store_sliced_tile(acc, slot, tile, problem, instance, arithmetic, *reinterpret_cast<Sums*>(memory));
  } else {
    if (exists) store_small_tile(acc, tile, problem, instance, arithmetic);
  }
}

/// Returns the index of the group's item that a tile belongs to. The lanes of a warp search cooperatively.
__device__ __forceinline__ int64_t item_of_tile(const DeviceGroup& group, int64_t tile) {
  int64_t first = 0, count = group.count;
  while (count > 1) {
    const int64_t step = (count + 31) / 32;
    const int64_t probed = int64_t{threadIdx.x % 32} * step;
    const bool is_reached = probed < count && group.first_tiles[first + probed] <= tile;
    const int64_t skipped = (__popc(__ballot_sync(~0u, is_reached)) - 1) * step;
    first += skipped;
    count = min(step, count - skipped);
  }
  return first;
}

template <class Config, class Arithmetic>
__global__ void __launch_bounds__(Config::kThreads,
                                  Config::blocks_per_multiprocessor(sizeof(typename Arithmetic::Accumulator)))
    small_group_kernel(DeviceGroup group, Arithmetic arithmetic) {
  static_assert(Config::kTileThreads == 32, "a warp looks for the item of its tile");
  __shared__ SmallTiles<Config, typename Arithmetic::Operand> tiles;
  const int warp = threadIdx.x / 32;
  const int64_t tile_of_group = int64_t{blockIdx.x} * Config::kTiles + warp;
  if (tile_of_group >= group.tiles) return;
  const int64_t index = item_of_tile(group, tile_of_group);
  const GroupItem& item = group.items[index];
  const int64_t place = tile_of_group - group.first_tiles[index], tiles_n = ceil_div(item.n, Config::BN);
  const SmallTile<Config> tile{place / tiles_n * Config::BM, place % tiles_n * Config::BN,
                               static_cast<int>(threadIdx.x % 32)};
  SmallSums<Config, Arithmetic> acc;
  accumulate_small_tile(acc, tile, {item.a.data, 0, item.a.row_stride, item.a.col_stride, item.a.storage},
                        {item.b.data, 0, item.b.col_stride, item.b.row_stride, item.b.storage}, item.m, item.n, item.k,
                        tiles.a[warp], tiles.b[warp], arithmetic);
  // Read after the mainloop, so that it occupies no registers there.
  DeviceProblem problem{};
  problem.m = problem.whole_m = item.m;
  problem.n = problem.whole_n = item.n;
  problem.c0.data = item.c0.data;
  problem.c0.row_stride = item.c0.row_stride;
  problem.c0.col_stride = item.c0.col_stride;
  problem.c.data = item.c;
  problem.c.row_stride = item.c_row_stride;
  problem.first_item = item.instance;
  problem.overflow = group.overflows ? group.overflows + item.product : nullptr;
  store_small_tile(acc, tile, problem, 0, arithmetic);
}

}  // namespace mpmml::cuda
