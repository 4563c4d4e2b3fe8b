// The pipelined family: packed operands stream through shared memory in several stages of asynchronous copies while a
// mixed stream of instructions (words.cuh) computes.
//
// A block computes a tile of C of BM rows × BN words (a word is one column, or two in 16-bit lanes). Each thread
// computes TM × TN of it in chunks of 16 bytes, which one load from shared memory brings: 4 rows or words of 32 bits, 2
// of 64 (block-cyclic). If `slices` > 1, that many groups of threads compute the same tile, each over an equal part of
// K, and combine at the end. That fills the GPU if there are few tiles, without a second kernel. If tiles don't come to
// whole waves, the last ones can be divided among blocks too: see division.h.
//
// compute_tile() joins the parts of a kernel: the pipeline of copies (stage_pipe.cuh), the main loop (main_loop.cuh), its visitor
// (visitors.cuh) and the stores of results (tile_store.cuh).
#pragma once
#include "cuda/kernels/divided.cuh"
#include "cuda/kernels/main_loop.cuh"
#include "cuda/kernels/packed.cuh"
#include "cuda/kernels/stage_pipe.cuh"
#include "cuda/kernels/tile_store.cuh"
#include "cuda/kernels/visitors.cuh"

namespace mpmml::cuda {

template <class Config, class Arithmetic>
__global__ void pipelined_kernel(DeviceProblem problem, PackedProblem<typename Words<Arithmetic>::Word> packed,
                                 Arithmetic arithmetic);

template <class Config, class Arithmetic>
__global__ void divided_kernel(DeviceProblem problem, PackedProblem<typename Words<Arithmetic>::Word> packed,
                               Arithmetic arithmetic, StreamKSchedule division, PartialTiles memory);

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
  static constexpr int min_chunk_shift = steps_per_operand<Arithmetic> > 1 ? 0 : 1;

  template <class Arithmetic>
  static constexpr auto entry() {
    return &pipelined_kernel<FindsWitnesses, Arithmetic>;
  }
};

/// Computes a block's tile of C, or its part of one.
template <class Config, class Arithmetic, class Tile>
__device__ __forceinline__ void compute_tile(const DeviceProblem& problem,
                                             const PackedProblem<typename Words<Arithmetic>::Word>& packed,
                                             const Arithmetic& arithmetic, const Tile& own_tile) {
  using W = Words<Arithmetic>;
  using Word = typename W::Word;
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, kSlices = Config::kSlices;
  extern __shared__ __align__(kChunkBytes) unsigned char memory[];
  Word* shared = reinterpret_cast<Word*>(memory);

  ThreadPlace<Config> thread(own_tile);
  // The shuffle tells the compiler that a warp has one slice. float32 1024³ takes 2 % less time then, int32 2 % more (H200).
  if constexpr (kSlices > 1 && kComparesAsIntegers<Arithmetic>) thread.slice = __shfl_sync(~0u, thread.slice, 0);

  const TilePlace place = locate_tile(own_tile.number(), packed.padded_m / BM, packed.padded_n / BN);
  const int64_t instance = own_tile.instance();
  // Slices take equal parts of the tiles of K, whose number is a multiple of all slices.
  bool has_results;
  DepthTiles depth = depth_of_tile(problem, span_of_tile(place.m, BM), span_of_tile(place.n, BN * W::kLanes),
                                   BK * kSlices * steps_per_operand<Arithmetic>,
                                   {0, static_cast<int>(packed.padded_k / (BK * kSlices))}, has_results);
  if (!has_results) return;
  if constexpr (Tile::kIsPart) depth = own_tile.depth();
  const int64_t first_k = BK * (int64_t{kSlices} * depth.first + int64_t{thread.slice} * depth.count);
  Word* stages = shared + thread.slice * Config::kStages * Config::kStageWords;
  StagePipe<Config, Word> pipe(
      stages, packed.a + instance * packed.a_instance + first_k * packed.padded_m + int64_t{place.m} * BM,
      packed.b + instance * packed.b_instance + first_k * packed.padded_n + int64_t{place.n} * BN, packed.padded_m,
      packed.padded_n, thread.number);

  using Visitor = VisitorOf<Config, Arithmetic>;
  const Word initial = W::word_of(arithmetic.initial());
  const Visitor visitor(problem, arithmetic, shared + Config::kStages * Config::kStageWords, instance);
  visitor.start(initial);

  Word acc[Config::TM][Config::TN];
  MainLoop<Config, Arithmetic> loop(acc, pipe, visitor, arithmetic, packed.one, depth, initial, stages, thread);
  loop.run();

  // The places of the thread and of the tile are computed again: registers that hold them until here are missing in the main
  // loop (H200: 8192³ in int32 takes 1.6 % longer then). Slices of whole tiles have no use for that.
  if constexpr (Tile::kIsPart) thread = ThreadPlace<Config>(own_tile);
  unsigned tile_number = own_tile.number();
  asm volatile("" : "+r"(tile_number));
  // 32 bits suffice: packed operands of more tiles fit no GPU. The type of words decides, because it changes the registers of
  // the main loop: int32 8192³ takes 0.3 % less time (H200).
  using Number = std::conditional_t<std::is_integral_v<Word> || kComparesAsIntegers<Arithmetic>, unsigned, int64_t>;
  const TilePlace target = kSlices > 1 && !Tile::kIsPart
                               ? place
                               : locate_tile<Number>(tile_number, packed.padded_m / BM, packed.padded_n / BN);
  const TileStore<Config, Arithmetic> store(problem, arithmetic, own_tile.instance(), target, thread);
  if constexpr (kSlices > 1) {
    store.combine_slices(shared, acc, own_tile);
  } else {
    static_assert(!Tile::kIsPart, "parts are those of slices");
    store.store_all(acc, visitor);
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
                   StreamKSchedule division, PartialTiles memory) {
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
