#include "cuda/runtime/session_group.h"

#include <algorithm>
#include <array>
#include <new>
#include <numeric>
#include <utility>

#include "core/algebra/dispatch.h"
#include "core/host/workspace.h"
#include "core/problem/destination.h"
#include "core/problem/scan.h"
#include "core/problem/structured.h"
#include "core/status.h"
#include "cuda/device/error.h"
#include "cuda/runtime/session_batch.h"

namespace mpmml::cuda {
namespace {

/// Limit of the k-steps of a product that shares a launch with others: 512³, which takes as long as the launches of a
/// single product (H200).
constexpr double kMaxSteps = 512.0 * 512 * 512;

/// Limit of the products per launch. Larger groups are launched in parts, so that the GPU begins while the rest is
/// prepared.
constexpr size_t kMaxTogether = 2048;

/// A product that shares a launch, with everything that its launch needs. The problems of a group exceed the caches, so
/// each is read only once.
struct Member {
  size_t product;
  double steps;
  GroupItem item;
  ResidentMemory* c;
  bool covers_c;      ///< whether the results are all elements of the memory
  ValueBounds facts;  ///< bounds of the results
};

/// Products of one launch.
struct Bucket {
  Plan plan;
  const Kernel* kernel;
  DataType dtype;
  std::vector<Member> members{};
  double steps = 0;     ///< of all members
  int64_t deepest = 0;  ///< greatest K of a member
};

/// Properties that decide which launch a product joins.
struct Alike {
  Alike() = default;
  explicit Alike(const Problem& problem)
      : a(problem.a.memory),
        b(problem.b.memory),
        c0(problem.c0.memory),
        storage_a(problem.a.storage),
        storage_b(problem.b.storage),
        semiring(problem.operation.semiring),
        dtype(problem.operation.dtype) {}

  const Memory *a = nullptr, *b = nullptr, *c0 = nullptr;
  Storage storage_a{}, storage_b{};
  SemiringId semiring{};
  DataType dtype{};

  bool operator==(const Alike& other) const {
    return a == other.a && b == other.b && c0 == other.c0 && storage_a == other.storage_a &&
           storage_b == other.storage_b && semiring == other.semiring && dtype == other.dtype;
  }
};

double all_steps_of(const Problem& problem) { return double(problem.outputs()) * double(problem.k()); }

/// Returns whether the product is small and requests no auxiliary outputs, which need separate launches.
bool is_small(const Problem& problem) {
  return problem.batch == 1 && problem.outputs() > 0 && problem.k() > 0 && all_steps_of(problem) <= kMaxSteps &&
         !requested_auxiliary(problem);
}

bool can_join(const Problem& problem) {
  return is_small(problem) && !is_structured(problem) && takes_stores(problem.c, problem.operation.dtype, 1);
}

/// Host operands of small products, which are uploaded in one transfer.
class HostOperands {
 public:
  HostOperands(std::vector<Problem>& problems, SessionDevice& device) : device_(device) {
    for_each(problems, [&](const Problem& problem, const MatrixView& view, const Band&) {
      bytes_ += round_up(host_layout(view, 1, problem.operation.dtype, true).bytes(), kMatrixAlignment);
    });
    if (bytes_ == 0) return;
    const Workspace gathered(static_cast<size_t>(bytes_));
    memory_ = device_.workspace(bytes_);
    int64_t used = 0;
    for_each(problems, [&](const Problem& problem, MatrixView& view, const Band& band) {
      const HostLayout host = host_layout(view, 1, problem.operation.dtype, true);
      host.gather(0, host.elements(), static_cast<char*>(gathered.data()) + used);
      place(problem.operation, view, band, host, static_cast<char*>(memory_.get()) + used);
      used += round_up(host.bytes(), kMatrixAlignment);
    });
    HostLayout all{};
    all.data = static_cast<char*>(gathered.data());
    all.items = all.lines = 1;
    all.length = bytes_;
    all.element_stride = all.element_bytes = 1;
    device_.upload(all, memory_.get(), problems.front().cancelled);
  }

 private:
  /// Calls `body` for each host operand of the small products.
  template <class Body>
  static void for_each(std::vector<Problem>& problems, Body&& body) {
    for (Problem& problem : problems) {
      if (!is_small(problem)) continue;
      const auto consider = [&](MatrixView& view, const Band& band) {
        if (view.data && !view.memory) body(problem, view, band);
      };
      consider(problem.a, problem.structure.a);
      consider(problem.b, problem.structure.b);
      consider(problem.c0, problem.structure.c);
    }
  }

