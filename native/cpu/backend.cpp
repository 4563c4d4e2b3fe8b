#include "cpu/backend.h"

#include <chrono>
#include <cstring>
#include <new>
#include <optional>

#include "core/dispatch.h"
#include "core/range.h"
#include "core/status.h"
#include "cpu/kernel.h"
#include "cpu/machine.h"
#include "cpu/product.h"
#include "cpu/threads.h"

namespace mpmml::cpu {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// The instruction set that a variant is compiled for; null where it is compiled for any.
const char* instruction_set(const Variant& variant) {
  for (const Parameter& parameter : variant.parameters) {
    if (std::strcmp(parameter.name, "isa") == 0) return parameter.value;
  }
  return nullptr;
}

class CpuBackend final : public Backend {
 public:
  CpuBackend() : supported_(supported_instruction_sets()) {
    for (const KernelVariant& row : kernel_variants()) variants_.push_back(&row.variant);
    try {
      chosen_ = chosen_instruction_set();
      thread_count();
    } catch (const Error& error) {
      misconfigured_ = error;
    }
    for (const Variant* variant : variants_) {
      const char* isa = instruction_set(*variant);
      if (!isa || isa == chosen_) chosen_variants_.push_back(variant);
    }
  }

  BackendKind kind() const override { return BackendKind::kCpu; }
  const std::vector<const Variant*>& variants() const override { return variants_; }
  std::string unusable(int) override { return misconfigured_ ? misconfigured_->what() : ""; }
  std::string refuses(const Problem&, int) override { return {}; }

  Outcome run(const Problem& problem, int, const Variant* requested) override {
    if (misconfigured_) throw Error(*misconfigured_);
    try {
      return multiply(problem, requested);
    } catch (const std::bad_alloc&) {
      throw Error(ErrorCode::kOutOfMemory, "the cpu backend found no memory for a product of " +
                                               std::to_string(problem.batch) + " × [" + std::to_string(problem.m()) +
                                               ", " + std::to_string(problem.k()) + "] by [" +
                                               std::to_string(problem.k()) + ", " + std::to_string(problem.n()) + "]");
    }
  }

 private:
  /// A product whose result can be thrown away when something overflowed: computed apart from C, then copied.
  class Destination {
   public:
    explicit Destination(const Problem& problem, RangePath path) : problem_(problem), view_(problem.c) {
      if (problem.overflow != OverflowPolicy::kThrow || path != RangePath::kWide) return;
      apart_.emplace(static_cast<size_t>(problem.outputs()) * sizeof(int32_t));
      view_ = {apart_->data(), problem.m(), problem.n(), problem.n(), 1, problem.m() * problem.n()};
    }

    const MutableMatrixView& view() const { return view_; }

    void commit() const {
      if (!apart_) return;
      const auto* from = static_cast<const int32_t*>(apart_->data());
      const MutableMatrixView& c = problem_.c;
      for (int64_t batch = 0; batch < problem_.batch; ++batch) {
        for (int64_t row = 0; row < problem_.m(); ++row) {
          auto* to = static_cast<int32_t*>(c.data) + batch * c.batch_stride + row * c.row_stride;
          for (int64_t col = 0; col < problem_.n(); ++col) to[col * c.col_stride] = *from++;
        }
      }
    }

   private:
    const Problem& problem_;
    MutableMatrixView view_;
    std::optional<Workspace> apart_;
  };

  const Kernel& kernel_of(const Variant& variant) const {
    for (const KernelVariant& row : kernel_variants()) {
      if (&row.variant == &variant) return *row.kernel;
    }
    throw Error(ErrorCode::kVariant, "variant " + std::string(variant.name) + " isn't one of the cpu backend's");
  }

  std::string refusal(const Variant& variant) const {
    const char* isa = instruction_set(variant);
    if (!isa) return {};
    for (const std::string& name : supported_) {
      if (name == isa) return {};
    }
    return "this processor doesn't have the instruction set " + std::string(isa);
  }

  Plan plan(const Problem& problem, PathSet exact, const Variant* requested) const {
    return make_plan(problem, exact, chosen_variants_, requested, [this](const Variant& variant, RangePath path) {
      return Judgement{refusal(variant), static_cast<double>(path)};
    });
  }

  static PathSet exact_paths_of(const Problem& problem, const ValueRange& a, const ValueRange& b) {
    return with_semiring(problem.semiring, problem.dtype,
                         [&](auto semiring) { return exact_paths<decltype(semiring)>(a, b, problem.overflow); });
  }

  Outcome multiply(const Problem& problem, const Variant* requested) {
    const Clock::time_point start = Clock::now();
    if (requested) check_requested(problem, *requested);
    // Most products can be computed by the first variant: its panels are packed before the ranges are known.
    const Variant* likely = requested ? requested : plan(problem, {RangePath::kTranslated}, nullptr).variant;
    const std::string refused = refusal(*likely);
    if (!refused.empty()) {
      throw Error(ErrorCode::kVariant, "variant " + std::string(likely->name) + " can't run this product: " + refused);
    }
    Outcome outcome;
    const Kernel& kernel = kernel_of(*likely);
    const bool packs = kernel.packed.multiply != nullptr;
    std::optional<PackedOperands> operands;
    PathSet exact;
    if (packs) {
      operands.emplace(problem, kernel.packed);
      exact = exact_paths_of(problem, operands->range_a(), operands->range_b());
    } else {
      exact = exact_paths_of(problem, scan(problem, problem.a, kernel.rows), scan(problem, problem.b, kernel.rows));
      outcome.timing.analysis = milliseconds_since(start);
    }
    outcome.plan = plan(problem, exact, requested);
    const RangePath path = outcome.plan.path;
    const Destination destination(problem, path);
    int64_t overflow;
    if (packs) {
      if (outcome.plan.variant != likely) operands.emplace(problem, kernel_of(*outcome.plan.variant).packed);
      overflow = operands->multiply(path, destination.view());
    } else {
      overflow = multiply_rows(problem, kernel.rows, path, destination.view());
    }
    if (problem.overflow == OverflowPolicy::kThrow && overflow != kNoOverflow) {
      outcome.overflow = overflow;
    } else {
      destination.commit();
    }
    outcome.timing.kernel = milliseconds_since(start) - outcome.timing.analysis;
    return outcome;
  }

  std::vector<std::string> supported_;
  std::string chosen_;
  std::optional<Error> misconfigured_;
  std::vector<const Variant*> variants_;
  std::vector<const Variant*> chosen_variants_;  ///< those that may be taken unasked
};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<CpuBackend>(); }

CpuInfo info() { return {processor_model(), chosen_instruction_set(), supported_instruction_sets(), thread_count()}; }

}  // namespace mpmml::cpu
