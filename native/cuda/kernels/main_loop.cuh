// The main loop of the pipelined family: takes the tiles of K out of the pipeline, one after the other, and computes their
// steps in registers.
#pragma once
#include <type_traits>

#include "cuda/kernels/packed.cuh"
#include "cuda/kernels/stage_pipe.cuh"
#include "cuda/kernels/visitors.cuh"

namespace mpmml::cuda {

/// A thread's place in its block.
template <class Config>
struct ThreadPlace {
  int slice;   ///< of K
  int number;  ///< of the thread in its slice
  int m, n;    ///< of the thread's first chunk in the tile, in chunks

  /// `Tile` gives the thread's number in its block.
  template <class Tile>
  __device__ __forceinline__ explicit ThreadPlace(const Tile&)
      : slice(Config::kSlices == 1 ? 0 : Tile::thread() / Config::kSliceThreads),
        number(Config::kSlices == 1 ? Tile::thread() : Tile::thread() % Config::kSliceThreads) {
    const int warp = number / 32, lane = number % 32;
    m = warp / Config::kWarpsN * Config::kLanesM + lane / Config::kLanesN;
    n = warp % Config::kWarpsN * Config::kLanesN + lane % Config::kLanesN;
  }
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

/// How the steps of a tile are computed.
enum class StepKind {
  kInWords,   ///< as the arithmetic's words say (words.cuh)
  kLeading,   ///< as integers, for sums that lead
  kTrailing,  ///< as integers, for sums that trail
  kBySigns    ///< one of the others, chosen in each tile by the signs of its sums
};

template <class Config, class Arithmetic>
class MainLoop {
 public:
  using W = Words<Arithmetic>;
  using Word = typename W::Word;
  using Pipe = StagePipe<Config, Word>;
  using Visitor = VisitorOf<Config, Arithmetic>;

  using Accumulators = Word[Config::TM][Config::TN];

  /// `stages` is the slice's part of shared memory, into which `pipe` copies the tiles of `depth`. The accumulators aren't a
  /// member, because the compiler then splits this object into registers before it unrolls loops.
  __device__ __forceinline__ MainLoop(Accumulators& acc, Pipe& pipe, const Visitor& visitor,
                                      const Arithmetic& arithmetic, const uint32_t& one, DepthTiles depth, Word initial,
                                      Word* stages, const ThreadPlace<Config>& thread)
      : acc_(acc),
        pipe_(pipe),
        visitor_(visitor),
        arithmetic_(arithmetic),
        one_(one),
        depth_(depth),
        initial_(initial),
        slice_(thread.slice),
        first_a_(shared_address<keeps_addresses<Config, Word>>(stages + thread.m * kChunk)),
        first_b_(shared_address<keeps_addresses<Config, Word>>(stages + Config::BK * Config::BM + thread.n * kChunk)) {}

  /// Computes the accumulators from all tiles of `depth`.
  __device__ __forceinline__ void run() {
    if constexpr (!kComparesAsIntegers<Arithmetic>) {
      start();
      take_tiles<StepKind::kInWords>(depth_.count);
    } else if constexpr (Config::kFindsWitnesses) {
      // One loop, because with several the notes spill.
      signs_ = arithmetic_.signs;
      start();
      take_tiles<StepKind::kBySigns>(depth_.count);
    } else {
      run_by_signs();
    }
  }

 private:
  static constexpr int kChunk = kChunkBytes / sizeof(Word);
  static constexpr int kStages = Pipe::kStages;
  static constexpr int kStage = Config::kStageWords * int{sizeof(Word)};  ///< bytes

  /// Starts the copies of the first tiles.
  __device__ __forceinline__ void start() {
#pragma unroll
    for (int i = 0; i < Config::TM; ++i) {
#pragma unroll
      for (int j = 0; j < Config::TN; ++j) acc_[i][j] = initial_;
    }
#pragma unroll
    for (int stage = 0; stage < kStages - 1; ++stage) {
      if (stage < depth_.count) {
        pipe_.start(stage * kStage);
        pipe_.finish(stage * kStage);
      }
      pipe_.commit();
    }
    tile_ = 0, reading_ = 0, writing_ = (kStages - 1) * kStage;
  }

  __device__ __forceinline__ void copy_next() {
    if (tile_ + kStages - 1 < depth_.count) pipe_.start(writing_);
    pipe_.commit();
  }

  struct Never {
    __device__ __forceinline__ bool operator()() const { return false; }
  };

