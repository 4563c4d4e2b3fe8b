// The tensor family: float64 plus-times on tensor cores, whose IEEE 754 fused multiply-adds of doubles run at twice the
// rate of the other pipes (NVIDIA, "NVIDIA H100 Tensor Core GPU Architecture", 2022).
//
// A multistage pipeline moves packed operands through shared memory. A block computes a tile of C of BM × BN. Each warp
// computes WM × WN of it with mma instructions of 16 × 8 × 8. The order of rows, columns and k-steps in these is
// arbitrary as long as both operands and the result agree. So a lane takes neighbouring rows and columns, which are one
// load of 16 bytes.
//
// Fragments: PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions", mma.m8n8k4 and mma.m16n8k8 with .f64.
#pragma once
#include "cuda/kernels/packed.cuh"

namespace mpmml::cuda {

template <class Config, class Arithmetic>
__global__ void tensor_kernel(DeviceProblem problem, PackedProblem<double> packed, Arithmetic arithmetic);

template <int BM_, int BN_, int BK_, int WM_, int WN_, int kStages_>
struct Tensor {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, kStages = kStages_, kSlices = 1;
  static constexpr int kWarpsN = BN / WN;
  static constexpr int kThreads = 32 * (BM / WM) * kWarpsN;
  // Lines of a stage are padded by 32 bytes beyond a multiple of all banks, so that the four k-steps that a warp reads
  // are in different banks.
  static constexpr int kPitchA = BM + 4, kPitchB = BN + 4;
  static constexpr int kStageWords = BK * (kPitchA + kPitchB);
  template <class Word>
  static constexpr int shared_bytes = kStages * kStageWords * int{sizeof(Word)};

  static_assert(BM % WM == 0 && BN % WN == 0 && WM % 16 == 0 && WN % 16 == 0, "warps tile the block by instructions");
  static_assert(BK % 8 == 0, "an instruction takes eight steps");
  static_assert(BK * BM % (2 * kThreads) == 0 && BK * BN % (2 * kThreads) == 0, "equal shares of a copy");

  template <class Arithmetic>
  static constexpr auto entry() {
    return &tensor_kernel<Tensor, Arithmetic>;
  }
};

/// c += a · b for 16 × 8 results over 8 steps. Lane 4g + t has rows g and g + 8 of the steps t and t + 4 of A, column g
/// of these steps of B, and columns 2t and 2t + 1 of both rows of C.
__device__ __forceinline__ void multiply_accumulate(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
#pragma unroll
  for (int step = 0; step < 2; ++step) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
#if __CUDA_ARCH__ >= 800
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(c[2 * row]), "+d"(c[2 * row + 1])
                   : "d"(a[2 * step + row]), "d"(b[step]));
#else
      // Fallback for GPUs without tensor cores for doubles: lanes exchange their elements by shuffles. The planner
      // avoids this kernel there.
      const int lane = threadIdx.x % 32;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const double x = __shfl_sync(~0u, a[2 * step + row], lane / 4 * 4 + k);
#pragma unroll
        for (int col = 0; col < 2; ++col) {
          c[2 * row + col] = fma(x, __shfl_sync(~0u, b[step], (lane % 4 * 2 + col) * 4 + k), c[2 * row + col]);
        }
      }
#endif
    }
  }
#endif
}

/// Copies a thread's share of a tile of BK lines, `width` wide and `pitch` apart in shared memory.
template <class Config, int width, int pitch>
__device__ __forceinline__ void copy_lines(double* shared, const double* from, int64_t padded) {
#pragma unroll
  for (int first = 0; first < Config::BK * width; first += 2 * Config::kThreads) {
    const int element = first + 2 * threadIdx.x, line = element / width, place = element % width;
    double* const target = shared + line * pitch + place;
    const double* const source = from + line * padded + place;
#if __CUDA_ARCH__ >= 800
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(target));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(source));
#else
    *reinterpret_cast<double2*>(target) = *reinterpret_cast<const double2*>(source);
#endif
  }
}

