// Kernels of products over semirings of one's own, with holes in place of ⊕ and ⊗ (holes.cuh). The build compiles this to PTX;
// the driver makes machine code of it when the holes are filled.
//
// A block computes a tile of BM × BN results; each thread TM × TN of it. Operands stream through shared memory in several stages
// of asynchronous copies. Steps are taken in ascending order and no other is ever added, so results have the bits that
// the definition gives (core/user/product.h).
//
// If there are several slices, so many groups of threads compute the same tile, each over neighbouring steps, and combine at the
// end. The host takes such a kernel only if ⊕ is known to be associative.
//
// What a thread keeps of its results says how they are computed: State::compute().
#include "cuda/user/templates/holes.cuh"
#include "cuda/user/templates/launch.h"
#include "cuda/user/templates/table.h"

namespace mpmml::cuda {

enum class Loads {
  kChunks,   ///< 16 bytes of neighbouring lines
  kElements  ///< one by one, with any strides
};

/// Whether a product may have a structure. If it may, steps that only some results of a tile take go through a loop that looks at each.
enum class Steps { kAll, kStructured };

/// `kUnroll`: steps that are written out one after the other; 0: none are, and all go through the loop that looks at each.
template <int L_, int BM_, int BN_, int BK_, int TM_, int TN_, int kSlices_, int kStages_, int kUnroll_, Loads kLoads_,
          Steps kSteps_>
struct Tile {
  static constexpr int L = L_, BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_;
  static constexpr int kSlices = kSlices_, kStages = kStages_, kUnroll = kUnroll_;
  static constexpr Loads kLoads = kLoads_;
  static constexpr bool kIsStructured = kSteps_ == Steps::kStructured;
  static constexpr int kThreadsM = BM / TM, kThreadsN = BN / TN;
  static constexpr int kSliceThreads = kThreadsM * kThreadsN, kThreads = kSliceThreads * kSlices;
  /// Neighbouring elements of a thread. Those of the next piece are a whole row of threads further.
  static constexpr int kPieceM = TM < 4 ? TM : 4, kPieceN = TN < 4 ? TN : 4;
  static constexpr int kStageWords = L * BK * (BM + BN);
  // The lanes of a warp cover 8 × 4 threads, so that they read few banks of shared memory twice.
  static constexpr int kLanesM = kThreadsM < 8 ? kThreadsM : 8, kLanesN = 32 / kLanesM;
  static constexpr int kWarpsN = kThreadsN / kLanesN;
  static_assert(kThreadsM % kLanesM == 0 && kThreadsN % kLanesN == 0, "warps tile the block");
  static_assert(kSlices == 1 || L == 1, "slices of one lane combine");
  static_assert(kSlices * kStages * kStageWords * 4 <= 48 << 10, "shared memory that needs no permission");
};

/// Blocks per multiprocessor that registers are divided among: each thread has 128, or 168 if a block has fewer. Small tiles
/// have as many as they like.
template <class T>
constexpr int blocks_per_multiprocessor() {
  if (T::kThreads == 256) return 2;
  return T::kLoads == Loads::kChunks ? 3 : 1;
}

__device__ __forceinline__ void copy_chunk(Word* to, const Word* from, bool is_there) {
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(is_there ? 16 : 0));
#else
  *reinterpret_cast<uint4*>(to) = is_there ? *reinterpret_cast<const uint4*>(from) : make_uint4(0, 0, 0, 0);
#endif
}
__device__ __forceinline__ void copy_element(Word* to, const Word* from, bool is_there) {
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address), "l"(from), "r"(is_there ? 4 : 0));
#else
  *to = is_there ? *from : 0;
#endif
}
__device__ __forceinline__ void end_stage() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;");
#endif
}
template <int kLeft>
__device__ __forceinline__ void await_stage() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
#endif
}

/// Where a block's tile is. Blocks that run at the same time share few rows of tiles, which stay in the cache.
struct Place {
  int64_t instance;
  int row, col;

