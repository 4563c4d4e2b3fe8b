// The pipelined family: packed operands stream through shared memory in several stages of asynchronous copies while a
// mixed stream of instructions (words.cuh) computes.
//
// A block computes a tile of C of BM rows × BN words (a word is one column, or two in 16-bit lanes). Each thread
// computes TM × TN of it in chunks of 16 bytes, which one load from shared memory brings: 4 rows or words of 32 bits, 2
// of 64 (block-cyclic). If `slices` > 1, that many groups of threads compute the same tile, each over an equal part of
// K, and combine at the end. That fills the GPU if there are few tiles, without a second kernel. If tiles don't come to
// whole waves, the last ones can be divided among blocks too: see division.h.
#pragma once
#include "cuda/kernels/divided.cuh"
#include "cuda/kernels/packed.cuh"
#include "cuda/kernels/visitors.cuh"

namespace mpmml::cuda {

template <class Config, class Arithmetic>
__global__ void pipelined_kernel(DeviceProblem problem, PackedProblem<typename Words<Arithmetic>::Word> packed,
                                 Arithmetic arithmetic);

template <class Config, class Arithmetic>
__global__ void divided_kernel(DeviceProblem problem, PackedProblem<typename Words<Arithmetic>::Word> packed,
                               Arithmetic arithmetic, Division division, PartMemory memory);

template <int BM_, int BN_, int BK_, int TM_, int TN_, int kStages_, int kSlices_>
struct Pipelined {
  static constexpr bool kFindsWitnesses = false;
  static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_, kStages = kStages_, kSlices = kSlices_;
  static constexpr int kThreadsM = BM / TM, kThreadsN = BN / TN;
  static constexpr int kSliceThreads = kThreadsM * kThreadsN;
  static constexpr int kThreads = kSliceThreads * kSlices;
  static constexpr int kStageWords = BK * (BM + BN);
  template <class Word>
  static constexpr int shared_bytes = kSlices * kStages * kStageWords * int{sizeof(Word)};
  // The lanes of a warp cover the tile as 8 × 4: a warp reads 128 bytes of A and 64 bytes of B as broadcasts, without
  // conflicts.
  static constexpr int kLanesM = 8, kLanesN = 4;
  static constexpr int kWarpsN = kThreadsN / kLanesN;

  static_assert(TM % 4 == 0 && TN % 4 == 0, "fragments are loaded as whole chunks");
  static_assert(kThreadsM % kLanesM == 0 && kThreadsN % kLanesN == 0, "warps tile the block");
  static_assert(BK % 2 == 0, "the stream takes two steps at a time");
  static_assert(kSlices == 1 || BM * BN <= kStages * kStageWords, "combining the slices reuses the stages");
  static_assert(TM * TN / 4 % kSlices == 0, "equal shares of the results");

  /// Registers for 16 warps per multiprocessor: 65 536 / 512 = 128 per thread. On GPUs without asynchronous copies a
  /// tile waits in registers. There it is 12 warps with 168 registers per thread, because otherwise the kernel spills
  /// (seen for sm_52 to sm_70). Words of two registers leave room for half as many warps.
  template <class Word>
  static constexpr int blocks_per_multiprocessor() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    constexpr int kResidentThreads = sizeof(Word) == 8 ? 256 : 384;
#else
    constexpr int kResidentThreads = 512 * 4 / int{sizeof(Word)};
#endif
    return kThreads >= kResidentThreads ? 1 : kResidentThreads / kThreads;
  }

  template <class Arithmetic>
  static constexpr auto entry() {
    return &pipelined_kernel<Pipelined, Arithmetic>;
  }
  template <class Arithmetic>
  static constexpr auto divided_entry() {
    return &divided_kernel<Pipelined, Arithmetic>;
  }
};

