#include <algorithm>

#include "core/rounding.h"
#include "cuda/device/error.h"
#include "cuda/user/pack.h"

namespace mpmml::cuda {
namespace {

constexpr int kSide = 32, kRows = 8;
constexpr int64_t kChunk = 4, kMostBlocks = 65535;

/// Through shared memory, so that both are read and written along neighbours: threads of a warp read along k if `kAlongDepth`.
template <bool kAlongDepth>
__global__ void __launch_bounds__(kSide* kRows)
    pack_kernel(UserLines shape, const uint32_t* __restrict__ from, uint32_t* __restrict__ to, int64_t pitch) {
  __shared__ uint32_t tile[kSide][kSide + 1];
  const int64_t line_tiles = (shape.lines + kSide - 1) / kSide, depth_tiles = (shape.depth + kSide - 1) / kSide;
  const int64_t tiles = line_tiles * depth_tiles;
  const int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  for (int64_t item = blockIdx.y; item < shape.items; item += gridDim.y) {
    for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
      const int64_t first_line = number % line_tiles * kSide, first_k = number / line_tiles * kSide;
#pragma unroll
      for (int row = y; row < kSide; row += kRows) {
        const int64_t line = first_line + (kAlongDepth ? row : x), k = first_k + (kAlongDepth ? x : row);
        if (line < shape.lines && k < shape.depth) {
          tile[kAlongDepth ? x : row][kAlongDepth ? row : x] =
              from[item * shape.item_stride + k * shape.depth_stride + line * shape.line_stride];
        }
      }
      __syncthreads();
#pragma unroll
      for (int row = y; row < kSide; row += kRows) {
        const int64_t line = first_line + x, k = first_k + row;
        if (line < shape.lines && k < shape.depth) to[(item * shape.depth + k) * pitch + line] = tile[row][x];
      }
      __syncthreads();
    }
  }
}

}  // namespace

int64_t packed_pitch(int64_t lines) { return round_up(lines, kChunk); }

int64_t packed_bytes(int64_t items, int64_t depth, int64_t lines) {
  return items * depth * packed_pitch(lines) * int64_t{sizeof(uint32_t)};
}

void pack_lines(const UserLines& shape, const void* from, void* to, cudaStream_t stream) {
  const int64_t tiles = ceil_div(shape.lines, int64_t{kSide}) * ceil_div(shape.depth, int64_t{kSide});
  const dim3 grid(static_cast<unsigned>(std::min(tiles, int64_t{1} << 20)),
                  static_cast<unsigned>(std::min(shape.items, kMostBlocks)));
  const auto* const source = static_cast<const uint32_t*>(from);
  auto* const target = static_cast<uint32_t*>(to);
  const int64_t pitch = packed_pitch(shape.lines);
  if (shape.depth_stride < shape.line_stride) {
    pack_kernel<true><<<grid, kSide * kRows, 0, stream>>>(shape, source, target, pitch);
  } else {
    pack_kernel<false><<<grid, kSide * kRows, 0, stream>>>(shape, source, target, pitch);
  }
  MPMML_CUDA(cudaGetLastError());
}

}  // namespace mpmml::cuda
