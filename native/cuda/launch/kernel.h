// The host side of kernels: what launches them, and what a family tells of them as plain function pointers, which the
// generator writes for each row of the variant table.
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

/// One launch: a product, or a part of one, and what kernels needn't know of it.
struct Launch : DeviceProblem {
  DataType dtype;
  ArithmeticKind path;
  ValueRange range_a, range_b;
  void* packed_a;  ///< Kernel::packed_bytes of device memory each
  void* packed_b;
  cudaStream_t stream;
};

/// A launch of a group, whose products have the semiring, type and path in common. set_first_tiles() gives the first tiles.
struct GroupLaunch : DeviceGroup {
  DataType dtype;
  ArithmeticKind path;
  cudaStream_t stream;
};

/// What the planner compares kernels by (cost.h).
struct KernelShape {
  int tile_m, tile_n, tile_k;  ///< of C, and the multiple that K is rounded up to; in elements and k-steps
  int threads;                 ///< per block
  int shared_bytes;            ///< dynamic shared memory per block
  /// Steps per clock and multiprocessor that the kernel sustains on large products, measured on an H200. On other GPUs
  /// only the ratios count.
  double steps_per_clock;
  int full_speed_from;   ///< compute capability (90 is 9.0) below which the planner avoids the kernel
  int tiles = 1;         ///< that the threads of a block compute at the same time, of as many instances
  bool divides = false;  ///< whether there is Kernel::launch_divided
  bool turns = false;    ///< whether tile_m is of the columns of C if it has fewer columns than rows
};

/// What a kernel relies on that not every device has. It is checked by a product before a device's first use of it.
enum class DeviceFeature : uint8_t {
  kNone,
  kExponents,      ///< exact sums of exponents by Hopper's instructions
  kWarpExponents,  ///< the same by instructions of single warps
  kPairs,          ///< counts of pairs of truth values
};

struct Kernel {
  ArithmeticSet paths;
  bool takes_int16;  ///< whether it reads operands stored as int16 without widening
  DeviceFeature needs;
  KernelShape shape;
  void (*launch)(const Launch&);
  /// The same with the last tiles divided; null if the kernel can't. No structure may leave anything out.
  void (*launch_divided)(const Launch&, const StreamKSchedule&, const PartialTiles&);
  /// The __global__ function that runs `path`, for the runtime's queries.
  const void* (*function)(ArithmeticKind path);
  /// Device memory for an operand in the kernel's own form. Only sizes, types and strides of the launch are used. This
  /// and pack() are null if the kernel reads operands as they are.
  int64_t (*packed_bytes)(const Launch&, Side);
  /// Queues the packing of an operand into that form, before launch().
  void (*pack)(const Launch&, Side);
  /// Whether pack() takes what is outside the operand's band as zero. Other kernels need operands that are zero there.
  bool packs_bands;
  /// Null if the family has no launches of groups.
  void (*launch_group)(const GroupLaunch&);
  /// The kernels that compute the same and also find witnesses; null if there are none. `in_chunks` notes for each result
  /// in which chunk of K it was reached, and stores hint_of_chunk(). `numbered` stores the witnesses themselves, if
  /// numbers_fit().
  const Kernel* in_chunks;
  const Kernel* numbered;
  /// Of a kernel that notes chunks: they have at least 2^min_chunk_shift tiles.
  bool notes_chunks;
  int min_chunk_shift;
  int64_t scratch_bytes;  ///< see the function of that name
};

/// Whether a word has room for the number of a step and a sum of operands in these ranges, and no sum leaves int32.
bool numbers_fit(const ValueRange& a, const ValueRange& b, int64_t k);

/// Launch::chunk_shift, so that a chunk's number fits 16 bits; 0 for a kernel that notes no chunks.
int chunk_shift_for(const Kernel& kernel, int64_t k);

/// The bytes of Launch::scratch: Kernel::scratch_bytes, or 16 bits for each result if the kernel notes chunks.
int64_t scratch_bytes(const Kernel& kernel, const Launch& launch);

/// The host side of a configuration of a kernel family. Each family specializes it in a header beside this one, with
/// kernel<Arithmetics...>(), which makes the row of the registry.
template <class Config>
struct Family;

struct KernelVariant {
  Variant variant;
  const Kernel* kernel;
};

/// The registry rows of the CUDA backend, in the table's order.
const std::vector<KernelVariant>& kernel_variants();

/// The kernel of a variant of the CUDA backend. Throws Error(kVariant) if the variant belongs to another backend.
const Kernel& kernel_of(const Variant& variant);

/// Sets the structure of a launch whose sizes are known, and which begins at this place of the product.
void set_structure(Launch& launch, const Structure& whole, int64_t first_row, int64_t first_col);

/// A launch that has no memory yet: enough for kernels to say how much they need.
Launch launch_of(const Problem& problem, const Plan& plan);

/// Writes first_tiles[0 … count] of a group on the host, for a kernel of this shape. Returns GroupLaunch::tiles.
int64_t set_first_tiles(const KernelShape& shape, const GroupItem* items, int64_t count, int64_t* first_tiles);

/// Calls `body` with the one of `Arithmetics` that can compute `path`, made for operands with these ranges.
template <class... Arithmetics, class Body>
void for_arithmetic(ArithmeticKind path, const ValueRange& range_a, const ValueRange& range_b, Body&& body) {
  const auto consider = [&](auto* type) {
    using Arithmetic = std::remove_pointer_t<decltype(type)>;
    if (!Arithmetic::paths.has(path)) return;
    body(Arithmetic::for_operands(path, range_a, range_b));
  };
  (consider(static_cast<Arithmetics*>(nullptr)), ...);
}

/// Whether an arithmetic depends on the number of steps besides.
template <class Arithmetic, class = void>
constexpr bool is_for_steps = false;
template <class Arithmetic>
constexpr bool is_for_steps<Arithmetic, std::void_t<decltype(&Arithmetic::for_steps)>> = true;

/// The same for a launch.
template <class Arithmetic, class... Others, class Body>
void for_arithmetic(const Launch& launch, Body&& body) {
  if constexpr (is_for_steps<Arithmetic>) {
    static_assert(sizeof...(Others) == 0, "its kernels have no other arithmetic");
    body(Arithmetic::for_steps(launch.path, launch.range_a, launch.range_b, launch.k));
  } else {
    for_arithmetic<Arithmetic, Others...>(launch.path, launch.range_a, launch.range_b, body);
  }
}

/// The part of a launch that a region of it is. Packed operands stay where they are, because kernels that read them are cut
/// by instances only.
Launch part_of(const Launch& whole, const Region& region);

/// The most blocks in the second and third dimension of a grid.
constexpr int64_t kMaxBlocks = 65535;

/// Calls `body` with runs of [0, size) that have at most `most` each, by default what the second or third dimension of a grid can hold.
template <class Body>
void for_runs(int64_t size, Body&& body, int64_t most = kMaxBlocks) {
  for (int64_t first = 0; first < size; first += most) body(Span{first, std::min(first + most, size)});
}

/// Calls `body` with parts of the launch that have no more than `most` instances, by default what a grid's third dimension
/// can hold.
template <class Body>
void for_instances(const Launch& launch, Body&& body, int64_t most = kMaxBlocks) {
  // A small kernel takes less time than it takes to make its part.
  if (launch.batch <= most) return body(launch);
  for_runs(launch.batch, [&](Span items) { body(part_of(launch, {items, {0, launch.m}, {0, launch.n}})); }, most);
}

}  // namespace mpmml::cuda
