#include "cuda/user/templates.h"

namespace mpmml::cuda {
namespace {

enum class Loads { kChunks, kElements };
enum class Steps { kAll, kStructured };
enum class State { Sums, ScalarTile, SkippingTile, Witnesses };

}  // namespace

const std::vector<UserTemplate>& user_templates() {
#define MPMML_SIZES(name, ...) #name, __VA_ARGS__
#define MPMML_ROW(name, lanes, bm, bn, bk, tm, tn, slices, stages, unroll, loads, steps, state) \
  {MPMML_SIZES(name, lanes, bm, bn, bk, tm, tn, slices, stages, unroll),                        \
   Loads::loads == Loads::kElements,                                                            \
   Steps::steps == Steps::kStructured,                                                          \
   State::state == State::ScalarTile,                                                           \
   State::state == State::SkippingTile,                                                         \
   State::state == State::Witnesses},
  static const auto& all = *new std::vector<UserTemplate>{MPMML_FOR_EACH_USER_TEMPLATE(MPMML_ROW)};
#undef MPMML_ROW
#undef MPMML_SIZES
  return all;
}

}  // namespace mpmml::cuda