  template <class T>
  static __device__ __forceinline__ Place of_block(const UserLaunch& launch) {
    constexpr unsigned kTogether = 8;
    const unsigned tiles_m = launch.tiles_m, tiles_n = launch.tiles_n;
    const int64_t tiles = int64_t{launch.tiles_m} * launch.tiles_n, block = launch.first_block + blockIdx.x;
    const int64_t instance = block / tiles;
    const auto tile = static_cast<unsigned>(block - instance * tiles);
    const unsigned group = tile / (kTogether * tiles_n), first = group * kTogether;
    const unsigned rows = min(tiles_m - first, kTogether), in_group = tile - first * tiles_n;
    return {instance, int(first + in_group % rows) * T::BM, int(in_group / rows) * T::BN};
  }
};

/// Copies the stages of one operand: `B` lines of tiles from `first_line` on. In place of lines that aren't there it copies the first:
/// they reach no result.
template <class T, int B>
class Copies {
 public:
  __device__ __forceinline__ Copies(const UserOperand& operand, int64_t instance, int first_line, int lines,
                                    int first_k, int thread)
      : operand_(operand), depth_(thread / kAlong), place_(depth_ * B + thread % kAlong * kWidth) {
    const int line = first_line + thread % kAlong * kWidth;
#pragma unroll
    for (int l = 0; l < T::L; ++l) {
      from_[l] = operand.data[l] + instance * operand.batch_stride[l] + (first_k + depth_) * operand.pitch[l] +
                 (line < lines ? line : 0) * operand.line_stride[l];
    }
  }

  /// Copies the next stage, of which `left` steps exist.
  __device__ __forceinline__ void start(Word* stage, int left) {
    if (left >= T::BK) {
      copy<false>(stage, left);
    } else {
      copy<true>(stage, left);
    }
#pragma unroll
    for (int l = 0; l < T::L; ++l) from_[l] += T::BK * operand_.pitch[l];
  }

 private:
  static constexpr int kWidth = T::kLoads == Loads::kChunks ? 4 : 1;
  /// Threads along a row of the stage, and rows that all threads copy at once.
  static constexpr int kAlong = B / kWidth;
  static_assert(T::kSliceThreads % kAlong == 0, "a thread copies one place of a row");
  static constexpr int kRows = T::kSliceThreads / kAlong;
  static constexpr int kShares = (T::BK + kRows - 1) / kRows;

  template <bool kIsLast>
  __device__ __forceinline__ void copy(Word* stage, int left) {
#pragma unroll
    for (int l = 0; l < T::L; ++l) {
#pragma unroll
      for (int share = 0; share < kShares; ++share) {
        if (T::BK % kRows != 0 && depth_ + share * kRows >= T::BK) break;
        Word* const to = stage + l * T::BK * B + share * kRows * B + place_;
        const Word* const from = from_[l] + share * kRows * operand_.pitch[l];
        const bool is_there = !kIsLast || depth_ + share * kRows < left;
        const Word* const source = is_there ? from : operand_.data[l];
        if constexpr (T::kLoads == Loads::kChunks) {
          copy_chunk(to, source, is_there);
        } else {
          copy_element(to, source, is_there);
        }
      }
    }
  }

  const UserOperand& operand_;
  const int depth_, place_;
  const Word* from_[T::L];
};

/// The steps that results of rows and columns can take, and those that all of them do.
struct TileSteps {
  int first, end, first_of_all, end_of_all;

  template <class T>
  static __device__ __forceinline__ TileSteps of_tile(const UserLaunch& launch, const Place& place) {
    if constexpr (!T::kIsStructured) return {0, launch.k, 0, launch.k};
    const int row_end = min(place.row + T::BM, launch.m), col_end = min(place.col + T::BN, launch.n);
    const Span rows{place.row, row_end}, cols{place.col, col_end};
    const Span some = launch.structure.steps(rows, cols, launch.k), all = launch.structure.steps_of_all(rows, cols);
    TileSteps steps;
    steps.first = int(min(some.first, int64_t{launch.k}));
    steps.end = int(max(int64_t{0}, some.end));
    steps.first_of_all = int(max(int64_t{0}, min(all.first, int64_t{launch.k})));
    steps.end_of_all = int(max(int64_t{0}, min(all.end, int64_t{launch.k})));
    return steps;
  }
};

