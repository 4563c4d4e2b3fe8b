#include "cpu/blocking.h"

#include <algorithm>

#include "core/problem/layout.h"
#include "cpu/machine.h"

namespace mpmml::cpu {
namespace {

/// Returns the size of equal parts of `whole`: a multiple of `unit`, and at most `most`.
int64_t equal_parts(int64_t whole, int64_t most, int64_t unit) {
  const int64_t parts = ceil_div(whole, std::max(most / unit * unit, unit));
  return round_up(ceil_div(whole, parts), unit);
}

}  // namespace

Blocking choose_blocking(const PackedKernel& kernel, int64_t m, int64_t n, int64_t padded_k, int64_t batch, int threads,
                         bool with_witnesses) {
  const int64_t size = kernel.operand_size;
  // A stretch is a window, or as many as let stretches be counted in the bytes of an accumulator.
  const int64_t notes = kernel.accumulator_size == 1 ? 255 : 65535;
  const int64_t stretch = with_witnesses ? kernel.window * ceil_div(padded_k, kernel.window * notes) : 0;
  // The slab of a panel of B takes half of the first level, and each panel of A is multiplied with it. The other half
  // is for the current panel of A.
  const int64_t KC =
      equal_parts(padded_k, caches().level1 / 2 / (kernel.NR * size), with_witnesses ? stretch : kernel.k_multiple);
  // The slab of A's panels takes a quarter of the second level. The tiles that are stored between slabs take another
  // quarter.
  int64_t MC = equal_parts(m, caches().level2 / 4 / (KC * kernel.a_size), kernel.MR);
  // For witnesses each accumulator has a note of the same size.
  const int64_t cell = (with_witnesses ? 2 : 1) * kernel.accumulator_size;
  int64_t NC = equal_parts(n, caches().level2 / 4 / (MC * cell), kernel.NR);
  // The windows of a block of B are near if they take half of the second level. That isn't worth few columns.
  constexpr int64_t min_near = 64;
  bool are_near = false;
  if (with_witnesses) {
    const int64_t near = caches().level2 / 2 / (padded_k * size);
    are_near = near >= min_near;
    if (are_near) {
      NC = equal_parts(n, near, kernel.NR);
      MC = equal_parts(m, caches().level2 / 4 / (NC * cell), kernel.MR);
    }
  }
  // Enough blocks that the threads finish at about the same time.
  constexpr int64_t blocks_each = 16;
  const int64_t wanted = threads > 1 ? ceil_div(blocks_each * threads, batch) : 1;
  while (ceil_div(m, MC) * ceil_div(n, NC) < wanted) {
    if (NC > MC && NC > 4 * kernel.NR) {
      NC = equal_parts(n, NC / 2, kernel.NR);
    } else if (MC > 4 * kernel.MR) {
      MC = equal_parts(m, MC / 2, kernel.MR);
    } else {
      break;
    }
  }
  return {MC, NC, KC, stretch, are_near};
}

}  // namespace mpmml::cpu
