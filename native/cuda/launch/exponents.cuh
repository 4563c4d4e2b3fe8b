// Shared host side of both exponent families: packing, outlier chunks, launches, witnesses.
#pragma once
#include "cuda/device/error.h"
#include "cuda/kernels/exponent_witness.cuh"
#include "cuda/kernels/outlier_chunks.cuh"
#include "cuda/launch/function.h"
#include "cuda/launch/packing.cuh"
#include "cuda/launch/tile_witness.cuh"

namespace mpmml::cuda {

template <class Stored>
bool is_dense_along_k(const PackSource& source) {
  const auto is_whole = [](int64_t elements) { return elements * int64_t{sizeof(Stored)} % sizeof(uint4) == 0; };
  return source.k_stride == 1 && is_whole(source.line_stride) && is_whole(source.batch_stride) &&
         reinterpret_cast<uintptr_t>(source.data) % sizeof(uint4) == 0;
}

/// Queues the packing of an operand.
template <class Arithmetic, class Stored>
void pack_exponents(const PackSource& whole, const ExponentTarget& target, int64_t items,
                    const EncodeExponents<Arithmetic>& encode, cudaStream_t stream) {
  const bool is_dense = is_dense_along_k<Stored>(whole), along_k = whole.k_stride < whole.line_stride;
  constexpr int kTilesOfBlock = 4;
  const auto lines = static_cast<unsigned>(target.padded_lines / kExponentPackLines);
  const auto depths =
      static_cast<unsigned>(std::min(kMaxBlocks, ceil_div(int64_t{target.tiles_k}, int64_t{kTilesOfBlock})));
  for_runs(items, [&](Span run) {
    const auto count = static_cast<unsigned>(run.size());
    PackSource source = whole;
    source.data = static_cast<const Stored*>(whole.data) + run.first * whole.batch_stride;
    const ExponentTarget part = target.from(run.first);
    const dim3 grid(lines, depths, count);
    if (along_k) {
      constexpr int kLines = kBestThreadsAlong / 32;
      exponent_best_along<EncodeExponents<Arithmetic>, Stored>
          <<<dim3(static_cast<unsigned>(target.padded_lines / kLines), 1, count), kBestThreadsAlong, 0, stream>>>(
              source, part, encode, is_dense);
      exponent_pack_kernel<Arithmetic, Stored, true>
          <<<grid, kExponentPackThreads, 0, stream>>>(source, part, encode, is_dense);
    } else {
      exponent_best_across<EncodeExponents<Arithmetic>, Stored>
          <<<dim3(lines, 1, count), kBestThreadsAcross, 0, stream>>>(source, part, encode);
      exponent_pack_kernel<Arithmetic, Stored, false>
          <<<grid, kExponentPackThreads, 0, stream>>>(source, part, encode, is_dense);
    }
  });
  MPMML_CUDA(cudaGetLastError());
}

inline int64_t exponent_items(const Launch& launch, Side side) {
  return items_of(side == Side::kA ? launch.a : launch.b, launch.batch);
}

/// Returns the layout of an operand's packed form in device memory of exponent_bytes() bytes.
template <class Arithmetic>
ExponentTarget exponent_target(const Launch& launch, Side side) {
  const int64_t lines = padded_lines(side == Side::kA ? launch.m : launch.n);
  const int64_t all = lines * exponent_items(launch, side);
  ExponentTarget target{};
  target.padded_lines = lines;
  target.tiles_k = static_cast<int>(ceil_div(launch.k, int64_t{kTileSteps<Arithmetic>}));
  target.tiles = static_cast<unsigned char*>(side == Side::kA ? launch.packed_a : launch.packed_b);
  target.best = reinterpret_cast<int32_t*>(target.tiles + all * target.tiles_k * kTileLineBytes);
  target.offsets = target.best + all;
  const int64_t offsets = all * target.tiles_k * kExponentChunks;
  target.halves = reinterpret_cast<uint16_t*>(target.offsets + offsets);
  target.outliers = reinterpret_cast<unsigned char*>(target.halves + offsets);
  return target;
}

template <class Arithmetic>
int64_t exponent_bytes(const Launch& launch, Side side) {
  // Bytes of a tile's offsets, and one byte for its outlier chunks.
  constexpr int64_t kOfTile =
      Arithmetic::kByChunks ? kExponentLines * kExponentChunks * int64_t{sizeof(int32_t) + sizeof(uint16_t)} + 1 : 0;
  const ExponentTarget target = exponent_target<Arithmetic>(launch, side);
  const int64_t items = exponent_items(launch, side);
  const int64_t tiles = items * target.padded_lines / kExponentLines * target.tiles_k;
  return tiles * (kExponentTileBytes + kOfTile) + items * target.padded_lines * int64_t{sizeof(int32_t)};
}

/// Queues the packing of a launch's operand.
template <class Arithmetic>
void pack_exponent_operand(const Launch& launch, Side side) {
  const PackSource source = pack_source(launch, side);
  const ExponentTarget target = exponent_target<Arithmetic>(launch, side);
  const int64_t items = exponent_items(launch, side);
  for_arithmetic<Arithmetic>(launch, [&](const Arithmetic& arithmetic) {
    const auto encode = EncodeExponents<Arithmetic>::of(arithmetic, side);
    with_stored<typename Arithmetic::Semiring>(source.storage, [&](auto zero) {
      pack_exponents<Arithmetic, decltype(zero)>(source, target, items, encode, launch.stream);
    });
  });
}

/// Returns the packed operand.
template <class Arithmetic>
ExponentOperand exponent_operand(const Launch& launch, Side side) {
  const ExponentTarget target = exponent_target<Arithmetic>(launch, side);
  const bool repeats = (side == Side::kA ? launch.a : launch.b).batch_stride == 0;
  const int64_t lines = repeats ? 0 : target.padded_lines;
  return {target.tiles,  target.best,     target.offsets,
          target.halves, target.outliers, lines / kExponentLines * target.tiles_k,
          lines};
}

/// Queues the packing of a launch's operand. If it is the narrow operand, its outlier chunks are excluded.
template <class Arithmetic>
void pack_without_outliers(const Launch& launch, Side side) {
  pack_exponent_operand<Arithmetic>(launch, side);
  if constexpr (Arithmetic::kByChunks) {
    const auto arithmetic = Arithmetic::for_operands(launch.path, launch.range_a, launch.range_b);
    const bool is_a = side == Side::kA;
    if (!(is_a ? arithmetic.is_outlier_a : arithmetic.is_outlier_b)) return;
    const ExponentTarget whole = exponent_target<Arithmetic>(launch, side);
    const int64_t items = exponent_items(launch, side), tiles = whole.padded_lines / kExponentLines * whole.tiles_k;
    for_runs(items, [&](Span run) {
      const dim3 grid(static_cast<unsigned>(tiles), 1, static_cast<unsigned>(run.size()));
      skip_outliers_kernel<<<grid, kOutlierThreads, 0, launch.stream>>>(
          whole.from(run.first), is_a ? launch.m : launch.n, launch.k,
          EncodeExponents<Arithmetic>::of(arithmetic, side).bias - kMaxDistance - kOutlierPenalty);
    });
    MPMML_CUDA(cudaGetLastError());
  }
}

/// Queues the kernels that combine the outlier chunks with C, for the batch entries of `part` and their packed
/// operands.
template <class Arithmetic>
void add_outlier_chunks(const Launch& part, const ExponentOperand& a, const ExponentOperand& b,
                        const Arithmetic& arithmetic) {
  if (!arithmetic.is_outlier_a && !arithmetic.is_outlier_b) return;
  const ExponentOperand& narrow = arithmetic.is_outlier_b ? b : a;
  const auto tiles = [](int64_t size, int of_tile) { return static_cast<int>(ceil_div(size, int64_t{of_tile})); };
  const OutlierProblem problem{pack_source(part, Side::kA),
                               pack_source(part, Side::kB),
                               a.best,
                               b.best,
                               a.instance_lines,
                               b.instance_lines,
                               narrow.outliers,
                               narrow.instance_tiles,
                               arithmetic.is_outlier_b,
                               tiles(part.m, kExponentLines),
                               tiles(part.n, kExponentLines),
                               tiles(part.k, kExponentDepth)};
  Launch launch = part;
  launch.c0 = read_only(part.c);
  const int64_t blocks = int64_t{problem.tiles_m} * problem.tiles_n;
  const dim3 grid(static_cast<unsigned>(blocks), 1, static_cast<unsigned>(part.batch));
  outlier_chunks_kernel<Arithmetic><<<grid, kOutlierThreads, 0, part.stream>>>(launch, problem, arithmetic);
  MPMML_CUDA(cudaGetLastError());
}

/// Queues the search for witnesses, after the product.
template <class Arithmetic>
void find_exponent_witnesses(const Launch& launch, const ExponentOperand& a, const ExponentOperand& b, int tiles_k) {
  static_assert(kExponentLines == kLinesOfTile);
  search_in_tiles<ExponentNote<Arithmetic>>(launch,
                                            {{a.tiles, a.instance_tiles}, {b.tiles, b.instance_tiles}, tiles_k});
}

/// Base of the exponent families. `TileOf` defines the differences: kNeeds, kFullSpeedFrom, steps_per_clock<Tiles,
/// Arithmetic>(), entry<Tiles>() of an arithmetic, and operands(), the additional kernel arguments. `Tiles` is Config,
/// with or without witnesses.
template <class TileOf, class Config>
struct ExponentFamily {
  template <class Arithmetic>
  static constexpr Kernel kernel() {
    Kernel kernel = kernel_of<Config, Arithmetic>();
    // Kernels with other tiles would need more registers than available, or are only used for tiny products.
    if constexpr (!Arithmetic::kByChunks && Config::kIsWhole) kernel.in_chunks = &kFinder<Arithmetic>;
    return kernel;
  }

