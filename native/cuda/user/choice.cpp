#include "cuda/user/choice.h"

#include <stdexcept>

#include "core/rounding.h"
#include "cuda/user/splice.h"

namespace mpmml::cuda {
namespace {

/// Instructions of steps that a kernel may have. The driver compiles so many in some 0.4 seconds.
constexpr int64_t kMaxInstructions = 3500;
/// The same of a kernel for small products: these are done before a longer kernel is compiled.
constexpr int64_t kMaxOfSmall = 2200;
/// So many steps take no longer than reading what they need.
constexpr int64_t kFewSteps = 1;

int64_t tiles_of(const UserTemplate& shape, const UserChoice& choice) {
  return choice.batch * ceil_div(choice.m, int64_t{shape.tile_m}) * ceil_div(choice.n, int64_t{shape.tile_n});
}

/// Whether its tiles keep the multiprocessors busy, most of the time: tiles of 256 threads run two at a time.
bool fills(const UserTemplate& shape, const UserChoice& choice) {
  const int64_t slots = 2 * choice.multiprocessors, tiles = tiles_of(shape, choice);
  return 4 * tiles >= 3 * slots * ceil_div(tiles, slots);
}

/// The first that suits, and if there is none, the last that can compute it.
const UserTemplate& find(const UserChoice& choice, bool finds_witnesses) {
  const UserTemplate* last = nullptr;
  for (const UserTemplate& shape : user_templates()) {
    if (shape.finds_witnesses != finds_witnesses || !may_take(shape, choice.semiring)) continue;
    if (choice.is_structured && !shape.may_be_structured) continue;
    if (!shape.loads_elements && !choice.may_pack) continue;
    if (shape.takes_few && choice.k > kFewSteps) continue;
    last = &shape;
    const bool is_large = shape.tile_m * shape.tile_n > 64 * 64;
    if (is_large ? fills(shape, choice) : shape.loads_elements || tiles_of(shape, choice) >= choice.multiprocessors) {
      return shape;
    }
  }
  if (!last) throw std::logic_error("no template takes the semiring");
  return *last;
}

}  // namespace

bool may_take(const UserTemplate& shape, const UserSemiring& semiring) {
  if (shape.lanes != static_cast<int>(semiring.lane_count())) return false;
  if (shape.skips && !semiring.skips) return false;
  if (shape.slices > 1 && !is_surely_associative(semiring)) return false;
  const int64_t instructions =
      shape.finds_witnesses ? instructions_of_candidate(semiring) : instructions_of_step(semiring);
  return shape.copies() == 1 ||
         instructions * shape.copies() <= (shape.loads_elements ? kMaxOfSmall : kMaxInstructions);
}

const UserTemplate& product_template(const UserChoice& choice) { return find(choice, false); }

const UserTemplate& witness_template(const UserChoice& choice) { return find(choice, true); }

}  // namespace mpmml::cuda
