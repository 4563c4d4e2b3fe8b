#include "cuda/backend.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/dispatch.h"
#include "core/in_session.h"
#include "core/parts.h"
#include "core/scan.h"
#include "core/session_pool.h"
#include "core/status.h"
#include "core/structured.h"
#include "cuda/device/device.h"
#include "cuda/launch/function.h"
#include "cuda/launch/kernel.h"
#include "cuda/plan/blocks.h"
#include "cuda/plan/choices.h"
#include "cuda/plan/cost.h"
#include "cuda/plan/workspace.h"
#include "cuda/runtime/admission.h"
#include "cuda/runtime/boolean_check.h"
#include "cuda/runtime/divided.h"
#include "cuda/runtime/exponent_check.h"
#include "cuda/runtime/launcher.h"
#include "cuda/runtime/product.h"
#include "cuda/runtime/ranked_choice.h"
#include "cuda/runtime/session.h"
#include "cuda/runtime/shared_b.h"
#include "cuda/runtime/witness.h"

namespace mpmml::cuda {
namespace {

/// Whether a device has what a kernel relies on. The first question for it may compute products that check that.
bool has_ability(int device, Ability ability) {
  switch (ability) {
    case Ability::kNone:
      return true;
    case Ability::kExponents:
      return computes_exponents(device);
    case Ability::kWarpExponents:
      return computes_warp_exponents(device);
    case Ability::kPairs:
      return counts_pairs(device);
  }
  return false;
}

/// Products that need no more memory don't ask for admission, because asking takes longer than they do.
int64_t little_memory(const Placement& where) {
  constexpr int64_t kLittle = int64_t{64} << 20;
  const int64_t limit = where.device_memory;
  return limit > 0 ? std::min(limit, kLittle) : kLittle;
}

bool surely_fits(const Problem& problem, const Placement& where) {
  return roughly_needed_bytes(problem) <= little_memory(where);
}

/// What products that run together take of the device's memory: their matrices, and what one after the other packs and
/// gathers.
class BytesTogether {
 public:
  void add(const Problem& problem) {
    matrices_ += operand_bytes(problem) + bytes_of_result_together(problem);
    // Each of a batch that is gathered is there twice.
    most_of_one_ = std::max(most_of_one_, 2 * roughly_needed_bytes(problem));
  }
  int64_t matrices() const { return matrices_; }
  int64_t all() const { return matrices_ + most_of_one_; }

 private:
  int64_t matrices_ = 0, most_of_one_ = 0;
};

/// The matrices of products that go to a device at once.
constexpr int64_t kMostBytesTogether = int64_t{1} << 30;

/// Whether a product's last tiles would be divided.
bool divides(const Variant& variant, RangePath path, const Problem& problem, int device) {
  return division_of(kernel_of(variant), launch_of(problem, {&variant, path}), device).shares > 0;
}

/// The lines along K that the search for witnesses after a kernel that notes chunks reads, if the operands are copies.
int64_t bytes_to_search(const Kernel& kernel, const Problem& problem) {
  if (!kernel.notes_chunks) return 0;
  const auto lines = [&](const MatrixView& view, Side side) {
    const MatrixView copy = Lines(view).copied_to(nullptr, view, items_of(view, problem.batch));
    return bytes_along_k(problem.operation, problem.batch, copy, side);
  };
  return lines(problem.a, Side::kA) + lines(problem.b, Side::kB);
}

// How much longer the planner assumes that a kernel takes if its instructions are emulated.
constexpr double kSlowedDown = 8;

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(std::string architectures) : architectures_(std::move(architectures)) {
    for (const KernelVariant& row : kernel_variants()) {
      const Variant& variant = row.variant;
      variants_.push_back(&variant);
      if (variant.automatic) candidates_[{variant.semiring, variant.dtype}].push_back(&variant);
    }
  }