/// The same kernel, which also notes chunks.
template <int... parameters>
struct FindsWitnesses<Pipelined<parameters...>> : Pipelined<parameters...> {
  using Config = Pipelined<parameters...>;
  static constexpr bool kFindsWitnesses = true;
  static_assert(Config::kSlices == 1, "slices of K don't reach a result one after the other");
  template <class Word>
  static constexpr int shared_bytes = Config::template shared_bytes<Word> + Config::BM * Config::BN * int{sizeof(Word)};
  /// A chunk of two tiles, because that keeps both its notes and the search within it below a tenth of the main loop. An
  /// operand of several steps makes a tile longer.
  template <class Arithmetic>
  static constexpr int least_chunk_shift = steps_per_operand<Arithmetic> > 1 ? 0 : 1;

  template <class Arithmetic>
  static constexpr auto entry() {
    return &pipelined_kernel<FindsWitnesses, Arithmetic>;
  }
};

/// Whether a thread keeps addresses that it could compute anew in each tile. Notes of chunks leave no registers for that,
/// and doubles without slices take 4 % longer with it (H200).
template <class Config, class Word>
constexpr bool keeps_addresses = !Config::kFindsWitnesses && (sizeof(Word) == 4 || Config::kSlices > 1);

/// The address of a place in shared memory. If `kKept`, the compiler can't compute it anew. For that it would ask in each
/// tile for the block's place in its cluster: 2 to 3 % of the time (H200). Before sm_80 it is counted from the block's
/// dynamic shared memory, because CUDA 13's compiler doesn't come to an end with the other form.
template <bool kKept>
__device__ __forceinline__ unsigned shared_address(const void* place) {
#if __CUDA_ARCH__ >= 800
  auto address = static_cast<unsigned>(__cvta_generic_to_shared(place));
#else
  extern __shared__ __align__(kChunkBytes) unsigned char memory[];
  auto address = static_cast<unsigned>(static_cast<const unsigned char*>(place) - memory);
#endif
  if constexpr (kKept) asm volatile("" : "+r"(address));
  return address;
}
template <class Word>
__device__ __forceinline__ Word* at_shared(unsigned address) {
#if __CUDA_ARCH__ >= 800
  return static_cast<Word*>(__cvta_shared_to_generic(address));
#else
  extern __shared__ __align__(kChunkBytes) unsigned char memory[];
  return reinterpret_cast<Word*>(memory + address);
#endif
}

/// Copies the stages of one slice. Each thread copies its share of the k-major tiles of A and B. Stages are given in bytes
/// from the first.
template <class Config, class Word>
class StagePipe {
 public:
  __device__ __forceinline__ StagePipe(Word* shared, const Word* a, const Word* b, int64_t padded_m, int64_t padded_n,
                                       int thread)
      : shared_(shared_address<keeps_addresses<Config, Word>>(shared + thread * kChunk)),
        a_(a),
        b_(b),
        padded_m_(padded_m),
        padded_n_(padded_n) {
    const int64_t place_a = place_in_tile(padded_m, Config::BM, thread);
    if constexpr (keeps_addresses<Config, Word>) {
      bytes_a_ = place_a * int64_t{sizeof(Word)};
    } else {
      a_ += place_a;
    }
    b_ += place_in_tile(padded_n, Config::BN, thread);
  }

  /// Starts copying the next tile into `stage`.
  __device__ __forceinline__ void start(int stage) {
    Word* target = at_shared<Word>(shared_ + stage);
#pragma unroll
    for (int share = 0; share < kSharesA; ++share) {
      copy(share, target + share * kStep, after(a_ + share * (kStep / Config::BM) * padded_m_, bytes_a_));
    }
#pragma unroll
    for (int share = 0; share < kSharesB; ++share) {
      copy(kSharesA + share, target + Config::BK * Config::BM + share * kStep,
           b_ + share * (kStep / Config::BN) * padded_n_);
    }
    a_ += Config::BK * padded_m_;
    b_ += Config::BK * padded_n_;
  }
  /// Lets start() begin anew, after this many tiles.
  __device__ __forceinline__ void rewind(int tiles) {
    a_ -= tiles * (Config::BK * padded_m_);
    b_ -= tiles * (Config::BK * padded_n_);
  }

#if __CUDA_ARCH__ >= 800
  static constexpr int kStages = Config::kStages;