template <int kPieces, int kPiece, int kPitch>
__device__ __forceinline__ void load_fragment(Word* fragment, const Word* from) {
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const Word* const at = from + piece * kPitch;
    Word* const to = fragment + piece * kPiece;
    if constexpr (kPiece == 4) {
      const uint4 all = *reinterpret_cast<const uint4*>(at);
      to[0] = all.x, to[1] = all.y, to[2] = all.z, to[3] = all.w;
    } else if constexpr (kPiece == 2) {
      const uint2 all = *reinterpret_cast<const uint2*>(at);
      to[0] = all.x, to[1] = all.y;
    } else {
      to[0] = *at;
    }
  }
}

/// What a thread needs for a step.
template <class T>
struct Operands {
  Word a[T::L][T::TM], b[T::L][T::TN];

  __device__ __forceinline__ Operands(const Word* at_a, const Word* at_b, int k) {
#pragma unroll
    for (int l = 0; l < T::L; ++l) {
      load_fragment<T::TM / T::kPieceM, T::kPieceM, T::kThreadsM * T::kPieceM>(a[l], at_a + (l * T::BK + k) * T::BM);
      load_fragment<T::TN / T::kPieceN, T::kPieceN, T::kThreadsN * T::kPieceN>(b[l], at_b + (l * T::BK + k) * T::BN);
    }
  }

  __device__ __forceinline__ void element_of_a(Word (&x)[T::L], int i) const {
#pragma unroll
    for (int l = 0; l < T::L; ++l) x[l] = a[l][i];
  }
  __device__ __forceinline__ void element_of_b(Word (&y)[T::L], int j) const {
#pragma unroll
    for (int l = 0; l < T::L; ++l) y[l] = b[l][j];
  }

  template <class State, class Has>
  __device__ __forceinline__ void take(State& state, int k, Has&& has) const {
#pragma unroll
    for (int i = 0; i < T::TM; ++i) {
#pragma unroll
      for (int j = 0; j < T::TN; ++j) {
        Word x[T::L], y[T::L];
        element_of_a(x, i), element_of_b(y, j);
        state.step(i, j, x, y, k, has(i, j));
      }
    }
  }
};

template <int L>
__device__ __forceinline__ void load_result(Word (&to)[L], const UserResult& from, int64_t instance, int row, int col) {
#pragma unroll
  for (int l = 0; l < L; ++l) {
    to[l] = from.data[l][instance * from.batch_stride[l] + row * from.row_stride[l] + col * from.col_stride[l]];
  }
}

/// Where result i or j of a thread is.
template <class T>
__device__ __forceinline__ int row_in_tile(int i, int thread_m) {
  return (i / T::kPieceM * T::kThreadsM + thread_m) * T::kPieceM + i % T::kPieceM;
}
template <class T>
__device__ __forceinline__ int col_in_tile(int j, int thread_n) {
  return (j / T::kPieceN * T::kThreadsN + thread_n) * T::kPieceN + j % T::kPieceN;
}

/// Whether a place of a tile is a result.
template <class T>
__device__ __forceinline__ bool is_result(const UserLaunch& launch, int row, int col) {
  return row < launch.m && col < launch.n && (!T::kIsStructured || launch.structure.c.has(row, col));
}