  BackendKind kind() const override { return BackendKind::kCuda; }
  const std::vector<const Variant*>& variants() const override { return variants_; }
  std::string unusable(int device) override {
    return cuda::unusable(device, kernel_variants().front().kernel->function(RangePath::kDirect), architectures_);
  }
  int device_count() override { return cuda::device_count(); }
  std::unique_ptr<SharedOperand> share_b(const std::vector<Problem>& parts, const std::vector<int>& devices) override {
    return cuda::share_b(parts, devices);
  }
  std::string refuses(const Problem& problem, const Placement& where) override;
  bool scans_lines(const Problem& problem, const Placement& where) override;
  Plan plan(const Problem& problem, const ValueRange& a, const ValueRange& b, const Placement& where) override;
  double estimate_ms(const Problem& problem, int device) override;
  Outcome run(const Problem& problem, const Placement& where) override;
  bool runs_together(const Problem& problem, const Placement& where) override;
  std::vector<Outcome> run_together(const std::vector<Problem>& problems, const Placement& where) override;
  std::unique_ptr<Session> open(int device, int64_t device_memory) override {
    return open_session(device, device_memory, planner_);
  }

 private:
  Judgement judge(const Variant& variant, RangePath path, const Problem& problem, bool numbered, int device);
  /// `numbered` says whether numbers_fit() for the operands.
  Judge judge_for(const Problem& problem, PathSet exact, bool numbered, const Placement& where);
  /// What `part` of `problem`, or all of it, can need under the plans that the whole leads to.
  int64_t workspace(const Problem& part, const Problem& problem, const Placement& where);

  const std::vector<const Variant*>& candidates(const Operation& operation) const {
    static const auto& none = *new std::vector<const Variant*>;
    const auto found = candidates_.find({operation.semiring, operation.dtype});
    return found == candidates_.end() ? none : found->second;
  }

  /// Calls `body` with a session that may take `bytes` of the device's memory, which have been reserved.
  template <class Body>
  auto with_session(const Placement& where, int64_t bytes, Body&& body) {
    const auto open_one = [&] { return open(where.device, where.device_memory); };
    return sessions_.with(where.device, where.device_memory, open_one, [&](Session& session) {
      session.set_reserved(bytes);
      return body(session);
    });
  }