  __device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;"); }
  /// Waits until all but the latest kStages − 2 committed tiles have arrived.
  __device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2)); }
  /// Waits for all tiles that this thread has begun to copy.
  __device__ __forceinline__ void wait_for_all() { asm volatile("cp.async.wait_all;"); }
  __device__ __forceinline__ void finish(int) {}
#else
  // Without asynchronous copies the next tile waits in registers while this one is computed.
  static constexpr int kStages = 2;

  __device__ __forceinline__ void commit() {}
  __device__ __forceinline__ void wait() {}
  __device__ __forceinline__ void wait_for_all() {}
  __device__ __forceinline__ void finish(int stage) {
    Word* target = at_shared<Word>(shared_ + stage);
#pragma unroll
    for (int share = 0; share < kSharesA + kSharesB; ++share) {
      const int offset = share < kSharesA ? share * kStep : Config::BK * Config::BM + (share - kSharesA) * kStep;
      *reinterpret_cast<uint4*>(target + offset) = waiting_[share];
    }
  }
#endif

 private:
  static constexpr int kChunk = kChunkBytes / sizeof(Word);
  static constexpr int kStep = Config::kSliceThreads * kChunk;
  static constexpr int kSharesA = Config::BK * Config::BM / kStep;
  static constexpr int kSharesB = Config::BK * Config::BN / kStep;
  static_assert(Config::BK * Config::BM % kStep == 0 && Config::BK * Config::BN % kStep == 0, "equal shares of a copy");
  static_assert(kStep % Config::BM == 0 && kStep % Config::BN == 0, "a step of a copy is whole rows of the tile");

  static __device__ __forceinline__ int64_t place_in_tile(int64_t pitch, int width, int thread) {
    return thread * kChunk / width * pitch + thread * kChunk % width;
  }
  static __device__ __forceinline__ const Word* after(const Word* word, int64_t bytes) {
    return reinterpret_cast<const Word*>(reinterpret_cast<const char*>(word) + bytes);
  }

  __device__ __forceinline__ void copy(int share, Word* target, const Word* from) {
#if __CUDA_ARCH__ >= 800
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(target));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from));
#else
    waiting_[share] = *reinterpret_cast<const uint4*>(from);
#endif
  }

  unsigned shared_;
  const Word* a_;
  const Word* b_;
  int64_t padded_m_, padded_n_;
  /// The thread's place in a tile of A, which is kept apart from where the tile is: for the registers of the main loop
  /// (H200: up to 2 % less time).
  int64_t bytes_a_ = 0;
#if __CUDA_ARCH__ < 800
  uint4 waiting_[kSharesA + kSharesB];
#endif
};

/// Waits for the threads of one slice.
template <class Config>
__device__ __forceinline__ void slice_barrier(int slice) {
  if constexpr (Config::kSlices == 1) {
    __syncthreads();
  } else if constexpr (Config::kSliceThreads == 32) {
    __syncwarp();
  } else {
    asm volatile("bar.sync %0, %1;" ::"r"(slice + 1), "n"(Config::kSliceThreads) : "memory");
  }
}

