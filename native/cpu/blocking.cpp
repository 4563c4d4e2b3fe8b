#include "cpu/blocking.h"

#include <algorithm>

#include "core/layout.h"
#include "cpu/machine.h"

namespace mpmml::cpu {
namespace {

/// The size of equal parts of `whole`. They are multiples of `unit` and have at most `most` each.
int64_t equal_parts(int64_t whole, int64_t most, int64_t unit) {
  const int64_t parts = ceil_div(whole, std::max(most / unit * unit, unit));
  return round_up(ceil_div(whole, parts), unit);
}

}  // namespace

Blocking choose_blocking(const PackedKernel& kernel, int64_t m, int64_t n, int64_t padded_k, int64_t batch, int threads,
                         bool with_witnesses) {
  const int64_t size = kernel.operand_size;
  // The slab of a panel of B takes half of the first level, and each panel of A is multiplied with it. The other half
  // is for the panel of A that is being read.
  // For witnesses it is a window, or as many as let slabs be counted in 16 bits.
  const int64_t KC = with_witnesses
                         ? kernel.window * ceil_div(padded_k, kernel.window * int64_t{65535})
                         : equal_parts(padded_k, caches().level1 / 2 / (kernel.NR * size), kernel.k_multiple);
  // The slab of A's panels takes a quarter of the second level, and the tiles kept between slabs another quarter.
  int64_t MC = equal_parts(m, caches().level2 / 4 / (KC * size), kernel.MR);
  if (with_witnesses) MC = equal_parts(m, 128, kernel.MR);
  // Witnesses need as much memory besides for slabs.
  const int64_t cell = (with_witnesses ? 2 : 1) * kernel.accumulator_size;
  int64_t NC = equal_parts(n, caches().level2 / 4 / (MC * cell), kernel.NR);
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
  return {MC, NC, KC};
}

}  // namespace mpmml::cpu
