#include "cuda/runtime/session_batch.h"

#include <algorithm>
#include <tuple>

#include "core/algebra/dispatch.h"
#include "core/problem/destination.h"
#include "core/problem/structured.h"
#include "core/status.h"
#include "cuda/runtime/band_copy.h"

namespace mpmml::cuda {
namespace {

/// Limit of the k-steps of a product in a batch, counted without structure. Gathering products of 1400³ takes as long
/// as the batch saves (H200).
constexpr double kMaxSteps = 1024.0 * 1024 * 1024;

/// Limit of the bytes of the gathered matrices of a batch. Packed operands take the same amount in addition.
constexpr int64_t kMaxBytes = int64_t{512} << 20;

/// Returns the key by which products are batched. Semiring, type and overflow policy are equal within a group.
auto key_of(const Problem& problem) {
  const auto& [a, b, c] = problem.structure;
  return std::tuple(problem.m(), problem.n(), problem.k(), a, b, c, problem.a.storage, problem.b.storage,
                    problem.c0.data != nullptr, problem.c0.storage);
}

int64_t bytes_of(const Problem& problem, const MatrixView& view) {
  return view.data ? view.rows * view.cols * stored_bytes(problem.operation.dtype, view.storage) : 0;
}

/// One operand of all products of the batch, contiguous in memory.
struct Gathered {
  std::shared_ptr<ResidentMemory> memory;
  MatrixView view;
};

class Batch {
 public:
  Batch(const std::vector<const Problem*>& problems, SessionDevice& device)
      : problems_(problems), count_(static_cast<int64_t>(problems.size())), device_(device) {}

  /// Returns whether the bounds prove that all values are elements of the semiring and that no sum overflows. Otherwise
  /// products run one by one, because errors name a product.
  bool is_certain() const {
    const Problem& first = *problems_.front();
    const Operation& operation = first.operation;
    const auto range = [&](MatrixView Problem::* which, const Band& band) {
      const MatrixView& view = first.*which;
      ValueRange range = range_of(operation, facts_of(which), view.storage);
      range.has_zero = range.has_zero || !band.is_all(view.rows, view.cols);
      return range;
    };
    const ValueRange a = range(&Problem::a, first.structure.a), b = range(&Problem::b, first.structure.b);
    const ValueBounds c0 = first.c0.data ? facts_of(&Problem::c0) : ValueBounds();
    const std::optional<ArithmeticSet> exact = exact_arithmetics(operation, a, b, &c0);
    return exact && !may_overflow(first, exact->cheapest());
  }

  std::vector<QueuedProduct> queue(const Placement& where, Planner& planner, Lane& lane) {
    Problem batch = *problems_.front();
    batch.batch = count_;
    const Gathered a = gather(&Problem::a, batch.structure.a), b = gather(&Problem::b, batch.structure.b),
                   c0 = gather(&Problem::c0, batch.structure.c), c = place_for(read_only(batch.c), {});
    batch.a = a.view;
    batch.b = b.view;
    batch.c0 = c0.view;
    // Results are visible only after they have been scattered.
    ResultTarget target(batch, true, false);
    target.place(c.memory->data(), c.memory.get());
    QueuedProduct queued = queue_product(target.there(batch), where, planner, device_, lane);
    scatter(c);
    queued.share = 1.0 / static_cast<double>(count_);
    queued.end = nullptr;
    return std::vector<QueuedProduct>(problems_.size(), queued);
  }

 private:
  ValueBounds facts_of(MatrixView Problem::* which) const {
    ValueBounds facts;
    for (const Problem* problem : problems_) facts.merge(resident((problem->*which).memory).facts());
    return facts;
  }

  Gathered place_for(const MatrixView& one, const ValueBounds& facts) {
    const int64_t bytes = count_ * bytes_of(*problems_.front(), one);
    buffers_.push_back(device_.workspace(bytes));
    Gathered gathered{std::make_shared<ResidentMemory>(buffers_.back().get(), bytes, facts),
                      Lines(one).copied_to(buffers_.back().get(), one, count_)};
    gathered.view.memory = gathered.memory.get();
    return gathered;
  }