/// A tile whose operands stream through shared memory: `State` is what a thread keeps of its results.
template <class T, class State>
__device__ __forceinline__ void compute_tile(const UserLaunch& launch) {
  constexpr int L = T::L, TM = T::TM, TN = T::TN, BM = T::BM, BN = T::BN, BK = T::BK;
  __shared__ __align__(16) Word shared[T::kSlices * T::kStages * T::kStageWords];
  const int slice = T::kSlices == 1 ? 0 : threadIdx.x / T::kSliceThreads;
  const int thread = T::kSlices == 1 ? threadIdx.x : threadIdx.x % T::kSliceThreads;
  const int warp = thread / 32, lane = thread % 32;
  const int thread_m = warp / T::kWarpsN * T::kLanesM + lane / T::kLanesN;
  const int thread_n = warp % T::kWarpsN * T::kLanesN + lane % T::kLanesN;

  const Place place = Place::of_block<T>(launch);
  if constexpr (T::kIsStructured) {
    const Span rows{place.row, min(place.row + BM, launch.m)}, cols{place.col, min(place.col + BN, launch.n)};
    if (!launch.structure.c.has_some(rows, cols)) return;
  }
  const TileSteps steps = TileSteps::of_tile<T>(launch, place);
  const auto row_of = [&](int i) { return place.row + row_in_tile<T>(i, thread_m); };
  const auto col_of = [&](int j) { return place.col + col_in_tile<T>(j, thread_n); };

  int first = steps.first / BK, chunks = steps.end > steps.first ? (steps.end + BK - 1) / BK - first : 0;
  // Slices take as many turns, so that they can wait for each other.
  int turns = chunks;
  if constexpr (T::kSlices > 1) {
    turns = (chunks + T::kSlices - 1) / T::kSlices;
    first += slice * turns;
    chunks = max(0, min(turns, chunks - slice * turns));
  }

  State state(launch, place, row_of, col_of);
  [[maybe_unused]] Word indexed[State::kTakesChunks ? TM * TN : 1][L];
  if constexpr (State::kTakesChunks) state.copy_to(indexed);
  Word* const stages = shared + slice * T::kStages * T::kStageWords;
  Copies<T, BM> copies_a(launch.a, place.instance, place.row, launch.m, first * BK, thread);
  Copies<T, BN> copies_b(launch.b, place.instance, place.col, launch.n, first * BK, thread);
  constexpr int kStages = T::kStages;
  int started = 0, writing = 0, left = launch.k - first * BK;
  const auto copy_next = [&] {
    if (started < chunks) {
      Word* const stage = stages + writing * T::kStageWords;
      copies_a.start(stage, left);
      copies_b.start(stage + L * BK * BM, left);
    }
    ++started;
    left -= BK;
    writing = writing == kStages - 1 ? 0 : writing + 1;
    end_stage();
  };
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) copy_next();
  for (int chunk = 0, reading = 0; chunk < turns; ++chunk, reading = reading == kStages - 1 ? 0 : reading + 1) {
    await_stage<kStages - 2>();
    __syncthreads();
    copy_next();
    if (T::kSlices > 1 && chunk >= chunks) continue;
    const Word* const stage = stages + reading * T::kStageWords;
    const Word* const at_a = stage + thread_m * T::kPieceM;
    const Word* const at_b = stage + L * BK * BM + thread_n * T::kPieceN;
    const int first_k = (first + chunk) * BK;
    const int end = min(steps.end - first_k, BK);
    if constexpr (State::kTakesChunks) {
      state.take(at_a, at_b, end, indexed);
      continue;
    }
    int k = T::kIsStructured ? max(steps.first - first_k, 0) : 0;
    if constexpr (T::kUnroll > 0) {
      if (!T::kIsStructured || (first_k + k >= steps.first_of_all && first_k + end <= steps.end_of_all)) {
#pragma unroll 1
        for (; k + T::kUnroll <= end; k += T::kUnroll) {
#pragma unroll
          for (int u = 0; u < T::kUnroll; ++u) {
            Operands<T>(at_a, at_b, k + u).take(state, first_k + k + u, [](int, int) { return true; });
          }
        }
      }
    }
#pragma unroll 1
    for (; k < end; ++k) {
      const Operands<T> operands(at_a, at_b, k);
      if constexpr (T::kIsStructured) {
        const Band in_a = launch.structure.a, in_b = launch.structure.b;
        bool has_a[TM], has_b[TN];
#pragma unroll
        for (int i = 0; i < TM; ++i) has_a[i] = !launch.is_structured || in_a.has(row_of(i), first_k + k);
#pragma unroll
        for (int j = 0; j < TN; ++j) has_b[j] = !launch.is_structured || in_b.has(first_k + k, col_of(j));
        operands.take(state, first_k + k, [&](int i, int j) { return has_a[i] && has_b[j]; });
      } else {
        operands.take(state, first_k + k, [](int, int) { return true; });
      }
    }
  }
  state.store(launch, place, shared, slice, thread_m, thread_n);
}

/// The results of a product.
template <class T>
struct Sums {
  static constexpr int L = T::L;
  static constexpr bool kTakesChunks = false;
  Word acc[T::TM][T::TN][L];

  static __device__ __forceinline__ void compute(const UserLaunch& launch) { compute_tile<T, Sums>(launch); }

