// Packing of operands for templates that copy chunks: lines (rows of A, columns of B) become the contiguous dimension.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

namespace mpmml::cuda {

/// Layout of 4-byte elements: (item, k, line) is at data[item · item_stride + k · depth_stride + line · line_stride].
struct UserLines {
  int64_t items, depth, lines;
  int64_t item_stride, depth_stride, line_stride;
};

/// Returns the elements of a packed operand per k-step: its lines, rounded up to whole chunks.
int64_t packed_pitch(int64_t lines);
/// Returns the bytes of a packed operand.
int64_t packed_bytes(int64_t items, int64_t depth, int64_t lines);

/// Queues a copy of `from` to `to`, where element (item, k, line) is at [(item · depth + k) · packed_pitch(lines) +
/// line].
void pack_lines(const UserLines& shape, const void* from, void* to, cudaStream_t stream);

}  // namespace mpmml::cuda