  void place(const Operation& operation, MatrixView& view, const Band& band, const HostLayout& host, char* data) {
    const ValueBounds facts = facts_in(operation, scan_matrices(operation, view, 1, band), view.storage);
    memories_.push_back(std::make_unique<ResidentMemory>(data, host.bytes(), facts));
    view = Lines(view).copied_to(data, view, 1);
    view.memory = memories_.back().get();
  }

  SessionDevice& device_;
  int64_t bytes_ = 0;
  DeviceBuffer memory_;
  std::vector<std::unique_ptr<ResidentMemory>> memories_;
};

class Group {
 public:
  Group(Problems problems, const Placement& where, Planner& planner, SessionDevice& device, Lane& lane)
      : asked_(problems), where_(where), planner_(planner), device_(device), lane_(lane) {}

  std::vector<QueuedProduct> run() {
    queued_.resize(problems_.size());
    for (size_t index = 0; index < problems_.size(); ++index) {
      if (problems_[index].is_cancelled()) throw aborted();
      prefetch_after(index);
      if (!hosts_ && needs_copies(problems_[index])) copy_operands();
      if (!join(index) && !defer_to_batch(index)) queue_alone(index);
    }
    for (Bucket& bucket : buckets_) launch(bucket);
    queue_deferred();
    return std::move(queued_);
  }

 private:
  bool needs_copies(const Problem& problem) const {
    return problems_.size() > 1 && !where_.variant &&
           (!problem.a.memory || !problem.b.memory || (problem.c0.data && !problem.c0.memory));
  }

  /// Copies the host operands of all small products.
  void copy_operands() {
    on_device_.assign(asked_.begin(), asked_.end());
    hosts_.emplace(on_device_, device_);
    problems_ = on_device_;
  }

  /// Prefetches the data of the next products into the cache: another thread has written the problems, and the memories
  /// are scattered.
  void prefetch_after(size_t index) const {
    constexpr size_t kAhead = 8;
    if (index + 2 * kAhead < problems_.size()) {
      const Problem& problem = problems_[index + 2 * kAhead];
      for (const void* part :
           {static_cast<const void*>(&problem), static_cast<const void*>(&problem.operation),
            static_cast<const void*>(&problem.a.memory), static_cast<const void*>(&problem.b.memory),
            static_cast<const void*>(&problem.c0.memory), static_cast<const void*>(&problem.c.memory)}) {
        __builtin_prefetch(part);
      }
    }
    if (index + kAhead < problems_.size()) {
      const Problem& problem = problems_[index + kAhead];
      for (Memory* memory : {problem.a.memory, problem.b.memory, problem.c0.memory, problem.c.memory}) {
        if (memory) resident(memory).prefetch_facts();
      }
    }
  }

  /// Adds a product to a bucket, if values and sizes permit it. Returns whether it did.
  bool join(size_t index) {
    const Problem& problem = problems_[index];
    if (problems_.size() == 1 || where_.variant || !can_join(problem)) return false;
    // Consecutive products often have operands in the same memories, with equal bounds.
    const Alike alike(problem);
    if (!(latest_ == alike)) {
      latest_ = alike;
      latest_bucket_ = find_bucket(problem);
      if (latest_bucket_) latest_facts_ = result_facts(problem);
    }
    if (!latest_bucket_) return false;
    Bucket& bucket = buckets_[*latest_bucket_];
    ResidentMemory& c = resident(problem.c.memory);
    const double steps = all_steps_of(problem);
    bucket.members.push_back(
        {index, steps, item_of(problem), &c, c.is_covered_by(problem.c, problem.operation.dtype, 1), latest_facts_});
    bucket.steps += steps;
    bucket.deepest = std::max(bucket.deepest, problem.k());
    if (bucket.members.size() == kMaxTogether) launch(bucket);
    return true;
  }

  /// Returns bounds of the results, which follow from the bounds of the operands' memories.
  static ValueBounds result_facts(const Problem& problem) {
    const Operation& operation = problem.operation;
    const ValueBounds facts = facts_of_product(operation, resident(problem.a.memory).facts(), problem.a.storage,
                                               resident(problem.b.memory).facts(), problem.b.storage);
    if (!problem.c0.data) return facts;
    return facts_of_combination(operation, facts, resident(problem.c0.memory).facts(), problem.c0.storage);
  }