template <class Config, class Arithmetic>
__global__ void __launch_bounds__(Config::kThreads, Config::kThreads >= 256 ? 1 : 256 / Config::kThreads)
    tensor_kernel(DeviceProblem problem, PackedProblem<double> packed, Arithmetic arithmetic) {
  static_assert(std::is_same_v<typename Arithmetic::Semiring, PlusTimes<double>>, "tensor cores know one semiring");
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, kStages = Config::kStages;
  constexpr int kTilesM = Config::WM / 16, kTilesN = Config::WN / 8;
  extern __shared__ __align__(kChunkBytes) unsigned char memory[];
  double* const shared = reinterpret_cast<double*>(memory);
  const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, in_group = threadIdx.x % 4;
  const int warp_m = warp / Config::kWarpsN * Config::WM, warp_n = warp % Config::kWarpsN * Config::WN;

  const TilePlace place = locate_tile(blockIdx.x, packed.padded_m / BM, packed.padded_n / BN);
  bool has_results;
  const DepthTiles depth = depth_of_tile(problem, span_of_tile(place.m, BM), span_of_tile(place.n, BN), BK,
                                         {0, static_cast<int>(packed.padded_k / BK)}, has_results);
  if (!has_results) return;
  const int64_t first_k = int64_t{depth.first} * BK;
  const double* from_a = packed.a + blockIdx.z * packed.a_instance + first_k * packed.padded_m + int64_t{place.m} * BM;
  const double* from_b = packed.b + blockIdx.z * packed.b_instance + first_k * packed.padded_n + int64_t{place.n} * BN;
  const auto start = [&](int stage) {
    double* const target = shared + stage * Config::kStageWords;
    copy_lines<Config, BM, Config::kPitchA>(target, from_a, packed.padded_m);
    copy_lines<Config, BN, Config::kPitchB>(target + BK * Config::kPitchA, from_b, packed.padded_n);
    from_a += BK * packed.padded_m;
    from_b += BK * packed.padded_n;
  };
#if __CUDA_ARCH__ >= 800
  const auto commit = [] { asm volatile("cp.async.commit_group;"); };
  const auto wait = [] { asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2)); };
#else
  const auto commit = [] {};
  const auto wait = [] {};
#endif

  double acc[kTilesM][kTilesN][4] = {};
  const int tiles_k = depth.count;
  for (int stage = 0; stage < kStages - 1; ++stage) {
    if (stage < tiles_k) start(stage);
    commit();
  }
  int reading = 0, writing = kStages - 1;
  for (int tile = 0; tile < tiles_k; ++tile) {
    wait();
    __syncthreads();
    if (tile + kStages - 1 < tiles_k) start(writing);
    commit();
    const double* const a = shared + reading * Config::kStageWords + warp_m + 2 * group;
    const double* const b = shared + reading * Config::kStageWords + BK * Config::kPitchA + warp_n + 2 * group;
#pragma unroll
    for (int k = 0; k < BK; k += 8) {
      double fragment_a[kTilesM][4], fragment_b[kTilesN][2];
#pragma unroll
      for (int step = 0; step < 2; ++step) {
        const int line = k + 4 * step + in_group;
#pragma unroll
        for (int i = 0; i < kTilesM; ++i) {
          const auto rows = *reinterpret_cast<const double2*>(a + line * Config::kPitchA + 16 * i);
          fragment_a[i][2 * step] = rows.x;
          fragment_a[i][2 * step + 1] = rows.y;
        }
#pragma unroll
        for (int j = 0; j < kTilesN; j += 2) {
          const auto cols = *reinterpret_cast<const double2*>(b + line * Config::kPitchB + 8 * j);
          fragment_b[j][step] = cols.x;
          fragment_b[j + 1][step] = cols.y;
        }
      }
#pragma unroll
      for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
        for (int j = 0; j < kTilesN; ++j) multiply_accumulate(acc[i][j], fragment_a[i], fragment_b[j]);
      }
    }
    reading = reading + 1 == kStages ? 0 : reading + 1;
    writing = writing + 1 == kStages ? 0 : writing + 1;
  }

  const Epilogue<Arithmetic> epilogue(problem, arithmetic, blockIdx.z);
#pragma unroll
  for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int64_t row = int64_t{place.m} * BM + warp_m + 16 * i + 2 * group + part;
      if (row >= problem.m) continue;
#pragma unroll
      for (int j = 0; j < kTilesN; j += 2) {
        // Of two neighbouring instructions, one has the even columns and the other the odd columns.
        const double sums[4] = {acc[i][j][2 * part], acc[i][j + 1][2 * part], acc[i][j][2 * part + 1],
                                acc[i][j + 1][2 * part + 1]};
        epilogue.store(row, int64_t{place.n} * BN + warp_n + 8 * j + 4 * in_group, sums);
      }
    }
  }
}

}  // namespace mpmml::cuda