  Gathered gather(MatrixView Problem::* which, const Band& band) {
    const MatrixView& first = problems_.front()->*which;
    if (!first.data) return {};
    const Gathered gathered = place_for(first, facts_of(which));
    move_inside(Move::kGather, dtype(), count_, gathered.view, band,
                places([&](const Problem& problem) { return problem.*which; }, gathered.view), device_.stream());
    return gathered;
  }

  /// Scatters the results to the products' C.
  void scatter(const Gathered& c) {
    const Band& band = problems_.front()->structure.c;
    for (const Problem* problem : problems_) resident(problem->c.memory).wait_for_readers();
    const MatrixView from = row_major<const void*>(c.memory->data(), c.view.rows, c.view.cols);
    move_inside(Move::kScatter, dtype(), count_, from, band,
                places([](const Problem& problem) { return read_only(problem.c); }, from), device_.stream());
    for (const Problem* problem : problems_) {
      ResidentMemory& target = resident(problem->c.memory);
      const bool is_all =
          band.is_all(problem->m(), problem->n()) && target.is_covered_by(problem->c, problem->operation.dtype, 1);
      target.written(is_all, c.memory->facts(), false);
    }
  }

  /// Returns the positions of the products' matrices, as an array in device memory.
  template <class View>
  const StridedLines* places(View&& view_of, const MatrixView& gathered) {
    std::vector<StridedLines> places;
    places.reserve(problems_.size());
    for (const Problem* problem : problems_) places.emplace_back(view_of(*problem), Lines(gathered).are_columns);
    const auto bytes = static_cast<int64_t>(places.size() * sizeof(StridedLines));
    buffers_.push_back(device_.workspace(bytes));
    device_.send(places.data(), bytes, buffers_.back().get());
    return static_cast<const StridedLines*>(buffers_.back().get());
  }

  DataType dtype() const { return problems_.front()->operation.dtype; }

  const std::vector<const Problem*>& problems_;
  const int64_t count_;
  SessionDevice& device_;
  std::vector<DeviceBuffer> buffers_;
};

}  // namespace

std::optional<ArithmeticSet> exact_arithmetics(const Operation& operation, const ValueRange& a, const ValueRange& b,
                                               const ValueBounds* c0) {
  if (a.has_invalid_element || b.has_invalid_element) return std::nullopt;
  if (c0 && restricts_elements(operation) && c0->has_negative) return std::nullopt;
  return exact_arithmetics(operation, a, b);
}

bool can_be_gathered(const Problem& problem) {
  const double steps = double(problem.outputs()) * double(problem.k());
  return problem.batch == 1 && steps > 0 && steps <= kMaxSteps && is_structured(problem) &&
         !requested_auxiliary(problem) && !problem.known && problem.a.memory && problem.b.memory &&
         (!problem.c0.data || problem.c0.memory);
}

bool comes_before(const Problem& x, const Problem& y) { return key_of(x) < key_of(y); }

bool are_alike(const Problem& x, const Problem& y) { return key_of(x) == key_of(y); }

size_t max_in_batch(const Problem& problem) {
  const int64_t bytes = bytes_of(problem, problem.a) + bytes_of(problem, problem.b) + bytes_of(problem, problem.c0) +
                        bytes_of(problem, read_only(problem.c));
  return static_cast<size_t>(std::max<int64_t>(kMaxBytes / bytes, 1));
}

std::optional<std::vector<QueuedProduct>> queue_batch(const std::vector<const Problem*>& problems,
                                                      const Placement& where, Planner& planner, SessionDevice& device,
                                                      Lane& lane) {
  Batch batch(problems, device);
  if (!batch.is_certain()) return std::nullopt;
  try {
    return batch.queue(where, planner, lane);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kOutOfMemory) return std::nullopt;
    throw;
  }
}

}  // namespace mpmml::cuda