  std::optional<size_t> find_bucket(const Problem& problem) {
    const Operation& operation = problem.operation;
    const ValueRange a = range_of(operation, resident(problem.a.memory).facts(), problem.a.storage),
                     b = range_of(operation, resident(problem.b.memory).facts(), problem.b.storage);
    const std::optional<ArithmeticSet> exact =
        exact_arithmetics(operation, a, b, problem.c0.data ? &resident(problem.c0.memory).facts() : nullptr);
    if (!exact) return std::nullopt;
    const auto known =
        std::find_if(decided_.begin(), decided_.end(), [&](const auto& it) { return it.first == *exact; });
    if (known != decided_.end()) return known->second;
    decided_.emplace_back(*exact, bucket_for(problem, *exact));
    return decided_.back().second;
  }

  std::optional<size_t> bucket_for(const Problem& problem, ArithmeticSet exact) {
    const std::optional<Plan> plan =
        find_plan(problem.operation, exact, group_variants(problem.operation), nullptr,
                  [](const Variant&, ArithmeticKind path) { return VariantCost{{}, double(path)}; });
    // Products whose bounds don't decide the plan, or that may overflow, are scanned one by one.
    if (!plan || may_overflow(problem, plan->path)) return std::nullopt;
    for (size_t index = 0; index < buckets_.size(); ++index) {
      if (buckets_[index].plan.variant == plan->variant && buckets_[index].plan.path == plan->path) return index;
    }
    buckets_.push_back({*plan, &kernel_of(*plan->variant), problem.operation.dtype});
    return buckets_.size() - 1;
  }

  const std::vector<const Variant*>& group_variants(const Operation& operation) {
    if (variants_.empty()) {
      for (const KernelVariant& row : kernel_variants()) {
        const bool fits = row.variant.semiring == operation.semiring && row.variant.dtype == operation.dtype;
        if (fits && row.kernel->launch_group) variants_.push_back(&row.variant);
      }
    }
    return variants_;
  }

  /// Defers a product to a batch with similar ones, if it can be batched. Returns whether it did.
  bool defer_to_batch(size_t index) {
    if (problems_.size() == 1 || where_.variant || !can_be_gathered(problems_[index])) return false;
    set_aside_.push_back(index);
    return true;
  }

  /// Queues the deferred products, as batches where products are similar.
  void queue_deferred() {
    std::stable_sort(set_aside_.begin(), set_aside_.end(),
                     [&](size_t x, size_t y) { return comes_before(problems_[x], problems_[y]); });
    for (size_t first = 0, end; first < set_aside_.size(); first = end) {
      const Problem& like = problems_[set_aside_[first]];
      const size_t most = std::min(set_aside_.size(), first + max_in_batch(like));
      end = first + 1;
      while (end < most && are_alike(like, problems_[set_aside_[end]])) ++end;
      queue_batchable(first, end);
    }
  }

  void queue_batchable(size_t first, size_t end) {
    std::vector<const Problem*> problems;
    for (size_t at = first; at < end; ++at) problems.push_back(&problems_[set_aside_[at]]);
    auto batch = end - first > 1 ? queue_batch(problems, where_, planner_, device_, lane_) : std::nullopt;
    for (size_t at = first; at < end; ++at) {
      const size_t index = set_aside_[at];
      if (!batch) {
        queue_alone(index);
        continue;
      }
      queued_[index] = std::move((*batch)[at - first]);
      queued_[index].problem = &asked_[index];
    }
  }

  void queue_alone(size_t index) {
    try {
      queued_[index] = queue_product(problems_[index], where_, planner_, device_, lane_);
      queued_[index].problem = &asked_[index];
    } catch (const Error& error) {
      if (problems_.size() == 1) throw;
      throw Error(error.code(), error.what(), index);
    }
  }

  /// Launches the products of the bucket, and empties it.
  void launch(Bucket& bucket) {
    if (bucket.members.size() == 1) queue_alone(bucket.members.front().product);
    if (bucket.members.size() > 1) launch_together(bucket);
    bucket.members.clear();
    bucket.steps = 0;
    bucket.deepest = 0;
  }