 private:
  template <class Tiles, class Arithmetic>
  static constexpr Kernel kernel_of() {
    Kernel kernel{};
    kernel.paths = paths_of<Arithmetic>();
    kernel.takes_int16 = true;
    kernel.needs = TileOf::kNeeds;
    kernel.launch = &launch<Tiles, Arithmetic>;
    kernel.function = &function<Tiles, Arithmetic>;
    kernel.packed_bytes = &exponent_bytes<Arithmetic>;
    kernel.pack = &pack_without_outliers<Arithmetic>;
    kernel.shape = {Config::BM,
                    Config::BN,
                    kTileSteps<Arithmetic>,
                    Config::kThreads,
                    Config::template kSharedBytes<Arithmetic>,
                    TileOf::template steps_per_clock<Tiles, Arithmetic>(),
                    TileOf::kFullSpeedFrom};
    return kernel;
  }

  template <class Arithmetic>
  static constexpr Kernel kFinder = kernel_of<FindsWitnesses<Config>, Arithmetic>();

  template <class Tiles, class Arithmetic>
  static void launch(const Launch& launch) {
    constexpr int kSharedBytes = Config::template kSharedBytes<Arithmetic>;
    const auto tiles_of = [](int64_t size, int of_tile) { return static_cast<int>(ceil_div(size, int64_t{of_tile})); };
    const int tiles_m = tiles_of(launch.m, Config::BM), tiles_n = tiles_of(launch.n, Config::BN);
    const int tiles_k = tiles_of(launch.k, kTileSteps<Arithmetic>);
    const ExponentOperand all_a = exponent_operand<Arithmetic>(launch, Side::kA),
                          all_b = exponent_operand<Arithmetic>(launch, Side::kB);
    for_arithmetic<Arithmetic>(launch, [&](const Arithmetic& arithmetic) {
      auto* const entry = TileOf::template entry<Tiles>(arithmetic);
      allow_shared_bytes(reinterpret_cast<const void*>(entry), kSharedBytes);
      for_instances(launch, [&](const Launch& part) {
        const ExponentOperand a = all_a.from(part.first_instance), b = all_b.from(part.first_instance);
        const dim3 grid(static_cast<unsigned>(int64_t{tiles_m} * tiles_n), 1, static_cast<unsigned>(part.batch));
        entry<<<grid, Config::kThreads, kSharedBytes, part.stream>>>(
            part, TileOf::operands(a, b, tiles_m, tiles_n, tiles_k), arithmetic);
        if constexpr (Arithmetic::kByChunks) add_outlier_chunks(part, a, b, arithmetic);
        if constexpr (Tiles::kFindsWitnesses) find_exponent_witnesses<Arithmetic>(part, a, b, tiles_k);
      });
    });
    MPMML_CUDA(cudaGetLastError());
  }

  template <class Tiles, class Arithmetic>
  static const void* function(ArithmeticKind) {
    return reinterpret_cast<const void*>(TileOf::template entry<Tiles>(Arithmetic{}));
  }
};

}  // namespace mpmml::cuda
