// Packing of operands for templates that copy chunks: neighbouring lines (rows of A, columns of B) become neighbours in memory.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

namespace mpmml::cuda {

/// Elements of 4 bytes: (item, k, line) at data[item · item_stride + k · depth_stride + line · line_stride].
struct UserLines {
  int64_t items, depth, lines;
  int64_t item_stride, depth_stride, line_stride;
};

/// What a packed operand has per step: its lines, rounded up to whole chunks.
int64_t packed_pitch(int64_t lines);
/// Bytes of it.
int64_t packed_bytes(int64_t items, int64_t depth, int64_t lines);

/// Queues the copy of `from` to `to`, where element (item, k, line) gets to [(item · depth + k) · packed_pitch(lines) + line].
void pack_lines(const UserLines& shape, const void* from, void* to, cudaStream_t stream);

}  // namespace mpmml::cuda
