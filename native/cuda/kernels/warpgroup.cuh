// Shared by the families on Hopper's tensor cores: operand tiles for bulk copies, mbarriers with transaction counts,
// and asynchronous warpgroup matrix instructions (wgmma).
//
// PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions" (wgmma, K-major operands, swizzle of 128 bytes), "mbarrier"
// and "cp.async.bulk".
#pragma once
#include <cstdint>

namespace mpmml::cuda {

/// Bytes per line of a tile, for every element type. Tiles begin at multiples of 1024 bytes.
constexpr int kTileLineBytes = 128;

/// Returns the offset in bytes of a 16-byte chunk of a line in its tile. The 128-byte swizzle permutes chunks so that
/// the 8 lines that tensor cores read at once are in different banks.
__device__ __forceinline__ int place_in_tile(int line, int chunk) {
  return line * kTileLineBytes + ((chunk ^ (line & 7)) << 4);
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Returns the first address from `shared` on where a tile may begin.
__device__ __forceinline__ unsigned first_tile_place(unsigned shared) { return (shared + 1023) & ~1023u; }

__device__ __forceinline__ void barrier_init(unsigned barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count));
}
__device__ __forceinline__ void barrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Arrives at a barrier, and adds `bytes` to its expected transaction count.
__device__ __forceinline__ void barrier_expect(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_wait(unsigned barrier, int phase) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra passed;\n"
      "bra again;\n"
      "passed:\n"
      "}\n" ::"r"(barrier),
      "r"(phase)
      : "memory");
}
__device__ __forceinline__ void bulk_copy(unsigned target, const unsigned char* from, int bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(target),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
/// The full and empty barriers of kStages stages, 16 bytes per stage. A stage is full when its copies have completed,
/// and empty when all of its consumers have arrived.
template <int kStages>
struct StageBarriers {
  unsigned first;

  __device__ __forceinline__ unsigned full(int stage) const { return first + stage * 16; }
  __device__ __forceinline__ unsigned empty(int stage) const { return first + stage * 16 + 8; }
  /// Initializes the barriers and synchronizes the block. Each producer and each consumer arrives once per stage.
  __device__ __forceinline__ void init(int consumers, int producers = 1) const {
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < kStages; ++stage) {
        barrier_init(full(stage), producers);
        barrier_init(empty(stage), consumers);
      }
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
  }
};

/// Returns the wgmma descriptor of a K-major operand tile at `address`, or of the part of a tile that begins there.
__device__ __forceinline__ uint64_t matrix_descriptor(unsigned address) {
  return uint64_t{(address & 0x3ffff) >> 4} | uint64_t{1} << 16 | uint64_t{64} << 32 | uint64_t{1} << 62;
}

/// Accumulators of a wgmma instruction on 64 rows as asm operands, and their operand numbers in the instruction's text:
/// one per two columns. `constraint` is "+r" or "+f".
#define MPMML_8_ACCUMULATORS_FROM(constraint, acc, i)                                                                 \
  constraint(acc[i]), constraint(acc[i + 1]), constraint(acc[i + 2]), constraint(acc[i + 3]), constraint(acc[i + 4]), \
      constraint(acc[i + 5]), constraint(acc[i + 6]), constraint(acc[i + 7])
#define MPMML_32_ACCUMULATORS_FROM(constraint, acc, i)                                              \
  MPMML_8_ACCUMULATORS_FROM(constraint, acc, i), MPMML_8_ACCUMULATORS_FROM(constraint, acc, i + 8), \
      MPMML_8_ACCUMULATORS_FROM(constraint, acc, i + 16), MPMML_8_ACCUMULATORS_FROM(constraint, acc, i + 24)
#define MPMML_32_ACCUMULATORS(constraint, acc) MPMML_32_ACCUMULATORS_FROM(constraint, acc, 0)
#define MPMML_64_ACCUMULATORS(constraint, acc) \
  MPMML_32_ACCUMULATORS(constraint, acc), MPMML_32_ACCUMULATORS_FROM(constraint, acc, 32)
#define MPMML_72_ACCUMULATORS(constraint, acc) \
  MPMML_64_ACCUMULATORS(constraint, acc), MPMML_8_ACCUMULATORS_FROM(constraint, acc, 64)
#define MPMML_32_PLACES                                                    \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define MPMML_64_PLACES                                                                \
  MPMML_32_PLACES                                                                      \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define MPMML_72_PLACES MPMML_64_PLACES ", %64, %65, %66, %67, %68, %69, %70, %71"

__device__ __forceinline__ void fence_tiles() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_tiles() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most kPending committed wgmma groups are in flight.
template <int kPending>
__device__ __forceinline__ void await_tiles() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

#endif

}  // namespace mpmml::cuda