/// The steps of a tile of K, whose operands start at `a` and `b`. two_steps(fragments of A, of B) does two of them.
/// between() runs after the first two.
template <class Config, class Word, class TwoSteps, class Between>
__device__ __forceinline__ void tile_steps(const Word* a, const Word* b, TwoSteps&& two_steps, Between&& between) {
  constexpr int kChunk = kChunkBytes / sizeof(Word);
#pragma unroll
  for (int k = 0; k < Config::BK; k += 2) {
    Word fragment_a[2][Config::TM], fragment_b[2][Config::TN];
#pragma unroll
    for (int step = 0; step < 2; ++step) {
#pragma unroll
      for (int i = 0; i < Config::TM; i += kChunk) {
        *reinterpret_cast<uint4*>(&fragment_a[step][i]) =
            *reinterpret_cast<const uint4*>(a + (k + step) * Config::BM + i * Config::kThreadsM);
      }
#pragma unroll
      for (int j = 0; j < Config::TN; j += kChunk) {
        *reinterpret_cast<uint4*>(&fragment_b[step][j]) =
            *reinterpret_cast<const uint4*>(b + (k + step) * Config::BN + j * Config::kThreadsN);
      }
    }
    two_steps(fragment_a, fragment_b);
    if (k == 0) between();
  }
}

/// A block's work on a tile of C, or on a part of one.
template <class Config, class Arithmetic, class Tile>
__device__ __forceinline__ void compute_tile(const DeviceProblem& problem,
                                             const PackedProblem<typename Words<Arithmetic>::Word>& packed,
                                             const Arithmetic& arithmetic, const Tile& own_tile) {
  using W = Words<Arithmetic>;
  using Word = typename W::Word;
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM, TN = Config::TN;
  constexpr int kChunk = kChunkBytes / sizeof(Word);
  extern __shared__ __align__(kChunkBytes) unsigned char memory[];
  Word* shared = reinterpret_cast<Word*>(memory);

  int slice = Config::kSlices == 1 ? 0 : Tile::thread() / Config::kSliceThreads;
  // This tells the compiler that it is the same for a warp. float32 1024³ takes 2 % less time then, int32 2 % more (H200).
  if constexpr (Config::kSlices > 1 && kComparesAsIntegers<Arithmetic>) slice = __shfl_sync(~0u, slice, 0);
  int thread = Config::kSlices == 1 ? Tile::thread() : Tile::thread() % Config::kSliceThreads;
  int warp = thread / 32, lane = thread % 32;
  int thread_m = warp / Config::kWarpsN * Config::kLanesM + lane / Config::kLanesN;
  int thread_n = warp % Config::kWarpsN * Config::kLanesN + lane % Config::kLanesN;

  const TilePlace place = locate_tile(own_tile.number(), packed.padded_m / BM, packed.padded_n / BN);
  const int64_t instance = own_tile.instance();
  // Slices take equal parts of the tiles of K, which are as many as a multiple of all slices.
  bool has_results;
  DepthTiles depth = depth_of_tile(problem, span_of_tile(place.m, BM), span_of_tile(place.n, BN * W::kLanes),
                                   BK * Config::kSlices * steps_per_operand<Arithmetic>,
                                   {0, static_cast<int>(packed.padded_k / (BK * Config::kSlices))}, has_results);
  if (!has_results) return;
  if constexpr (Tile::kIsPart) depth = own_tile.depth();
  const int tiles_k = depth.count;
  const int64_t first_k = BK * (int64_t{Config::kSlices} * depth.first + int64_t{slice} * tiles_k);
  Word* stages = shared + slice * Config::kStages * Config::kStageWords;
  using Pipe = StagePipe<Config, Word>;
  Pipe pipe(stages, packed.a + instance * packed.a_instance + first_k * packed.padded_m + int64_t{place.m} * BM,
            packed.b + instance * packed.b_instance + first_k * packed.padded_n + int64_t{place.n} * BN,
            packed.padded_m, packed.padded_n, thread);

  Word acc[TM][TN];
  const Word initial = W::word_of(arithmetic.initial());

  using Visitor = VisitorOf<Config, Arithmetic>;
  const Visitor visitor(problem, arithmetic, shared + Config::kStages * Config::kStageWords, instance);
  visitor.start(initial);

  // Stages, in bytes from the first.
  constexpr int kStages = Pipe::kStages, kStage = Config::kStageWords * int{sizeof(Word)};
  int tile, reading, writing;
  const auto start = [&] {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; ++j) acc[i][j] = initial;
    }
