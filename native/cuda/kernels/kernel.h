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
  DataType dtype;
  RangePath path;
  ValueRange range_a, range_b;
  void* packed_a;  ///< Kernel::packed_bytes of device memory each
  void* packed_b;
  /// Smallest linear index of a result that overflowed, ~0 if none did; null if it isn't needed.
  unsigned long long* overflow;
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
  int full_speed_from;  ///< compute capability (90 is 9.0) below which the planner avoids the kernel
};

struct Kernel {
  PathSet paths;
  bool takes_int16;  ///< whether it reads operands stored as int16 without widening
  KernelShape shape;
  void (*launch)(const Launch&);
  /// The __global__ function that runs `path`, for the runtime's queries.
  const void* (*function)(RangePath path);
  /// Device memory for an operand in the kernel's own form. Only sizes, types and strides of the launch are used. This
  /// and pack() are null if the kernel reads operands as they are.
  int64_t (*packed_bytes)(const Launch&, Side);
  /// Queues the packing of an operand into that form, before launch().
  void (*pack)(const Launch&, Side);
};

struct KernelVariant {
  Variant variant;
  const Kernel* kernel;
};

/// The registry rows of the CUDA backend, in the table's order.
const std::vector<KernelVariant>& kernel_variants();

/// The kernel of a variant of the CUDA backend. Throws Error(kVariant) if the variant belongs to another backend.
const Kernel& kernel_of(const Variant& variant);

/// A launch that has no memory yet: enough for kernels to say how much they need.
Launch launch_of(const Problem& problem, const Plan& plan);

/// Calls `body` with the one of `Arithmetics` that can compute the launch's path.
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