  template <class RowOf, class ColOf>
  __device__ __forceinline__ Sums(const UserLaunch& launch, const Place&, RowOf&&, ColOf&&) {
#pragma unroll
    for (int i = 0; i < T::TM; ++i) {
#pragma unroll
      for (int j = 0; j < T::TN; ++j) {
#pragma unroll
        for (int l = 0; l < L; ++l) acc[i][j][l] = launch.zero[l];
      }
    }
  }

  __device__ __forceinline__ void step(int i, int j, const Word (&x)[L], const Word (&y)[L], int, bool has) {
    Word next[L];
    Placeholders<L>::step(next, acc[i][j], x, y);
#pragma unroll
    for (int l = 0; l < L; ++l) acc[i][j][l] = has ? next[l] : acc[i][j][l];
  }

  /// Stores the sum, or C0 ⊕ the sum.
  static __device__ __forceinline__ void finish(const UserLaunch& launch, int64_t instance, int row, int col,
                                                const Word (&sum)[L]) {
    Word all[L], result[L];
#pragma unroll
    for (int l = 0; l < L; ++l) all[l] = sum[l];
    if (launch.c0.data[0]) {
      Word before[L];
      load_result<L>(before, launch.c0, instance, row, col);
      Placeholders<L>::plus(all, before, sum);
    }
    Placeholders<L>::settle(result, all);
#pragma unroll
    for (int l = 0; l < L; ++l) {
      const UserResult& c = launch.c;
      c.data[l][instance * c.batch_stride[l] + row * c.row_stride[l] + col * c.col_stride[l]] = result[l];
    }
  }

  /// Through shared memory, a row of each thread's results at a time: [slice][lane][thread row][column]. So each place of C is stored
  /// by code that is there once for a row, by neighbouring threads, and slices combine.
  __device__ __forceinline__ void store(const UserLaunch& launch, const Place& place, Word* shared, int slice,
                                        int thread_m, int thread_n) {
    constexpr int kRows = T::kThreadsM, kPlaces = kRows * T::BN;
    static_assert(T::kSlices * L * kPlaces <= T::kSlices * T::kStages * T::kStageWords, "stages are reused");
#pragma unroll
    for (int i = 0; i < T::TM; ++i) {
      __syncthreads();
#pragma unroll
      for (int j = 0; j < T::TN; ++j) {
        const int col = col_in_tile<T>(j, thread_n);
#pragma unroll
        for (int l = 0; l < L; ++l) shared[(slice * L + l) * kPlaces + thread_m * T::BN + col] = acc[i][j][l];
      }
      __syncthreads();
#pragma unroll 1
      for (int at = threadIdx.x; at < kPlaces; at += T::kThreads) {
        const int row = place.row + row_in_tile<T>(i, at / T::BN), col = place.col + at % T::BN;
        if (!is_result<T>(launch, row, col)) continue;
        Word all[L];
#pragma unroll
        for (int l = 0; l < L; ++l) all[l] = shared[l * kPlaces + at];
#pragma unroll
        for (int other = 1; other < T::kSlices; ++other) {
          Word until[L], next[L];
#pragma unroll
          for (int l = 0; l < L; ++l) until[l] = all[l], next[l] = shared[(other * L + l) * kPlaces + at];
          Placeholders<L>::plus(all, until, next);
        }
        finish(launch, place.instance, row, col, all);
      }
    }
  }
};

/// Results of few steps: a thread computes one after the other, from the operands as they are. Its code is there once, and so it is
/// compiled soon.
template <class T>
struct ScalarTile {
  static constexpr int L = T::L;

  static __device__ __forceinline__ void compute(const UserLaunch& launch) {
    const Place place = Place::of_block<T>(launch);
    const int col = place.col + threadIdx.x % T::BN;
    const auto read = [&](Word(&to)[L], const UserOperand& operand, int line, int k) {
#pragma unroll
      for (int l = 0; l < L; ++l) {
        to[l] = operand.data[l][place.instance * operand.batch_stride[l] + line * operand.line_stride[l] +
                                k * operand.pitch[l]];
      }
    };
#pragma unroll 1
    for (int at = threadIdx.x / T::BN; at < T::BM; at += T::kThreadsM) {
      const int row = place.row + at;
      if (!is_result<T>(launch, row, col)) continue;
      Word sum[L];
#pragma unroll
      for (int l = 0; l < L; ++l) sum[l] = launch.zero[l];
#pragma unroll 1
      for (int k = 0; k < launch.k; ++k) {
        if (!launch.structure.a.has(row, k) || !launch.structure.b.has(k, col)) continue;
        Word x[L], y[L], before[L];
        read(x, launch.a, row, k), read(y, launch.b, col, k);
#pragma unroll
        for (int l = 0; l < L; ++l) before[l] = sum[l];
        Placeholders<L>::step(sum, before, x, y);
      }
      Sums<T>::finish(launch, place.instance, row, col, sum);
    }
  }
};