#pragma unroll
    for (int stage = 0; stage < kStages - 1; ++stage) {
      if (stage < tiles_k) {
        pipe.start(stage * kStage);
        pipe.finish(stage * kStage);
      }
      pipe.commit();
    }
    tile = 0, reading = 0, writing = (kStages - 1) * kStage;
  };
  const unsigned first_a = shared_address<keeps_addresses<Config, Word>>(stages + thread_m * kChunk),
                 first_b = shared_address<keeps_addresses<Config, Word>>(stages + BK * BM + thread_n * kChunk);
  const auto copy_next = [&] {
    if (tile + kStages - 1 < tiles_k) pipe.start(writing);
    pipe.commit();
  };
  // Takes the tiles of K in turn by compute(A, B, copies), until `end` or until `ends` says, after a tile, that the rest
  // may be computed in another way.
  const auto take_tiles = [&](int end, auto&& compute, auto&& ends) {
    for (; tile < end; ++tile) {
      pipe.wait();
      slice_barrier<Config>(slice);
      // The next copies start after the first steps, for the registers again: int32 8192³ takes 4 % less time than if they
      // start first, but 16-bit 8192³ 5 % more and float32 1 % more (H200).
      constexpr bool kCopiesFirst = Config::kSlices == 1 && (W::kLanes > 1 || std::is_floating_point_v<Word>);
      if constexpr (kCopiesFirst) copy_next();
      compute(at_shared<const Word>(first_a + reading), at_shared<const Word>(first_b + reading), [&] {
        if constexpr (!kCopiesFirst) copy_next();
      });
      const bool ended = ends();
      visitor.after_tile(acc, depth.first + tile, tile + 1 == tiles_k);
      if (tile + kStages - 1 < tiles_k) pipe.finish(writing);
      reading = reading + kStage == kStages * kStage ? 0 : reading + kStage;
      writing = writing + kStage == kStages * kStage ? 0 : writing + kStage;
      if (ended) {
        ++tile;
        break;
      }
    }
  };
  const auto in_words = [&](const Word* a, const Word* b, auto&& copies) {
    tile_steps<Config>(a, b, [&](auto& x, auto& y) { two_steps<W>(acc, x, y, packed.one); }, copies);
  };
  const auto never = [] { return false; };
  if constexpr (kComparesAsIntegers<Arithmetic>) {
    using S = typename Arithmetic::Semiring;
    const auto if_leading = [&](const Word* a, const Word* b, auto&& copies) {
      tile_steps<Config>(a, b, [&](auto& x, auto& y) { two_steps_as_integers<S, true>(acc, x, y); }, copies);
    };
    const auto if_trailing = [&](const Word* a, const Word* b, auto&& copies) {
      tile_steps<Config>(a, b, [&](auto& x, auto& y) { two_steps_as_integers<S, false>(acc, x, y); }, copies);
    };
    if constexpr (Config::kFindsWitnesses) {
      // One loop, because with several the notes spill.
      SumSigns signs = arithmetic.signs;
      const auto by_signs = [&](const Word* a, const Word* b, auto&& copies) {
        if (signs == SumSigns::kLeading) return if_leading(a, b, copies);
        if (signs == SumSigns::kTrailing) return if_trailing(a, b, copies);
        in_words(a, b, copies);
        if (signs == SumSigns::kMixed && warp_leads<S>(acc)) signs = SumSigns::kLeading;
      };
      start();
      take_tiles(tiles_k, by_signs, never);
    } else {
      // Sums of mixed signs are compared as integers on trial: if all results lead after the first steps, it was right, as
      // a sum that doesn't lead never wins against one that does. Otherwise the block begins again. In 32 steps of random
      // signs hardly any result fails to lead. Without slices there are so many steps that it makes no difference.
      //
      // The slices of a block decide together, so that all of its threads are in the same loop: compute-sanitizer takes
      // anything else for a mistake. What the first slice's results say is enough: if they lead, they win against those of
      // other slices that don't. (The last ones may hold little more than the border of K, which never leads.)
      constexpr int kTrialTiles = ceil_div(32, BK);
      bool on_trial = Config::kSlices > 1 && arithmetic.signs == SumSigns::kMixed, again;
      do {
        again = false;
        start();
        const auto block_leads = [&]() -> bool { return __syncthreads_and(slice > 0 || warp_leads<S>(acc)); };
        const auto leads = [&]() -> bool {
          if (arithmetic.signs != SumSigns::kMixed) return false;
          return Config::kSlices == 1 ? warp_leads<S>(acc) : block_leads();
        };
        // A loop for each. In one loop, float32 1024³ takes 1 % longer (H200).
        if (arithmetic.signs == SumSigns::kUnknown || (arithmetic.signs == SumSigns::kMixed && !on_trial)) {
          take_tiles(tiles_k, in_words, leads);
        }
        if (arithmetic.signs == SumSigns::kTrailing) {
          take_tiles(tiles_k, if_trailing, never);
        } else {
          // The trial and the rest go through the same loop, which is long.
          int end = on_trial ? min(kTrialTiles, tiles_k) : tiles_k;
          while (true) {
            take_tiles(end, if_leading, never);
            if (!on_trial) break;
            on_trial = false;
            again = !block_leads();
            if (again) {
              pipe.wait_for_all();
              pipe.rewind(min(tile + kStages - 1, tiles_k));
              break;
            }
            end = tiles_k;
          }
        }
      } while (again);
    }
  } else {
    start();
    take_tiles(tiles_k, in_words, never);
  }

  // Found again, for the registers of the main loop too.
  if constexpr (Tile::kIsPart) {
    slice = Tile::thread() / Config::kSliceThreads;
    thread = Tile::thread() % Config::kSliceThreads;
    warp = thread / 32;
    lane = thread % 32;
    thread_m = warp / Config::kWarpsN * Config::kLanesM + lane / Config::kLanesN;
    thread_n = warp % Config::kWarpsN * Config::kLanesN + lane % Config::kLanesN;
  }
  // The place once more: registers that hold it until here are missing in the main loop (H200: 8192³ in int32 takes 1.6 %
  // longer then). Slices have no use for that.
  unsigned tile_number = own_tile.number();
  asm volatile("" : "+r"(tile_number));
  // 32 bits are enough: packed operands of more tiles fit no GPU. Words decide, because the registers of the main loop
  // change with this: int32 8192³ takes 0.3 % less time (H200).
  using Number = std::conditional_t<std::is_integral_v<Word> || kComparesAsIntegers<Arithmetic>, unsigned, int64_t>;
  const TilePlace target = Config::kSlices > 1 && !Tile::kIsPart
                               ? place
                               : locate_tile<Number>(tile_number, packed.padded_m / BM, packed.padded_n / BN);
  const Epilogue<Arithmetic> epilogue(problem, arithmetic, own_tile.instance());
  constexpr int kColumns = kChunk * W::kLanes;
  /// Where the chunk in row i and from column j on of the thread's results is.
  const auto row_of = [&](int i) {
    return int64_t{target.m} * BM + (i / kChunk * Config::kThreadsM + thread_m) * kChunk + i % kChunk;
  };
  const auto col_of = [&](int j) {
    return (int64_t{target.n} * BN + j * Config::kThreadsN + thread_n * kChunk) * W::kLanes;
  };
  const auto sums_of = [&](const Word* words, typename Arithmetic::Accumulator(&sums)[kColumns]) {
#pragma unroll
    for (int v = 0; v < kColumns; ++v) sums[v] = W::lane_of(words[v / W::kLanes], v % W::kLanes);
  };
  if constexpr (Config::kSlices > 1) {
    // Each slice puts its results down, and then combines its share of all. An element's word is at
    // [slice][element][thread]. Whole chunks would want neighbouring registers, and then the main loop spills.
    constexpr int kShare = TM * TN / kChunk / Config::kSlices;
    const auto word_at = [&](int of_slice, int element) {
      return shared + (of_slice * TM * TN + element) * Config::kSliceThreads + thread;
    };
    __syncthreads();
#pragma unroll
    for (int element = 0; element < TM * TN; ++element) *word_at(slice, element) = acc[element / TN][element % TN];
    __syncthreads();
    const auto combine_chunk = [&](int chunk, Word(&words)[kChunk]) {
#pragma unroll
      for (int v = 0; v < kChunk; ++v) {
        words[v] = *word_at(0, chunk * kChunk + v);
#pragma unroll
        for (int other = 1; other < Config::kSlices; ++other) {
          words[v] = W::combine(words[v], *word_at(other, chunk * kChunk + v));
        }
      }
    };
    [[maybe_unused]] Word combined[kShare][kChunk];
    if constexpr (Tile::kIsPart) {
#pragma unroll
      for (int share = 0; share < kShare; ++share) combine_chunk(slice * kShare + share, combined[share]);
      if (!own_tile.template combine<W, Config::kThreads>(combined)) return;
    }
#pragma unroll
    for (int share = 0; share < kShare; ++share) {
      const int chunk = slice * kShare + share, i = chunk * kChunk / TN, j = chunk * kChunk % TN;
      Word words[kChunk];
      if constexpr (Tile::kIsPart) {
#pragma unroll
        for (int v = 0; v < kChunk; ++v) words[v] = combined[share][v];
      } else {
        combine_chunk(chunk, words);
      }
      typename Arithmetic::Accumulator sums[kColumns];
      sums_of(words, sums);
      if (row_of(i) < problem.m) epilogue.store(row_of(i), col_of(j), sums);
    }
  } else {
    static_assert(!Tile::kIsPart, "parts are those of slices");
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      if (row_of(i) >= problem.m) continue;
#pragma unroll
      for (int j = 0; j < TN; j += kChunk) {
        typename Arithmetic::Accumulator sums[kColumns];
        sums_of(&acc[i][j], sums);
        if constexpr (Visitor::kFinds) {
          int32_t found[kColumns];
#pragma unroll
          for (int v = 0; v < kColumns; ++v) found[v] = visitor.found(i * TN + j + v, sums[v]);
          epilogue.store(row_of(i), col_of(j), sums, found);
        } else {
          epilogue.store(row_of(i), col_of(j), sums);
        }
      }
    }
  }
}

template <class Config, class Arithmetic>
__global__ void __launch_bounds__(Config::kThreads,
                                  Config::template blocks_per_multiprocessor<typename Words<Arithmetic>::Word>())
    pipelined_kernel(DeviceProblem problem, PackedProblem<typename Words<Arithmetic>::Word> packed,
                     Arithmetic arithmetic) {
  compute_tile<Config>(problem, packed, arithmetic, WholeTile());
}

/// A share of the divided tiles.
template <class Config, class Arithmetic>
__global__ void __launch_bounds__(Config::kThreads,
                                  Config::template blocks_per_multiprocessor<typename Words<Arithmetic>::Word>())
    divided_kernel(DeviceProblem problem, PackedProblem<typename Words<Arithmetic>::Word> packed, Arithmetic arithmetic,
                   Division division, PartMemory memory) {
  __shared__ unsigned step;
  const TilePart part(division, memory, &step);
  unsigned next = division.begin(TilePart::share());
  do {
    if (threadIdx.x == 0) step = next;
    __syncthreads();
    compute_tile<Config>(problem, packed, arithmetic, part);
    next = part.next();
    __syncthreads();
  } while (next < part.end());
}

}  // namespace mpmml::cuda
