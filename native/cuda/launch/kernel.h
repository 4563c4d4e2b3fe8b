// Host side of kernels: launch arguments and the interface of a kernel as plain function pointers, which the generator
// writes for each row of the variant table.
#pragma once
#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "core/algebra/range.h"
#include "core/plan/plan.h"
#include "core/plan/variant.h"
#include "core/problem/problem.h"
#include "core/problem/region.h"
#include "cuda/kernels/device_problem.h"
#include "cuda/kernels/stream_k.h"

namespace mpmml::cuda {

/// Arguments of a launch: a product or a part of one, with fields that only the host needs.
struct Launch : DeviceProblem {
  DataType dtype;
  ArithmeticKind path;
  ValueRange range_a, range_b;
  void* packed_a;  ///< packed operands, Kernel::packed_bytes() each
  void* packed_b;
  cudaStream_t stream;
};

/// A launch of a group of products with one semiring, type and arithmetic. set_first_tiles() computes the first tiles.
struct GroupLaunch : DeviceGroup {
  DataType dtype;
  ArithmeticKind path;
  cudaStream_t stream;
};

/// Parameters of a kernel for the planner's cost model (cost.h).
struct KernelShape {
  int tile_m, tile_n, tile_k;  ///< tile of C in elements, and granularity of K in k-steps
  int threads;                 ///< per block
  int shared_bytes;            ///< dynamic shared memory per block
  /// Steps per clock and multiprocessor that the kernel sustains on large products, measured on an H200. On other GPUs
  /// only the ratios matter.
  double steps_per_clock;
  int full_speed_from;   ///< compute capability (90 is 9.0) below which the planner avoids the kernel
  int tiles = 1;         ///< concurrent tiles per block, each of another batch entry
  bool divides = false;  ///< whether Kernel::launch_divided exists
  bool turns = false;    ///< whether tile_m applies to columns if C has fewer columns than rows
};

/// Device feature that a kernel requires. A self-test computes a product before the first use on a device
/// (runtime/self_test.h).
enum class DeviceFeature : uint8_t {
  kNone,
  kExponents,      ///< exact sums of exponents by wgmma
  kWarpExponents,  ///< exact sums of exponents by warp-level mma
  kPairs,          ///< counts of pairs of truth values
};

struct Kernel {
  ArithmeticSet paths;
  bool takes_int16;  ///< whether it reads int16 operands without conversion
  DeviceFeature needs;
  KernelShape shape;
  void (*launch)(const Launch&);
  /// Queues the kernel with a stream-K schedule; null if unsupported. The product must have no structure.
  void (*launch_divided)(const Launch&, const StreamKSchedule&, const PartialTiles&);
  /// Returns the __global__ function that runs `path`, for queries of the CUDA runtime.
  const void* (*function)(ArithmeticKind path);
  /// Returns the bytes of an operand in the kernel's packed format, from sizes, types and strides of the launch.
  /// packed_bytes and pack are null if the kernel reads operands in place.
  int64_t (*packed_bytes)(const Launch&, Side);
  /// Queues the packing of an operand. Must be called before launch().
  void (*pack)(const Launch&, Side);
  /// Whether pack() treats elements outside the operand's band as zero. Other kernels need operands that are zero
  /// there.
  bool packs_bands;
  /// Queues a group of products; null if unsupported.
  void (*launch_group)(const GroupLaunch&);
  /// Counterparts of the kernel that also find witnesses; null if none exist. `in_chunks` notes for each result the
  /// chunk of K in which it was reached first, and stores hint_of_chunk(). `numbered` stores the witnesses, and
  /// requires numbers_fit().
  const Kernel* in_chunks;
  const Kernel* numbered;
  /// Whether the kernel notes chunks; chunks have at least 2^min_chunk_shift tiles.
  bool notes_chunks;
  int min_chunk_shift;
  int64_t scratch_bytes;  ///< see the function scratch_bytes()
};

/// Returns whether a 32-bit word can hold the index of a k-step and a sum of operands in these ranges, and no sum
/// leaves int32.
bool numbers_fit(const ValueRange& a, const ValueRange& b, int64_t k);

/// Returns Launch::chunk_shift such that chunk indices fit 16 bits; 0 for a kernel that notes no chunks.
int chunk_shift_for(const Kernel& kernel, int64_t k);

/// Returns the bytes of Launch::scratch: Kernel::scratch_bytes, or 16 bits per result if the kernel notes chunks.
int64_t scratch_bytes(const Kernel& kernel, const Launch& launch);

/// Host side of a configuration of a kernel family. Each family specializes it in a header of this folder, with
/// kernel<Arithmetics...>(), which creates the registry row.
template <class Config>
struct Family;

struct KernelVariant {
  Variant variant;
  const Kernel* kernel;
};

/// Returns the registry rows of the CUDA backend, in the table's order.
const std::vector<KernelVariant>& kernel_variants();

/// Returns the kernel of a variant of the CUDA backend. Throws Error(kVariant) if the variant belongs to another
/// backend.
const Kernel& kernel_of(const Variant& variant);

/// Sets the structure of a launch, whose sizes must be set, from the structure of the whole product. (first_row,
/// first_col) is the position of the launch in the product.
void set_structure(Launch& launch, const Structure& whole, int64_t first_row, int64_t first_col);

/// Returns a launch without memory, for queries of the kernel's workspace.
Launch launch_of(const Problem& problem, const Plan& plan);

/// Computes first_tiles[0 … count] of a group on the host, for a kernel of this shape. Returns GroupLaunch::tiles.
int64_t set_first_tiles(const KernelShape& shape, const GroupItem* items, int64_t count, int64_t* first_tiles);

/// Calls `body` with the type of `Arithmetics` that implements `path`, constructed for operands with these ranges.
template <class... Arithmetics, class Body>
void for_arithmetic(ArithmeticKind path, const ValueRange& range_a, const ValueRange& range_b, Body&& body) {
  const auto consider = [&](auto* type) {
    using Arithmetic = std::remove_pointer_t<decltype(type)>;
    if (!Arithmetic::paths.has(path)) return;
    body(Arithmetic::for_operands(path, range_a, range_b));
  };
  (consider(static_cast<Arithmetics*>(nullptr)), ...);
}

/// Whether the constructor of an arithmetic also depends on the number of k-steps.
template <class Arithmetic, class = void>
constexpr bool is_for_steps = false;
template <class Arithmetic>
constexpr bool is_for_steps<Arithmetic, std::void_t<decltype(&Arithmetic::for_steps)>> = true;

/// Calls `body` with the arithmetic of a launch.
template <class Arithmetic, class... Others, class Body>
void for_arithmetic(const Launch& launch, Body&& body) {
  if constexpr (is_for_steps<Arithmetic>) {
    static_assert(sizeof...(Others) == 0, "its kernels have no other arithmetic");
    body(Arithmetic::for_steps(launch.path, launch.range_a, launch.range_b, launch.k));
  } else {
    for_arithmetic<Arithmetic, Others...>(launch.path, launch.range_a, launch.range_b, body);
  }
}

/// Returns the part of a launch for a region. Packed operands don't move, because launches with packed operands are
/// divided only by batch entries.
Launch part_of(const Launch& whole, const Region& region);

/// Maximum number of blocks in the second and third dimension of a grid.
constexpr int64_t kMaxBlocks = 65535;

/// Calls `body` with consecutive runs of [0, size) of at most `most` elements, by default the limit of a grid's second
/// or third dimension.
template <class Body>
void for_runs(int64_t size, Body&& body, int64_t most = kMaxBlocks) {
  for (int64_t first = 0; first < size; first += most) body(Span{first, std::min(first + most, size)});
}

/// Calls `body` with parts of the launch of at most `most` batch entries, by default the limit of a grid's third
/// dimension.
template <class Body>
void for_instances(const Launch& launch, Body&& body, int64_t most = kMaxBlocks) {
  // Constructing a part takes longer than a small kernel.
  if (launch.batch <= most) return body(launch);
  for_runs(launch.batch, [&](Span items) { body(part_of(launch, {items, {0, launch.m}, {0, launch.n}})); }, most);
}

}  // namespace mpmml::cuda