  /// Writes the items of a launch, deepest first (longest processing time first), so that no long one runs at the end.
  /// Items of similar depth are in arbitrary order.
  static void write_deepest_first(const Bucket& bucket, GroupItem* items) {
    constexpr size_t kDepths = 64;
    const auto shallowness = [&](const Member& it) {
      return static_cast<size_t>((bucket.deepest - it.item.k) * int64_t{kDepths} / (bucket.deepest + 1));
    };
    std::array<size_t, kDepths + 1> first{};
    for (const Member& it : bucket.members) ++first[shallowness(it) + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    for (const Member& it : bucket.members) new (items + first[shallowness(it)]++) GroupItem(it.item);
  }

  void launch_together(const Bucket& bucket) {
    const auto count = static_cast<int64_t>(bucket.members.size());
    const int64_t item_bytes = count * int64_t{sizeof(GroupItem)}, tile_bytes = (count + 1) * int64_t{sizeof(int64_t)};
    packed_.resize(static_cast<size_t>(item_bytes + tile_bytes));
    auto* const items = reinterpret_cast<GroupItem*>(packed_.data());
    write_deepest_first(bucket, items);
    auto* const first_tiles = reinterpret_cast<int64_t*>(packed_.data() + item_bytes);
    const int64_t tiles = set_first_tiles(bucket.kernel->shape, items, count, first_tiles);

    const DeviceBuffer memory = device_.workspace(item_bytes + tile_bytes);
    auto* const on_device = static_cast<char*>(memory.get());
    Event *const started = &lane_.event(), *const prepared = &lane_.event(), *const computed = &lane_.event();
    started->record(device_.stream());
    device_.send(packed_.data(), item_bytes + tile_bytes, on_device);
    prepared->record(device_.stream());
    GroupLaunch group{};
    group.items = reinterpret_cast<const GroupItem*>(on_device);
    group.first_tiles = reinterpret_cast<const int64_t*>(on_device + item_bytes);
    group.count = count;
    group.tiles = tiles;
    group.dtype = bucket.dtype;
    group.path = bucket.plan.path;
    group.stream = device_.stream();
    for (const Member& it : bucket.members) it.c->wait_for_readers();
    bucket.kernel->launch_group(group);
    computed->record(device_.stream());
    settle(bucket, {started, prepared, computed});
  }

  /// Stores the outcomes of the products of a launch, and the bounds of their results.
  void settle(const Bucket& bucket, const LaunchTimes& times) {
    for (const Member& it : bucket.members) {
      QueuedProduct& queued = queued_[it.product];
      queued.problem = &asked_[it.product];
      queued.outcome.plan = bucket.plan;
      queued.shared = times;
      queued.share = it.steps / bucket.steps;
      it.c->written(it.covers_c, it.facts, false);
    }
  }

  static GroupItem item_of(const Problem& problem) {
    const auto operand = [](const MatrixView& view) {
      return GroupOperand{view.data, view.row_stride, view.col_stride, view.storage};
    };
    return {problem.m(),
            problem.n(),
            problem.k(),
            operand(problem.a),
            operand(problem.b),
            operand(problem.c0),
            problem.c.data,
            problem.c.row_stride,
            0,
            0};
  }

  const Problems asked_;
  std::vector<Problem> on_device_;  ///< the products with copied operands, if any were copied
  std::optional<HostOperands> hosts_;
  Problems problems_ = asked_;
  const Placement& where_;
  Planner& planner_;
  SessionDevice& device_;
  Lane& lane_;
  std::vector<QueuedProduct> queued_;
  std::vector<Bucket> buckets_;
  std::vector<char> packed_;       ///< kernel arguments of a launch
  std::vector<size_t> set_aside_;  ///< products deferred to batches
  std::vector<const Variant*> variants_;
  std::vector<std::pair<ArithmeticSet, std::optional<size_t>>> decided_;  ///< buckets by exact arithmetics
  Alike latest_;
  std::optional<size_t> latest_bucket_;
  ValueBounds latest_facts_;
};

}  // namespace

std::vector<QueuedProduct> queue_products(Problems problems, const Placement& where, Planner& planner,
                                          SessionDevice& device, Lane& lane) {
  return Group(problems, where, planner, device, lane).run();
}

}  // namespace mpmml::cuda