  std::string architectures_;
  const Planner planner_ = [this](const Problem& problem, const ValueRange& a, const ValueRange& b,
                                  const Placement& where) { return plan(problem, a, b, where); };
  SessionPool sessions_;
  std::vector<const Variant*> variants_;
  /// Those that may be taken unasked.
  std::map<std::pair<SemiringId, DataType>, std::vector<const Variant*>> candidates_;
};

std::string CudaBackend::refuses(const Problem& problem, const Placement& where) {
  if (surely_fits(problem, where)) return {};
  const int64_t capacity = device_capacity(where.device, where.device_memory);
  if (roughly_needed_bytes(problem) <= capacity) return {};
  const int64_t least = workspace(smallest_block(problem), problem, where);
  if (least <= capacity) return {};
  return "a single block of the product needs " + in_mebibytes(least) + " of device memory, but device " +
         std::to_string(where.device) + " has " + in_mebibytes(capacity) + " for it: choose backend 'cpu'";
}

double CudaBackend::estimate_ms(const Problem& problem, int device) {
  // Measured on an H200: the cost of a call, and of a byte of pageable memory, if one slot is enough; the same for
  // larger calls, with one thread and with several, which have to be started; and the steps per millisecond and
  // multiprocessor, at 35 TOPS on 132 multiprocessors.
  constexpr double kSmallCallMs = 0.06, kBytesPerMsInSlots = 1.6e7;
  constexpr double kCallMs = 0.065, kBytesPerMs = 9e6;
  constexpr double kThreadsMs = 0.9, kBytesPerMsWithThreads = 4e7;
  constexpr double kStepsPerMsAndMultiprocessor = 1.3e8;
  // Tensor cores take so many times the truth values that the other units take (docs/tensor-cores.md). A GPU isn't asked
  // whether it really has them, because that would wake it for products that the CPU computes.
  constexpr double kPairsAtOnce = 8;
  // Kernels compute whole tiles and pack their operands into them. This is the smallest tile.
  constexpr int64_t kTile = 64;
  const DeviceLimits limits = device_limits(device);
  const double element = double(element_bytes(problem.operation.dtype));
  const double m = double(round_up(problem.m(), kTile)), n = double(round_up(problem.n(), kTile));
  const double bytes = double(operand_bytes(problem)) + double(problem.outputs()) * element;
  const double packed = sizeof(int32_t) * cost_of_step(problem.operation) * problem.k() *
                        (m * items_of(problem.a, problem.batch) + n * items_of(problem.b, problem.batch));
  // What a structure leaves out saves its share of the steps.
  const double share = is_structured(problem) ? steps_of(problem) / (double(problem.outputs()) * problem.k()) : 1;
  const double steps = cost_of_step(problem.operation) * problem.batch * m * n * problem.k() * share;
  const double copied = fits_slots(problem)
                            ? kSmallCallMs + bytes / kBytesPerMsInSlots
                            : kCallMs + std::min(bytes / kBytesPerMs, kThreadsMs + bytes / kBytesPerMsWithThreads);
  // If there are few tiles, some multiprocessors are idle.
  const double tiles = problem.batch * (m / kTile) * (n / kTile);
  const double busy = std::min(double(limits.multiprocessors), tiles);
  const bool counts = is_boolean(problem.operation) && limits.capability == kPairsCapability;
  const double steps_per_ms = kStepsPerMsAndMultiprocessor * busy * (counts ? kPairsAtOnce : 1);
  return copied + 2 * packed / limits.bytes_per_ms + steps / steps_per_ms;
}

Judgement CudaBackend::judge(const Variant& variant, RangePath path, const Problem& problem, bool numbered,
                             int device) {
  const Kernel& kernel = kernel_for(problem, {&variant, path}, numbered, device);
  if (!has_ability(device, kernel.needs)) {
    return {"device " + std::to_string(device) +
                " doesn't compute it: it has no tensor cores for it, or a check of them has failed (`mpmml info` says "
                "which)",
            0};
  }
  const DeviceLimits limits = device_limits(device);
  const int blocks = resident_blocks(kernel, path, device);
  if (blocks == 0) {
    return {"a block of it needs " + std::to_string(kernel.shape.shared_bytes) +
                " bytes of shared memory, but device " + std::to_string(device) + " has " +
                std::to_string(limits.shared_bytes_per_block),
            0};
  }
  double clocks = estimate_clocks(kernel.shape, kernel.pack != nullptr, problem, limits, blocks);
  if (limits.capability < kernel.shape.full_speed_from) clocks *= kSlowedDown;
  const Kernel& plain = kernel_of(variant);
  const bool in_chunks = &kernel == plain.in_chunks,
             searches = problem.witness.data && (in_chunks || &kernel == &plain);
  if (searches) clocks += estimate_search_clocks(in_chunks, problem, limits);
  return {{}, clocks};
}

Judge CudaBackend::judge_for(const Problem& problem, PathSet exact, bool numbered, const Placement& where) {
  // What has been measured is known by the cheapest path that the device has.
  const auto needs_exponents = [&](RangePath path) { return exact.has(path); };
  if (std::any_of(std::begin(kExponentPaths), std::end(kExponentPaths), needs_exponents) &&
      !has_exponents(where.device)) {
    for (const RangePath path : kExponentPaths) exact.remove(path);
  }
  // Choices are measured without witnesses and structures.
  const std::optional<MeasuredChoice> measured = where.variant || problem.witness.data || is_structured(problem)
                                                     ? std::nullopt
                                                     : measured_choice(device_name(where.device), problem, exact);
  // The product that was measured.
  Problem like = problem;
  double clocks_of_choice = 0, clocks_of_measured = 0;
  if (measured) {
    like.batch = measured->batch;
    like.a.rows = measured->m;
    like.a.cols = like.b.rows = measured->k;
    like.b.cols = measured->n;
    find_plan(problem.operation, exact, {}, measured->variant, [&](const Variant& variant, RangePath path) {
      const Judgement judgement = judge(variant, path, problem, numbered, where.device);
      clocks_of_choice = judgement.cost;
      clocks_of_measured = judge(variant, path, like, numbered, where.device).cost;
      return judgement;
    });
  }
  return [this, &problem, measured, like, clocks_of_choice, clocks_of_measured, numbered, &where](
             const Variant& variant, RangePath path) -> Judgement {
    // Hopper's own instructions are the better ones, so the others needn't be checked.
    const bool is_second = kernel_of(variant).needs == Ability::kWarpExponents;
    if (is_second && !where.variant && computes_exponents(where.device))
      return {"the family exponent takes less time", 0};
    Judgement judgement = judge(variant, path, problem, numbered, where.device);
    if (!measured || !judgement.refusal.empty()) return judgement;
    // The choice holds for all products that are like the measured one, but their tiles fill whole waves to different
    // degrees, so the estimates compare other kernels with the choice. They err: by so much in general, and if they prefer a
    // kernel for the measured product too, by that much. A kernel that divides tiles is made to fill waves.
    constexpr double kEstimatesErr = 0.1, kEstimatesOfDividedErr = 0.05;
    if (&variant == measured->variant) {
      judgement.cost = 0;
      return judgement;
    }
    judgement.cost *= 1 + (divides(variant, path, problem, where.device) ? kEstimatesOfDividedErr : kEstimatesErr);
    if (judgement.cost < clocks_of_choice) {
      judgement.cost *= std::max(1.0, clocks_of_measured / judge(variant, path, like, numbered, where.device).cost);
    }
    judgement.cost -= clocks_of_choice;
    return judgement;
  };
}

Plan CudaBackend::plan(const Problem& problem, const ValueRange& a, const ValueRange& b, const Placement& where) {
  if (!problem.has_steps()) return plan_without_steps(problem.operation, variants(), where.variant);
  const PathSet exact = exact_paths(problem.operation, a, b);
  return make_plan(problem.operation, exact, candidates(problem.operation), where.variant,
                   judge_for(problem, exact, numbers_fit(a, b, problem.k()), where));
}

bool CudaBackend::scans_lines(const Problem& problem, const Placement& where) {
  // The host would have to scan those of small products, which takes longer than they do.
  if (!where.variant && fits_slots(problem)) return false;
  return may_scan_lines(problem, where, planner_);
}

int64_t CudaBackend::workspace(const Problem& part, const Problem& problem, const Placement& where) {
  int64_t most_beside = 0, most_searched = 0;
  const int64_t bytes = workspace_bytes(part, [&](const std::function<void(const Plan&, const Kernel&)>& body) {
    const auto consider = [&](PathSet exact, bool numbered) {
      const auto plan = find_plan(problem.operation, exact, candidates(problem.operation), where.variant,
                                  judge_for(problem, exact, numbered, where));
      if (!plan) return;
      const Launch launch = launch_of(part, *plan);
      const Kernel& kernel = kernel_for(part, *plan, numbered, where.device);
      body(*plan, kernel);
      most_searched = std::max(most_searched, bytes_to_search(kernel, part));
      most_beside = std::max(most_beside, bytes_beside(kernel, launch, division_of(kernel, launch, where.device)));
      const auto ranked = where.variant ? std::nullopt : ranked_plan(part, *plan, exact, where);
      if (ranked) body(*ranked, kernel_of(*ranked->variant));
    };
    for (const PathSet exact : possible_paths(problem.operation)) {
      consider(exact, false);
      if (problem.witness.data) consider(exact, true);
    }
  });
  return bytes + most_beside + most_searched;
}

Outcome CudaBackend::run(const Problem& problem, const Placement& where) {
  Placement place = where;
  int64_t reserved = little_memory(where);
  const auto multiply = [&](const Problem& part) {
    if (!part.witness.data) return multiply_on_device(part, problem, place, planner_, scans_lines(part, where));
    // Only the products of a session find witnesses.
    return with_session(place, reserved, [&](Session& session) { return multiply_with_witness(session, part, place); });
  };
  if (surely_fits(problem, where)) return multiply(problem);
  const int64_t needed = workspace(problem, problem, where);
  const int64_t capacity = device_capacity(where.device, where.device_memory);
  reserved = std::min(needed, capacity);
  const Reservation reservation =
      admit(where.device, reserved, where.device_memory, [&] { return problem.is_cancelled(); });
  if (needed <= capacity) return multiply(problem);
  place.part = nullptr;
  // Its blocks have other strips.
  if (where.part && where.part->shared()) {
    static_cast<SharedB*>(where.part->shared())->refuse();
    throw given_up();
  }
  try {
    return multiply_in_blocks(
        problem, capacity, [&](const Problem& block) { return workspace(block, problem, where); }, multiply,
        [&] {
          if (where.part) where.part->before_writing(problem);
        },
        where.variant != nullptr);
  } catch (const Error& error) {
    // A block has other indices.
    if (error.code() == ErrorCode::kValue) {
      require_elements(problem.operation, problem.a, problem.batch, "a", problem.structure.a);
      require_elements(problem.operation, problem.b, problem.batch, "b", problem.structure.b);
    }
    throw;
  }
}

bool CudaBackend::runs_together(const Problem& problem, const Placement& where) {
  if (problem.witness.data) return false;
  BytesTogether bytes;
  bytes.add(problem);
  if (bytes.matrices() > kMostBytesTogether / 16) return false;
  return bytes.all() <= little_memory(where) || bytes.all() <= device_capacity(where.device, where.device_memory);
}

std::vector<Outcome> CudaBackend::run_together(const std::vector<Problem>& problems, const Placement& where) {
  const int64_t little = little_memory(where);
  std::optional<int64_t> known;
  const auto capacity = [&] {
    if (!known) known = std::max(little, device_capacity(where.device, where.device_memory));
    return *known;
  };
  const auto fits = [&](int64_t bytes) { return bytes <= little || bytes <= capacity(); };
  std::vector<Outcome> outcomes;
  for (size_t first = 0; first < problems.size();) {
    BytesTogether bytes;
    std::vector<Problem> part;
    while (first + part.size() < problems.size()) {
      BytesTogether with_next = bytes;
      with_next.add(problems[first + part.size()]);
      if (!part.empty() && (with_next.matrices() > kMostBytesTogether || !fits(with_next.all()))) break;
      bytes = with_next;
      part.push_back(problems[first + part.size()]);
    }
    const int64_t reserved = fits(bytes.all()) ? std::max(bytes.all(), little) : capacity();
    const Reservation reservation = reserved <= little ? Reservation()
                                                       : admit(where.device, reserved, where.device_memory,
                                                               [&] { return part.front().is_cancelled(); });
    try {
      with_session(where, reserved, [&](Session& session) {
        for (Outcome& outcome : multiply_together(session, part, where)) outcomes.push_back(std::move(outcome));
      });
    } catch (const Error& error) {
      throw Error(error.code(), error.what(), first + error.product().value_or(0));
    }
    first += part.size();
  }
  return outcomes;
}

}  // namespace

std::unique_ptr<Backend> make_backend(std::string architectures) {
  return std::make_unique<CudaBackend>(std::move(architectures));
}

}  // namespace mpmml::cuda