/// The results of a product of a semiring that says when a step changes nothing (core/user/skip.h).
///
/// In each chunk a thread first marks the steps that may change a result as it was before the chunk; then it takes these, one after
/// the other, in ascending order for each result. The threads of a warp take different ones at the same time, so that few turns
/// are enough even if there is hardly a k at which no result of the warp changes. For that a thread has its results twice: what the
/// conditions need in registers, and all in an array of its own.
template <class T>
struct SkippingTile : Sums<T> {
  static constexpr int L = T::L, TM = T::TM, TN = T::TN, BM = T::BM, BN = T::BN, BK = T::BK;
  static constexpr bool kTakesChunks = true;
  static constexpr int kResults = TM * TN, kStepsOfWord = 32 / kResults, kWords = BK / kStepsOfWord;
  static_assert(kStepsOfWord == 2 && BK % 2 == 0, "marks fill words");
  static_assert(TM == T::kPieceM && TN == T::kPieceN && T::kSlices == 1 && !T::kIsStructured, "one piece, all steps");
  using Sums<T>::Sums, Sums<T>::acc;
  using Results = Word[kResults][L];

  static __device__ __forceinline__ void compute(const UserLaunch& launch) { compute_tile<T, SkippingTile>(launch); }

  __device__ __forceinline__ void copy_to(Results& results) const {
#pragma unroll
    for (int place = 0; place < kResults; ++place) {
#pragma unroll
      for (int l = 0; l < L; ++l) results[place][l] = acc[place / TN][place % TN][l];
    }
  }
  __device__ __forceinline__ void copy_from(const Results& results) {
#pragma unroll
    for (int place = 0; place < kResults; ++place) {
#pragma unroll
      for (int l = 0; l < L; ++l) acc[place / TN][place % TN][l] = results[place][l];
    }
  }

  /// The steps before `end` of a chunk.
  __device__ __forceinline__ void take(const Word* at_a, const Word* at_b, int end, Results& results) {
    Word marks[kWords];
    mark(at_a, at_b, end, marks);
    bool any = false;
    for (;;) {
      Word left = 0;
      int word = 0;
#pragma unroll
      for (int w = kWords; w-- > 0;) {
        if (marks[w] != 0) left = marks[w], word = w;
      }
      if (left == 0) break;
      any = true;
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        if (w == word) marks[w] &= left - 1;
      }
      const int bit = __ffs(int(left)) - 1, place = bit % kResults, k = word * kStepsOfWord + bit / kResults;
      Word x[L], y[L], z[L], next[L];
#pragma unroll
      for (int l = 0; l < L; ++l) {
        x[l] = at_a[(l * BK + k) * BM + place / TN];
        y[l] = at_b[(l * BK + k) * BN + place % TN];
        z[l] = results[place][l];
      }
      Placeholders<L>::step(next, z, x, y);
#pragma unroll
      for (int l = 0; l < L; ++l) results[place][l] = next[l];
    }
    if (any) copy_from(results);
  }

 private:
  /// A bit for each step and each result, in the order of steps.
  __device__ __forceinline__ void mark(const Word* at_a, const Word* at_b, int end, Word (&marks)[kWords]) const {
    Word always = 0;
#pragma unroll
    for (int place = 0; place < kResults; ++place) {
      always = Placeholders<L>::mark_always(always, 1u << place, acc[place / TN][place % TN]);
    }
    always |= always << kResults;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      marks[w] = 0;
#pragma unroll
      for (int k = w * kStepsOfWord; k < (w + 1) * kStepsOfWord; ++k) {
        const Operands<T> operands(at_a, at_b, k);
#pragma unroll
        for (int place = 0; place < kResults; ++place) {
          Word x[L], y[L];
          operands.element_of_a(x, place / TN), operands.element_of_b(y, place % TN);
          const Word bit = 1u << (k % kStepsOfWord * kResults + place);
          marks[w] = Placeholders<L>::mark(marks[w], bit, acc[place / TN][place % TN], x, y);
        }
      }
      marks[w] |= always;
    }
    if (end == BK) return;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const int steps = end - w * kStepsOfWord;
      if (steps < kStepsOfWord) marks[w] &= steps <= 0 ? 0 : (1u << steps * kResults) - 1;
    }
  }
};

