// What a kernel family gives the launcher: plain function pointers, which the generator writes for each row of the
// variant table.
#pragma once
#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "core/plan.h"
#include "core/problem.h"
#include "core/range.h"
#include "core/variant.h"
#include "cuda/kernels/division.h"

namespace mpmml::cuda {

/// One launch: a product, or a part of one, on device memory.
struct Launch {
  int64_t batch, m, n, k;
  MatrixView a, b, c0;
  /// Its rows are contiguous. If row_stride is a multiple of chunk_elements, each begins where a chunk may.
  MutableMatrixView c;
  int64_t first_instance;  ///< among the operands' instances, if this is a part of a larger launch
  /// The place of the first result in the whole product, and that product's size. They give the index of an overflow.
  int64_t first_item, first_row, first_col, whole_m, whole_n;
  Structure structure;  ///< of this part
  bool is_structured;   ///< whether that leaves any element out
  DataType dtype;
  RangePath path;
  ValueRange range_a, range_b;
  void* packed_a;  ///< Kernel::packed_bytes of device memory each
  void* packed_b;
  /// Smallest linear index of a result that overflowed, ~0 if none did; null if it isn't needed.
  unsigned long long* overflow;
  /// As in Problem, for kernels that find witnesses: Kernel::in_chunks and Kernel::numbered.
  MutableMatrixView witness;
  MatrixView through;
  void* scratch;    ///< scratch_bytes() of device memory for the kernel itself
  int chunk_shift;  ///< a chunk of K is 2^chunk_shift tiles
  cudaStream_t stream;
};

/// A matrix that a product of a group reads.
struct GroupOperand {
  const void* data;
  int64_t row_stride, col_stride;
  Storage storage;
};

/// A product of a group. A batch is an item for each of its instances.
struct GroupItem {
  int64_t m, n, k;
  GroupOperand a, b, c0;  ///< c0.data is null if nothing is accumulated
  void* c;                ///< as Launch::c: rows are contiguous, and begin where a chunk may if c_row_stride allows it
  int64_t c_row_stride;
  int64_t product;   ///< its place among GroupLaunch::overflows
  int64_t instance;  ///< of the product, for the index of an overflow in it
};

/// Products of different shapes and strides in one launch. They have the semiring, type and path in common.
struct GroupLaunch {
  const GroupItem* items;  ///< in device memory
  /// In device memory, from set_first_tiles(): item i has the tiles from first_tiles[i] up to first_tiles[i + 1].
  const int64_t* first_tiles;
  int64_t count, tiles;  ///< items, and the tiles of all of them
  DataType dtype;
  RangePath path;
  /// For each product the smallest linear index of a result that overflowed, ~0 if none did; null if it isn't needed.
  unsigned long long* overflows;
  cudaStream_t stream;
};

/// Neighbouring elements of a row of C that are stored at once.
MPMML_HOST_DEVICE constexpr int chunk_elements(int64_t bytes) { return bytes == 8 ? 2 : 4; }

enum class Side { kA, kB };

/// The largest multiple that a kernel may round a size up to: rows, columns, or operands along K.
constexpr int64_t kMostTile = 256;

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
};

struct Kernel {
  PathSet paths;
  bool takes_int16;             ///< whether it reads operands stored as int16 without widening
  bool (*runs_on)(int device);  ///< null if it runs on every device
  KernelShape shape;
  void (*launch)(const Launch&);
  /// The same with the last tiles divided; null if the kernel can't. No structure may leave anything out.
  void (*launch_divided)(const Launch&, const Division&, const PartMemory&);
  /// The __global__ function that runs `path`, for the runtime's queries.
  const void* (*function)(RangePath path);
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
  /// Of a kernel that notes chunks: they have at least 2^least_chunk_shift tiles.
  bool notes_chunks;
  int least_chunk_shift;
  int64_t scratch_bytes;  ///< see the function of that name
};

/// The bits of a word of 32 that number the steps of a product of this depth.
constexpr int bits_of_numbers(int64_t k) {
  int bits = 0;
  while (int64_t{1} << bits < k) ++bits;
  return bits;
}

/// Whether a word has room for the number of a step and a sum of operands in these ranges, and no sum leaves int32.
bool numbers_fit(const ValueRange& a, const ValueRange& b, int64_t k);

/// What a kernel stores for a witness in this chunk of K: less than −1, because −1 says that there is no witness.
MPMML_HOST_DEVICE constexpr int32_t hint_of_chunk(int32_t chunk) { return -2 - chunk; }
MPMML_HOST_DEVICE constexpr int32_t chunk_of_hint(int32_t hint) { return -2 - hint; }

/// Launch::chunk_shift, so that a chunk's number fits 16 bits; 0 for a kernel that notes no chunks.
int chunk_shift_for(const Kernel& kernel, int64_t k);

/// The bytes of Launch::scratch: Kernel::scratch_bytes, or 16 bits for each result if the kernel notes chunks.
int64_t scratch_bytes(const Kernel& kernel, const Launch& launch);

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
void for_arithmetic(RangePath path, const ValueRange& range_a, const ValueRange& range_b, Body&& body) {
  const auto consider = [&](auto* type) {
    using Arithmetic = std::remove_pointer_t<decltype(type)>;
    if (!Arithmetic::paths.has(path)) return;
    body(Arithmetic::for_operands(path, range_a, range_b));
  };
  (consider(static_cast<Arithmetics*>(nullptr)), ...);
}

/// Whether an arithmetic depends on more of a launch than its path and its ranges.
template <class Arithmetic, class = void>
constexpr bool is_for_launch = false;
template <class Arithmetic>
constexpr bool is_for_launch<Arithmetic, std::void_t<decltype(&Arithmetic::for_launch)>> = true;

/// The same for a launch.
template <class Arithmetic, class... Others, class Body>
void for_arithmetic(const Launch& launch, Body&& body) {
  if constexpr (is_for_launch<Arithmetic>) {
    static_assert(sizeof...(Others) == 0, "its kernels have no other arithmetic");
    body(Arithmetic::for_launch(launch));
  } else {
    for_arithmetic<Arithmetic, Others...>(launch.path, launch.range_a, launch.range_b, body);
  }
}

/// The part of a launch that begins at this place, of so many instances, rows and columns. Packed operands stay where they
/// are, because kernels that read them are cut by instances only.
Launch part_of(const Launch& whole, int64_t item, int64_t row, int64_t col, int64_t batch, int64_t m, int64_t n);

/// The most blocks in the second and third dimension of a grid.
constexpr int64_t kMostBlocks = 65535;

/// Calls `body` with parts of the launch that have no more than `most` instances, by default what a grid's third dimension
/// can hold.
template <class Body>
void for_instances(const Launch& launch, Body&& body, int64_t most = kMostBlocks) {
  for (int64_t first = 0; first < launch.batch; first += most) {
    body(part_of(launch, first, 0, 0, std::min(most, launch.batch - first), launch.m, launch.n));
  }
}

}  // namespace mpmml::cuda
