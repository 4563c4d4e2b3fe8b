#include "cpu/backend.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_map>

#include "core/dispatch.h"
#include "core/range.h"
#include "core/status.h"
#include "cpu/kernel.h"
#include "cpu/loop.h"
#include "cpu/machine.h"
#include "cpu/product.h"
#include "cpu/thin_product.h"
#include "cpu/threads.h"
#include "cpu/widened.h"

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
  CpuBackend() {
    const std::vector<std::string> supported = supported_instruction_sets();
    for (const KernelVariant& row : kernel_variants()) {
      variants_.push_back(&row.variant);
      const char* isa = instruction_set(row.variant);
      const bool runs = !isa || std::find(supported.begin(), supported.end(), isa) != supported.end();
      known_[&row.variant] = {row.kernel,
                              runs ? "" : "this processor doesn't have the instruction set " + std::string(isa)};
    }
  }

  BackendKind kind() const override { return BackendKind::kCpu; }
  const std::vector<const Variant*>& variants() const override { return variants_; }
  std::string unusable(int) override { return settled().misconfigured ? settled().misconfigured->what() : ""; }
  std::string refuses(const Problem&, int) override { return {}; }

  Plan plan(const Problem& problem, const ValueRange& a, const ValueRange& b, int, const Variant* requested) override {
    const Ranges ranges{a, b};
    return plan(problem, exact_paths_of(problem, ranges), requested, likely_variant(problem, requested));
  }

  double estimate_ms(const Problem& problem, int) override {
    // Measured on Zen 4 and Sapphire Rapids: steps a millisecond and core, bytes packed a millisecond, and what waking
    // a thread costs, which is worth it for about a million steps.
    constexpr double kStepsPerMs = 2.5e7;
    constexpr double kPackedBytesPerMs = 1e7;
    constexpr double kWakingMs = 0.006;
    constexpr double kStepsPerThread = 1e6;
    const double steps = double(problem.outputs()) * problem.k();
    const double vectors = (settled().instruction_set == "avx512" || settled().instruction_set == "avx2" ? 1 : 4) *
                           double(element_bytes(problem.dtype)) / 4;
    const double threads =
        settled().misconfigured ? 1 : std::clamp(steps / kStepsPerThread, 1.0, 0.85 * thread_count());
    const double bytes =
        double(element_bytes(problem.dtype)) * double(problem.k()) * (problem.m() + problem.n()) * problem.batch;
    return vectors * steps / (kStepsPerMs * threads) + bytes / kPackedBytesPerMs +
           (threads > 1 ? kWakingMs * threads : 0);
  }

  Outcome run(const Problem& problem, int, const Variant* requested) override {
    chosen();  // Wrong settings are an error of every product.
    try {
      return problem.has_int16() ? multiply(WidenedProblem(problem).problem(), requested)
                                 : multiply(problem, requested);
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
      if (problem.overflow != OverflowPolicy::kThrow || path != RangePath::kWide || !problem.keeps_c) return;
      apart_.emplace(static_cast<size_t>(problem.outputs() * element_bytes(problem.dtype)));
      view_ = {apart_->data(), problem.m(), problem.n(), problem.n(), 1, problem.m() * problem.n()};
    }

    const MutableMatrixView& view() const { return view_; }

    void commit() const {
      if (!apart_) return;
      with_integer_semiring(problem_.semiring, problem_.dtype, [this](auto semiring) {
        using Element = typename decltype(semiring)::Element;
        const auto* from = static_cast<const Element*>(apart_->data());
        const MutableMatrixView& c = problem_.c;
        const int64_t m = problem_.m(), n = problem_.n();
        const int64_t work = saturating_product(problem_.outputs(), kStepsPerCopy);
        for_each_run(problem_, problem_.batch * m, work, kStepsAtOnce, [&](int64_t first, int64_t end) {
          for (int64_t row = first; row < end; ++row) {
            auto* to = static_cast<Element*>(c.data) + row / m * c.batch_stride + row % m * c.row_stride;
            const Element* results = from + row * n;
            if (c.col_stride == 1) {
              std::copy_n(results, n, to);
            } else {
              for (int64_t col = 0; col < n; ++col) to[col * c.col_stride] = results[col];
            }
          }
        });
      });
    }

   private:
    /// Copying an element takes as long as so many k-steps.
    static constexpr int64_t kStepsPerCopy = 8;
    static constexpr int64_t kStepsAtOnce = 1 << 20;

    const Problem& problem_;
    MutableMatrixView view_;
    std::optional<Workspace> apart_;
  };

  /// What the settings lead to. Worked out by the first product, because they come after the backend.
  struct Chosen {
    std::string instruction_set;
    std::vector<const Variant*> variants;  ///< those that may be taken unasked
    std::optional<Error> misconfigured;
  };

  const Chosen& settled() const {
    std::call_once(chosen_once_, [this] {
      try {
        chosen_.instruction_set = chosen_instruction_set();
        thread_count();
      } catch (const Error& error) {
        chosen_.misconfigured = error;
      }
      for (const Variant* variant : variants_) {
        const char* isa = instruction_set(*variant);
        if (!isa || isa == chosen_.instruction_set) chosen_.variants.push_back(variant);
      }
    });
    return chosen_;
  }

  /// The same, for what needs it. Throws Error(kOption) if the settings are wrong.
  const Chosen& chosen() const {
    if (settled().misconfigured) throw Error(*chosen_.misconfigured);
    return chosen_;
  }

  /// What the registry and this processor say of a variant.
  struct Known {
    const Kernel* kernel;
    std::string refusal;
  };

  const Known& known(const Variant& variant) const {
    const auto row = known_.find(&variant);
    if (row != known_.end()) return row->second;
    throw Error(ErrorCode::kVariant, "variant " + std::string(variant.name) + " isn't one of the cpu backend's");
  }
  const Kernel& kernel_of(const Variant& variant) const { return *known(variant).kernel; }
  const std::string& refusal(const Variant& variant) const { return known(variant).refusal; }

  /// Hundredths of a nanosecond, on a processor with AVX2: only their ratios matter.
  static double cost_of(const Problem& problem, const Kernel& kernel) {
    const double steps = static_cast<double>(problem.outputs()) * static_cast<double>(problem.k());
    const bool reads_in_place = kernel.thin.accumulate;
    if (reads_in_place != is_thin(problem)) return std::numeric_limits<double>::infinity();
    if (reads_in_place) return kernel.thin.operand_size * steps;
    return 0.5 * kernel.packed.operand_size * steps;
  }

  static double cost_of_packing(const Problem& problem) {
    const double lanes = static_cast<double>(problem.m()) + static_cast<double>(problem.n());
    return 50.0 * static_cast<double>(problem.batch) * static_cast<double>(problem.k()) * lanes;
  }

  /// The plan, given what is known: `packed` is the variant that the operands are already packed for, if any.
  Plan plan(const Problem& problem, PathSet exact, const Variant* requested, const Variant* packed) const {
    return make_plan(problem, exact, chosen().variants, requested, [&](const Variant& variant, RangePath) {
      double cost = cost_of(problem, kernel_of(variant));
      if (packed && &variant != packed) cost += cost_of_packing(problem);
      return Judgement{refusal(variant), cost};
    });
  }

  /// The path of the plain kernel of the product's element type.
  static RangePath plain_path(const Problem& problem) {
    return is_integral(problem.dtype) ? RangePath::kTranslated : RangePath::kDirect;
  }

  /// Most products can be computed by the plain kernel: it begins before the ranges are known.
  const Variant* likely_variant(const Problem& problem, const Variant* requested) const {
    const PathSet likely{plain_path(problem)};
    if (!requested) return plan(problem, likely, nullptr, nullptr).variant;
    if (!kernel_of(*requested).packed.takes_offsets) return requested;
    return make_plan(problem, likely, chosen().variants, nullptr,
                     [&](const Variant& variant, RangePath) {
                       return Judgement{kernel_of(variant).packed.multiply ? "" : "its operands aren't packed", 0};
                     })
        .variant;
  }

  Outcome multiply(const Problem& problem, const Variant* requested) {
    const Clock::time_point start = Clock::now();
    if (requested) {
      check_requested(problem, *requested);
      const std::string refused = refusal(*requested);
      if (!refused.empty()) {
        throw Error(ErrorCode::kVariant,
                    "variant " + std::string(requested->name) + " can't run this product: " + refused);
      }
      if (kernel_of(*requested).rows.multiply) return multiply_where_they_are(problem, *requested, start);
    }
    const Variant* likely = likely_variant(problem, requested);
    if (kernel_of(*likely).thin.accumulate) return multiply_thin(problem, requested, *likely, start);
    std::optional<PackedProduct> product(std::in_place, problem, kernel_of(*likely).packed);
    const Ranges ranges = product->ranges();
    const PathSet exact = exact_paths_of(problem, ranges);
    Outcome outcome;
    outcome.plan = plan(problem, exact, requested, likely);
    const Destination destination(problem, outcome.plan.path);
    if (outcome.plan.variant != likely) {
      product.emplace(problem, kernel_of(*outcome.plan.variant).packed, ranges, outcome.plan.path);
    }
    settle(problem, destination, product->multiply(outcome.plan.path, destination.view()), outcome);
    outcome.timing.kernel = milliseconds_since(start);
    return outcome;
  }

  Outcome multiply_thin(const Problem& problem, const Variant* requested, const Variant& likely,
                        Clock::time_point start) const {
    std::optional<ThinProduct> product(std::in_place, problem, kernel_of(likely));
    const RangePath any = !is_integral(problem.dtype)                 ? RangePath::kDirect
                          : problem.overflow == OverflowPolicy::kWrap ? RangePath::kWrapping
                                                                      : RangePath::kWide;
    const Ranges ranges = product->accumulate(any);
    Outcome outcome;
    outcome.plan = plan(problem, exact_paths_of(problem, ranges), requested, nullptr);
    if (outcome.plan.variant != &likely) {
      product.emplace(problem, kernel_of(*outcome.plan.variant)).accumulate(outcome.plan.path);
    }
    const Destination destination(problem, outcome.plan.path);
    settle(problem, destination, product->finish(outcome.plan.path, destination.view()), outcome);
    outcome.timing.kernel = milliseconds_since(start);
    return outcome;
  }

  Outcome multiply_where_they_are(const Problem& problem, const Variant& requested, Clock::time_point start) const {
    const RowsKernel& kernel = kernel_of(requested).rows;
    const Ranges ranges = scan(problem, kernel);
    Outcome outcome;
    outcome.timing.analysis = milliseconds_since(start);
    outcome.plan = plan(problem, exact_paths_of(problem, ranges), &requested, nullptr);
    const Destination destination(problem, outcome.plan.path);
    settle(problem, destination, multiply_rows(problem, kernel, outcome.plan.path, destination.view()), outcome);
    outcome.timing.kernel = milliseconds_since(start) - outcome.timing.analysis;
    return outcome;
  }

  static void settle(const Problem& problem, const Destination& destination, int64_t overflow, Outcome& outcome) {
    if (problem.overflow == OverflowPolicy::kThrow && overflow != kNoOverflow) {
      outcome.overflow = overflow;
    } else {
      destination.commit();
    }
  }

  std::unordered_map<const Variant*, Known> known_;
  std::vector<const Variant*> variants_;
  mutable std::once_flag chosen_once_;
  mutable Chosen chosen_;
};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<CpuBackend>(); }

CpuInfo info() { return {processor_model(), chosen_instruction_set(), supported_instruction_sets(), thread_count()}; }

}  // namespace mpmml::cpu