/// The smallest k whose candidate is the result, for results that are there.
template <class T>
struct Witnesses {
  static constexpr int L = T::L;
  static constexpr bool kTakesChunks = false;
  Word result[T::TM][T::TN][L];
  int32_t found[T::TM][T::TN];

  static __device__ __forceinline__ void compute(const UserLaunch& launch) { compute_tile<T, Witnesses>(launch); }

  template <class RowOf, class ColOf>
  __device__ __forceinline__ Witnesses(const UserLaunch& launch, const Place& place, RowOf&& row_of, ColOf&& col_of) {
#pragma unroll
    for (int i = 0; i < T::TM; ++i) {
#pragma unroll
      for (int j = 0; j < T::TN; ++j) {
        found[i][j] = -1;
#pragma unroll
        for (int l = 0; l < L; ++l) result[i][j][l] = launch.zero[l];
        if (is_result<T>(launch, row_of(i), col_of(j))) {
          load_result<L>(result[i][j], launch.c, place.instance, row_of(i), col_of(j));
        }
      }
    }
  }

  __device__ __forceinline__ void step(int i, int j, const Word (&x)[L], const Word (&y)[L], int k, bool has) {
    Word candidate[L];
    Placeholders<L>::candidate(candidate, x, y);
    bool hits = has && found[i][j] < 0;
#pragma unroll
    for (int l = 0; l < L; ++l) hits = hits && candidate[l] == result[i][j][l];
    if (hits) found[i][j] = k;
  }

  __device__ __forceinline__ void store(const UserLaunch& launch, const Place& place, Word*, int, int thread_m,
                                        int thread_n) {
#pragma unroll
    for (int i = 0; i < T::TM; ++i) {
#pragma unroll
      for (int j = 0; j < T::TN; ++j) {
        const int row = place.row + row_in_tile<T>(i, thread_m), col = place.col + col_in_tile<T>(j, thread_n);
        if (!is_result<T>(launch, row, col)) continue;
        bool is_zero = true;
#pragma unroll
        for (int l = 0; l < L; ++l) is_zero = is_zero && result[i][j][l] == launch.zero[l];
        launch.witness[place.instance * launch.witness_batch_stride + row * launch.witness_row_stride +
                       col * launch.witness_col_stride] = is_zero ? -1 : found[i][j];
      }
    }
  }
};

}  // namespace mpmml::cuda

// Where a kernel may take the address of what it is called with, that isn't copied.
#if __CUDA_ARCH__ >= 700
#define MPMML_IN_PLACE __grid_constant__
#else
#define MPMML_IN_PLACE
#endif

#define MPMML_KERNEL(name, State, ...)                                          \
  extern "C" __global__ void __launch_bounds__(                                 \
      mpmml::cuda::Tile<__VA_ARGS__>::kThreads,                                 \
      mpmml::cuda::blocks_per_multiprocessor<mpmml::cuda::Tile<__VA_ARGS__>>()) \
      name(const MPMML_IN_PLACE mpmml::cuda::UserLaunch launch) {               \
    using TileOf = mpmml::cuda::Tile<__VA_ARGS__>;                              \
    mpmml::cuda::State<TileOf>::compute(launch);                                \
  }
#define MPMML_KERNELS_OF_TEMPLATE(name, lanes, bm, bn, bk, tm, tn, slices, stages, unroll, loads, steps, finds) \
  MPMML_KERNEL(name, finds, lanes, bm, bn, bk, tm, tn, slices, stages, unroll, mpmml::cuda::Loads::loads,       \
               mpmml::cuda::Steps::steps)

MPMML_FOR_EACH_USER_TEMPLATE(MPMML_KERNELS_OF_TEMPLATE)
