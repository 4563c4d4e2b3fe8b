#include "core/rounding.h"
#include "cuda/launch/packing.cuh"
#include "cuda/user/pack.h"

namespace mpmml::cuda {

int64_t packed_pitch(int64_t lines) {
  constexpr int64_t kChunk = 4;
  return round_up(lines, kChunk);
}

int64_t packed_bytes(int64_t items, int64_t depth, int64_t lines) {
  return items * depth * packed_pitch(lines) * int64_t{sizeof(uint32_t)};
}

void pack_lines(const UserLines& shape, const void* from, void* to, cudaStream_t stream) {
  const PackSource source{
      from, shape.lines, shape.depth, shape.line_stride, shape.depth_stride, shape.item_stride, Storage::kElement};
  const PackTarget target{to, shape.items, packed_pitch(shape.lines), shape.depth};
  // Any semiring over elements of 4 bytes copies the words unchanged.
  pack_stored<int32_t>(source, target, CopyElements<MaxPlus<int32_t>>{0}, stream);
}

}  // namespace mpmml::cuda
