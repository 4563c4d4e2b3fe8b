#include "core/plan.h"

#include "core/status.h"

namespace mpmml {
namespace {

bool computes(const Variant& variant, const Problem& problem) {
  return variant.semiring == problem.semiring && variant.dtype == problem.dtype;
}

std::string path_refusal(const Variant& variant, RangePath path) {
  if (variant.runs(path)) return {};
  if (path == RangePath::kWide || path == RangePath::kWrapping) {
    return "it adds in the element type, where sums of these values would wrap; leave `variant` out, or choose one "
           "with a 64-bit accumulator";
  }
  return "it doesn't compute on the " + std::string(kRangePathNames[static_cast<int>(path)]) + " path";
}

}  // namespace

void check_requested(const Problem& problem, const Variant& variant) {
  if (computes(variant, problem)) return;
  throw Error(ErrorCode::kVariant, "variant " + std::string(variant.name) + " computes " +
                                       semiring_name(variant.semiring) + ", but the product asked for is " +
                                       semiring_name(problem.semiring) + ": choose a variant of that semiring");
}

Plan make_plan(const Problem& problem, RangePath path, const std::vector<const Variant*>& variants,
               const Variant* requested, const Refusal& refusal) {
  if (requested) {
    check_requested(problem, *requested);
    std::string reason = path_refusal(*requested, path);
    if (reason.empty()) reason = refusal(*requested);
    if (reason.empty()) return {requested, path};
    throw Error(ErrorCode::kVariant, "variant " + std::string(requested->name) + " can't run this product: " + reason);
  }
  for (const Variant* variant : variants) {
    if (variant->automatic && computes(*variant, problem) && variant->runs(path) && refusal(*variant).empty()) {
      return {variant, path};
    }
  }
  throw Error(ErrorCode::kVariant, "no variant runs a " + std::string(semiring_name(problem.semiring)) +
                                       " product on the " + kRangePathNames[static_cast<int>(path)] +
                                       " path on this device: see variants()");
}

}  // namespace mpmml