  /// Computes tiles of K, until `end` or until `ends` returns, after a tile, that another kind of steps may compute the rest.
  template <StepKind kKind, class Ends = Never>
  __device__ __forceinline__ void take_tiles(int end, Ends&& ends = {}) {
    for (; tile_ < end; ++tile_) {
      pipe_.wait();
      slice_barrier<Config>(slice_);
      // The next copies start after the first steps, for the registers again: int32 8192³ takes 4 % less time than with the
      // copies first, but 16-bit 8192³ 5 % more and float32 1 % more (H200).
      constexpr bool kCopiesFirst = Config::kSlices == 1 && (W::kLanes > 1 || std::is_floating_point_v<Word>);
      if constexpr (kCopiesFirst) copy_next();
      compute<kKind>(at_shared<const Word>(first_a_ + reading_), at_shared<const Word>(first_b_ + reading_), [&] {
        if constexpr (!kCopiesFirst) copy_next();
      });
      const bool ended = ends();
      visitor_.after_tile(acc_, depth_.first + tile_, tile_ + 1 == depth_.count);
      if (tile_ + kStages - 1 < depth_.count) pipe_.finish(writing_);
      reading_ = reading_ + kStage == kStages * kStage ? 0 : reading_ + kStage;
      writing_ = writing_ + kStage == kStages * kStage ? 0 : writing_ + kStage;
      if (ended) {
        ++tile_;
        break;
      }
    }
  }

  /// The steps of a tile, with the next copies between them.
  template <StepKind kKind, class Copies>
  __device__ __forceinline__ void compute(const Word* a, const Word* b, Copies&& copies) {
    if constexpr (kKind == StepKind::kInWords) {
      tile_steps<Config>(a, b, [&](auto& x, auto& y) { two_steps<W>(acc_, x, y, one_); }, copies);
    } else if constexpr (kKind == StepKind::kBySigns) {
      if (signs_ == SumSigns::kLeading) return compute<StepKind::kLeading>(a, b, copies);
      if (signs_ == SumSigns::kTrailing) return compute<StepKind::kTrailing>(a, b, copies);
      compute<StepKind::kInWords>(a, b, copies);
      if (signs_ == SumSigns::kMixed && warp_has_sign<S>(acc_)) signs_ = SumSigns::kLeading;
    } else {
      constexpr bool kLead = kKind == StepKind::kLeading;
      tile_steps<Config>(a, b, [&](auto& x, auto& y) { two_steps_as_integers<S, kLead>(acc_, x, y); }, copies);
    }
  }

  /// Compares sums of mixed signs as integers on trial: if all results lead after the first steps, the trial is right, because
  /// a sum that doesn't lead never wins against one that does. Otherwise the block begins again. In 32 steps of random signs
  /// hardly any result fails to lead. Blocks without slices have so many steps that a trial makes no difference.
  ///
  /// The slices of a block decide together, so that all of its threads are in one loop: compute-sanitizer reports anything
  /// else. The first slice's results suffice: if they lead, they win against those of other slices that don't. (The last
  /// slices may have little more than padding along K, which never leads.)
  __device__ __forceinline__ void run_by_signs() {
    constexpr int kTrialTiles = ceil_div(32, Config::BK);
    const int tiles_k = depth_.count;
    bool on_trial = Config::kSlices > 1 && arithmetic_.signs == SumSigns::kMixed, again;
    do {
      again = false;
      start();
      // A loop for each kind. In one loop, float32 1024³ takes 1 % longer (H200).
      if (arithmetic_.signs == SumSigns::kUnknown || (arithmetic_.signs == SumSigns::kMixed && !on_trial)) {
        take_tiles<StepKind::kInWords>(tiles_k, [&] { return leads(); });
      }
      if (arithmetic_.signs == SumSigns::kTrailing) {
        take_tiles<StepKind::kTrailing>(tiles_k);
      } else {
        // The trial and the rest share a loop, whose code is long.
        int end = on_trial ? min(kTrialTiles, tiles_k) : tiles_k;
        while (true) {
          take_tiles<StepKind::kLeading>(end);
          if (!on_trial) break;
          on_trial = false;
          again = !block_leads();
          if (again) {
            pipe_.wait_for_all();
            pipe_.rewind(min(tile_ + kStages - 1, tiles_k));
            break;
          }
          end = tiles_k;
        }
      }
    } while (again);
  }

  __device__ __forceinline__ bool block_leads() { return __syncthreads_and(slice_ > 0 || warp_has_sign<S>(acc_)); }
  __device__ __forceinline__ bool leads() {
    if (arithmetic_.signs != SumSigns::kMixed) return false;
    return Config::kSlices == 1 ? warp_has_sign<S>(acc_) : block_leads();
  }

  using S = typename Arithmetic::Semiring;

  Accumulators& acc_;
  Pipe& pipe_;
  const Visitor& visitor_;
  const Arithmetic& arithmetic_;
  const uint32_t& one_;
  const DepthTiles depth_;
  const Word initial_;
  const int slice_;
  const unsigned first_a_, first_b_;  ///< the thread's part of a stage, in shared memory
  int tile_, reading_, writing_;     ///< the tile of K, and its stage and the one to copy into, in bytes from the first
  [[maybe_unused]] SumSigns signs_;  ///< of kBySigns
};

}  // namespace mpmml::cuda
