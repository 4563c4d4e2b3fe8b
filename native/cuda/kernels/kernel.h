// What a kernel family gives the launcher: plain function pointers, written by the generator for each row of the
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

namespace mpmml::cuda {

/// One launch: a product, or a part of one, on device memory.
struct Launch {
  int64_t batch, m, n, k;
  MatrixView a, b, c0;
  MutableMatrixView c;
  bool c_in_chunks;        ///< whether C's rows can be stored in chunks (chunk_elements)
  int64_t first_instance;  ///< of those that the operands hold, if this is a part of a larger launch
  /// The place of the first result in the whole product, and that product's size: what an overflow is told by.
  int64_t first_item, first_row, first_col, whole_m, whole_n;
  DataType dtype;
  RangePath path;
  ValueRange range_a, range_b;
  void* packed_a;  ///< Kernel::packed_bytes of device memory each
  void* packed_b;
  /// Smallest linear index of a result that overflowed, ~0 if none did; null if nobody asks.
  unsigned long long* overflow;
  cudaStream_t stream;
};

/// Neighbouring elements of a row of C that are stored at once.
MPMML_HOST_DEVICE constexpr int chunk_elements(int64_t bytes) { return bytes == 8 ? 2 : 4; }

/// Whether rows of `c`, the elements of which have so many bytes, begin and go on in whole chunks.
inline bool lies_in_chunks(const MutableMatrixView& c, int64_t bytes) {
  const int64_t count = chunk_elements(bytes);
  return c.col_stride == 1 && c.row_stride % count == 0 && c.batch_stride % count == 0 &&
         reinterpret_cast<uintptr_t>(c.data) % (count * bytes) == 0;
}

enum class Side { kA, kB };

/// The most that a kernel may round a size up to a multiple of: rows, columns, or operands along K.
constexpr int64_t kMostTile = 256;

/// What the planner weighs a kernel by (cost.h).
struct KernelShape {
  int tile_m, tile_n, tile_k;  ///< of C, and the multiple that K is rounded up to; in elements and k-steps
  int threads;                 ///< of a block
  int shared_bytes;            ///< dynamic shared memory of a block
  /// Steps a clock and multiprocessor that the kernel sustains on large products, measured on an H200; on other GPUs
  /// only their ratios count.
  double steps_per_clock;
  int full_speed_from;  ///< compute capability (90 is 9.0) below which the planner leaves the kernel alone
};

struct Kernel {
  PathSet paths;
  bool takes_int16;  ///< whether operands stored as int16 needn't be widened before
  KernelShape shape;
  void (*launch)(const Launch&);
  /// The __global__ function that runs `path`, for the runtime's queries.
  const void* (*function)(RangePath path);
  /// Device memory for an operand in the kernel's own form: of the launch only sizes, types and strides are looked at. Both
  /// are null if the kernel reads operands as they are.
  int64_t (*packed_bytes)(const Launch&, Side);
  /// Queues what brings an operand into that form, before launch().
  void (*pack)(const Launch&, Side);
};

struct KernelVariant {
  Variant variant;
  const Kernel* kernel;
};

/// The registry rows of the CUDA backend, in the table's order.
const std::vector<KernelVariant>& kernel_variants();

/// The kernel of a variant of the CUDA backend. Throws Error(kVariant) if it is none of its.
const Kernel& kernel_of(const Variant& variant);

/// A launch that has no memory yet: what kernels need to know to tell how much they want.
Launch launch_of(const Problem& problem, const Plan& plan);

/// Calls `body` with that of `Arithmetics` that carries out the launch's path.
template <class... Arithmetics, class Body>
void for_arithmetic(const Launch& launch, Body&& body) {
  const auto consider = [&](auto* type) {
    using Arithmetic = std::remove_pointer_t<decltype(type)>;
    if (!Arithmetic::paths.has(launch.path)) return;
    body(Arithmetic::for_operands(launch.path, launch.range_a, launch.range_b));
  };
  (consider(static_cast<Arithmetics*>(nullptr)), ...);
}

/// Calls `body` with parts of the launch that have no more instances than a grid's third dimension can hold.
template <class Body>
void for_instances(const Launch& launch, Body&& body) {
  constexpr int64_t kMaxInstances = 65535;
  for (int64_t first = 0; first < launch.batch; first += kMaxInstances) {
    Launch part = launch;
    part.first_instance = launch.first_instance + first;
    part.first_item = launch.first_item + first;
    part.batch = std::min(kMaxInstances, launch.batch - first);
    part.a = view_from(part.a, launch.dtype, first, 0, 0);
    part.b = view_from(part.b, launch.dtype, first, 0, 0);
    part.c0 = view_from(part.c0, launch.dtype, first, 0, 0);
    part.c = view_from(part.c, launch.dtype, first, 0, 0);
    body(part);
  }
}

}  // namespace mpmml::cuda
