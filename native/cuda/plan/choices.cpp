#include "cuda/plan/choices.h"

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace mpmml::cuda {
namespace {

/// What products must have in common to share a choice.
using TuningKey = std::tuple<SemiringId, DataType, ArithmeticKind, std::array<int, 4>>;
using Choices = std::map<TuningKey, MeasuredChoice>;

std::mutex mutex;

/// By the name of the GPU model. The choices that a reader holds stay unchanged.
std::map<std::string, std::shared_ptr<const Choices>>& known() {
  static auto* const choices = new std::map<std::string, std::shared_ptr<const Choices>>;
  return *choices;
}

TuningKey likeness(SemiringId semiring, DataType dtype, ArithmeticKind path, std::array<int64_t, 4> sizes) {
  // Only the CPU has 8-bit sums.
  const ArithmeticSet narrow{ArithmeticKind::kByte, ArithmeticKind::kByteTranslated, ArithmeticKind::kHalfTranslated};
  if (narrow.has(path)) path = ArithmeticKind::kHalf;
  if (path == ArithmeticKind::kTranslated) path = ArithmeticKind::kDirect;
  std::array<int, 4> powers{};
  for (size_t index = 0; index < sizes.size(); ++index) {
    powers[index] = static_cast<int>(std::lround(std::log2(static_cast<double>(sizes[index]))));
  }
  return {semiring, dtype, path, powers};
}

}  // namespace

void set_measured_choices(const std::string& gpu, const std::vector<MeasuredChoice>& choices) {
  auto table = std::make_shared<Choices>();
  for (const MeasuredChoice& choice : choices) {
    const Variant& variant = *choice.variant;
    (*table)[likeness(variant.semiring, variant.dtype, choice.path, {choice.m, choice.n, choice.k, choice.batch})] =
        choice;
  }
  const std::lock_guard<std::mutex> lock(mutex);
  known()[gpu] = std::move(table);
}

std::optional<MeasuredChoice> measured_choice(const std::string& gpu, const Problem& problem, ArithmeticSet exact) {
  // No power of two is near 0.
  if (problem.outputs() == 0 || problem.k() == 0) return std::nullopt;
  std::shared_ptr<const Choices> table;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = known().find(gpu);
    if (found == known().end()) return std::nullopt;
    table = found->second;
  }
  const auto choice = table->find(likeness(problem.operation.semiring, problem.operation.dtype, exact.cheapest(),
                                           {problem.m(), problem.n(), problem.k(), problem.batch}));
  if (choice == table->end()) return std::nullopt;
  return choice->second;
}

}  // namespace mpmml::cuda
