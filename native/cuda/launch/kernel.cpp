#include "cuda/launch/kernel.h"

#include <string>
#include <unordered_map>

#include "core/status.h"

namespace mpmml::cuda {

const Kernel& kernel_of(const Variant& variant) {
  static const auto& kernels = *[] {
    auto* const all = new std::unordered_map<const Variant*, const Kernel*>;
    for (const KernelVariant& row : kernel_variants()) (*all)[&row.variant] = row.kernel;
    return all;
  }();
  const auto row = kernels.find(&variant);
  if (row != kernels.end()) return *row->second;
  throw Error(ErrorCode::kVariant, "variant " + std::string(variant.name) +
                                       " isn't a CUDA kernel: choose one whose backend is 'cuda' in variants()");
}

bool numbers_fit(const ValueRange& a, const ValueRange& b, int64_t k) {
  constexpr int kWordBits = 32, kMinSumBits = 2;
  const int sum_bits = kWordBits - bits_of_numbers(k);
  if (sum_bits < kMinSumBits) return false;
  const bool leaves = a.has_finite() && b.has_finite() &&
                      (a.minimum + b.minimum <= kLowest<int32_t> || a.maximum + b.maximum >= kHighest<int32_t>);
  if (leaves) return false;
  if (a.has_zero || b.has_zero) return std::max(a.dynamic_range(), b.dynamic_range()) < int64_t{1} << (sum_bits - 2);
  return a.dynamic_range() + b.dynamic_range() < int64_t{1} << sum_bits;
}

int chunk_shift_for(const Kernel& kernel, int64_t k) {
  constexpr int64_t kMaxChunks = 65536;
  if (!kernel.notes_chunks) return 0;
  int shift = kernel.min_chunk_shift;
  while (ceil_div(k, int64_t{kernel.shape.tile_k} << shift) > kMaxChunks) ++shift;
  return shift;
}

int64_t scratch_bytes(const Kernel& kernel, const Launch& launch) {
  if (!kernel.notes_chunks) return kernel.scratch_bytes;
  return launch.batch * round_up(launch.m, kernel.shape.tile_m) * round_up(launch.n, kernel.shape.tile_n) *
         int64_t{sizeof(uint16_t)};
}

void set_structure(Launch& launch, const Structure& whole, int64_t first_row, int64_t first_col) {
  launch.structure = whole.from(first_row, first_col);
  launch.is_structured = !launch.structure.is_general(launch.m, launch.n, launch.k);
}

Launch launch_of(const Problem& problem, const Plan& plan) {
  Launch launch{};
  launch.batch = problem.batch;
  launch.m = launch.whole_m = problem.m();
  launch.n = launch.whole_n = problem.n();
  launch.k = problem.k();
  launch.a = problem.a;
  launch.b = problem.b;
  launch.dtype = problem.operation.dtype;
  launch.path = plan.path;
  set_structure(launch, problem.structure, 0, 0);
  return launch;
}

Launch part_of(const Launch& whole, const Region& region) {
  const auto& [items, rows, cols] = region;
  const Span steps{0, whole.k};
  Launch part = whole;
  part.batch = items.size();
  part.m = rows.size();
  part.n = cols.size();
  part.first_instance += items.first;
  part.first_item += items.first;
  part.first_row += rows.first;
  part.first_col += cols.first;
  set_structure(part, whole.structure, rows.first, cols.first);
  part.a = sub(whole.a, whole.dtype, {items, rows, steps});
  part.b = sub(whole.b, whole.dtype, {items, steps, cols});
  part.c0 = sub(whole.c0, whole.dtype, region);
  part.c = sub(whole.c, whole.dtype, region);
  part.witness = sub(whole.witness, DataType::kInt32, region);
  part.through = sub(whole.through, DataType::kInt32, {items, rows, steps});
  return part;
}

int64_t set_first_tiles(const KernelShape& shape, const GroupItem* items, int64_t count, int64_t* first_tiles) {
  int64_t tiles = 0;
  for (int64_t index = 0; index < count; ++index) {
    first_tiles[index] = tiles;
    tiles += ceil_div(items[index].m, shape.tile_m) * ceil_div(items[index].n, shape.tile_n);
  }
  first_tiles[count] = tiles;
  return tiles;
}

}  // namespace mpmml::cuda
