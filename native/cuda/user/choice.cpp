#include "cuda/user/choice.h"

#include <stdexcept>

#include "core/rounding.h"
#include "cuda/user/splice.h"

namespace mpmml::cuda {
namespace {

/// Instructions of steps that a kernel may have. The driver compiles so many in a third of a second.
constexpr int64_t kMostInstructions = 5000;

int64_t tiles_of(const UserTemplate& shape, const UserChoice& choice) {
  return choice.batch * ceil_div(choice.m, int64_t{shape.tile_m}) * ceil_div(choice.n, int64_t{shape.tile_n});
}

/// Whether its tiles keep the multiprocessors busy, most of the time: tiles of 256 threads run two at a time.
bool fills(const UserTemplate& shape, const UserChoice& choice) {
  const int64_t slots = 2 * choice.multiprocessors, tiles = tiles_of(shape, choice);
  return 4 * tiles >= 3 * slots * ceil_div(tiles, slots);
}

/// The first that is taken, and if there is none, the last that can compute it.
const UserTemplate& find(const UserChoice& choice, bool finds_witnesses, int instructions) {
  const auto lanes = static_cast<int>(choice.semiring.lane_count());
  const bool is_associative = is_surely_associative(choice.semiring);
  const UserTemplate* last = nullptr;
  for (const UserTemplate& shape : user_templates()) {
    if (shape.lanes != lanes || shape.finds_witnesses != finds_witnesses) continue;
    if (!shape.loads_elements && !choice.may_pack) continue;
    if (shape.slices > 1 && !is_associative) continue;
    last = &shape;
    if (int64_t{instructions} * shape.copies() > kMostInstructions) continue;
    const bool is_large = shape.tile_m * shape.tile_n > 64 * 64;
    if (is_large ? fills(shape, choice) : shape.loads_elements || tiles_of(shape, choice) >= choice.multiprocessors) {
      return shape;
    }
  }
  if (!last) throw std::logic_error("no template for so many lanes");
  return *last;
}

}  // namespace

const UserTemplate& product_template(const UserChoice& choice) {
  return find(choice, false, instructions_of_step(choice.semiring));
}

const UserTemplate& witness_template(const UserChoice& choice) {
  return find(choice, true, instructions_of_candidate(choice.semiring));
}

}  // namespace mpmml::cuda
