// The pipeline of the pipelined family: asynchronous copies of tiles of packed operands into stages of shared memory.
#pragma once
#include <cstdint>

#include "cuda/kernels/packed.cuh"

namespace mpmml::cuda {

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

}  // namespace mpmml::cuda
