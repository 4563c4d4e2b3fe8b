#include "cuda/runtime/host_products.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "core/host/workspace.h"
#include "core/problem/destination.h"
#include "core/problem/scan.h"
#include "core/session/blocks.h"
#include "core/status.h"
#include "cuda/plan/workspace.h"
#include "cuda/runtime/admitted.h"
#include "cuda/runtime/product.h"
#include "cuda/runtime/shared_b.h"

namespace mpmml::cuda {
namespace {

/// The matrices of products that go to a device at once.
constexpr int64_t kMostBytesTogether = int64_t{1} << 30;

int64_t bytes_of_result(const Problem& problem, DataType dtype) {
  return round_up(problem.outputs() * element_bytes(dtype), kMatrixAlignment);
}

/// Products whose results are made in the session's memory, and copied to the host by finish().
class FetchedProducts final : public Pending {
 public:
  FetchedProducts(Session& session, Problems problems, const Placement& where)
      : session_(session), asked_(problems), there_(problems.begin(), problems.end()) {
    int64_t bytes = 0;
    std::vector<MutableMatrixView*> results;
    std::vector<int64_t> places;
    const auto add = [&](Problem& problem, DataType dtype, MutableMatrixView& view) {
      if (!view.data) return;
      results.push_back(&view);
      places.push_back(bytes);
      view = row_major<void*>(nullptr, problem.m(), problem.n());
      bytes += bytes_of_result(problem, dtype);
    };
    for (Problem& problem : there_) {
      add(problem, problem.operation.dtype, problem.c);
      for_further(problem, [&](const FurtherResult& it) { add(problem, kFurtherType, problem.*it.view); });
      problem.keeps_c = false;
    }
    memory_ = session.allocate(bytes);
    for (size_t index = 0; index < results.size(); ++index) {
      results[index]->data = static_cast<char*>(memory_->data()) + places[index];
      results[index]->memory = memory_.get();
    }
    work_ = session.multiply(there_, where);
  }

  bool is_done() override { return work_->is_done(); }

  std::vector<Outcome> finish() override {
    using Clock = std::chrono::steady_clock;
    std::vector<Outcome> outcomes = work_->finish();
    const Clock::time_point start = Clock::now();
    const Problem& first = asked_.front();
    if (asked_.size() == 1 && first.structure.c.is_all(first.m(), first.n())) {
      download(first.operation.dtype, first.batch, read_only(there_.front().c), first.c);
      for_further(first, [&](const FurtherResult& it) {
        download(kFurtherType, first.batch, read_only(there_.front().*it.view), first.*it.view);
      });
    } else {
      download_inside();
    }
    if (asked_.size() == 1) {
      outcomes.front().timing.d2h = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    }
    return outcomes;
  }

 private:
  void download(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to) {
    session_.download(dtype, batch, from, to, asked_.front().cancelled)->finish();
  }

  /// In one copy for all. What is outside of the caller's matrices stays.
  void download_inside() {
    const int64_t bytes = memory_->bytes();
    const Workspace dense(static_cast<size_t>(bytes));
    MatrixView all = row_major<const void*>(memory_->data(), 1, bytes);
    all.memory = memory_.get();
    download(DataType::kUint8, 1, all, row_major(dense.data(), 1, bytes));
    const auto on_host = [&](const MutableMatrixView& view) {
      return static_cast<const char*>(dense.data()) +
             (static_cast<const char*>(view.data) - static_cast<const char*>(memory_->data()));
    };
    for (size_t index = 0; index < asked_.size(); ++index) {
      const Problem &problem = asked_[index], &there = there_[index];
      const int64_t rows = problem.batch * problem.m();
      copy_rows(problem.c, problem.structure.c, problem.operation.dtype, on_host(there.c), 0, rows);
      for_further(problem, [&](const FurtherResult& it) {
        copy_rows(problem.*it.view, problem.structure.c, kFurtherType, on_host(there.*it.view), 0, rows);
      });
    }
  }

  Session& session_;
  const Problems asked_;
  std::vector<Problem> there_;  ///< the same with results in the session's memory
  std::shared_ptr<Memory> memory_;
  std::unique_ptr<Pending> work_;
};

/// One product: as a whole, or in blocks if the device has no memory for that.
class HostProduct final : public Pending {
 public:
  HostProduct(const HostTools& tools, const Problem& problem, const Placement& where)
      : tools_(tools), problem_(problem), where_(where) {}

  void start() {
    if (!problem_.known) require_elements_of_c0(problem_);
    const int64_t little = little_memory(where_.device_memory);
    if (roughly_needed_bytes(problem_) <= little) {
      admitted_.emplace(tools_.device, little, Reservation());
    } else {
      const auto bytes_of = [&](const Problem& part) { return tools_.bytes_of(part, problem_, where_); };
      const int64_t needed = bytes_of(problem_),
                    capacity = device_capacity(tools_.device.device(), where_.device_memory);
      const int64_t reserved = std::min(needed, capacity);
      admitted_.emplace(tools_.device, reserved, admit(tools_.device.device(), reserved, where_.device_memory, [this] {
                          return problem_.is_cancelled();
                        }));
      if (needed > capacity) return start_blocks(blocks_of(problem_, capacity, bytes_of));
    }
    work_ = start(problem_, where_);
  }

  /// finish() waits, and copies.
  bool is_done() override { return true; }

  std::vector<Outcome> finish() override {
    if (work_) return work_->finish();
    return {blocks_->finish()};
  }

 private:
  /// Only the products of a session's own matrices have further results.
  std::unique_ptr<Pending> start(const Problem& one, const Placement& where) const {
    if (further_asked(one)) return std::make_unique<FetchedProducts>(tools_.session, one, where);
    return stream_product(one, problem_, where, tools_.planner, tools_.device);
  }

  void start_blocks(std::vector<Region> blocks) {
    if (where_.shared_b) {
      // Blocks have other strips.
      static_cast<SharedB*>(where_.shared_b)->refuse();
      throw given_up();
    }
    blocks_.emplace(problem_, std::move(blocks), values_may_fail(problem_.operation) || where_.variant,
                    [this](const Problem& block) { return std::move(start(block, where_)->finish().front()); });
    blocks_->start();
  }

  const HostTools tools_;
  const Problem& problem_;
  const Placement where_;
  std::optional<Admitted> admitted_;
  std::optional<InBlocks> blocks_;
  std::unique_ptr<Pending> work_;
};

/// What products that run together take of the device's memory: their matrices, and what one after the other packs and
/// gathers.
class BytesTogether {
 public:
  void add(const Problem& problem) {
    matrices_ += operand_bytes(problem) + bytes_of_result(problem, problem.operation.dtype);
    // Each of a batch that is gathered is there twice.
    most_of_one_ = std::max(most_of_one_, 2 * roughly_needed_bytes(problem));
  }
  int64_t matrices() const { return matrices_; }
  int64_t all() const { return matrices_ + most_of_one_; }

 private:
  int64_t matrices_ = 0, most_of_one_ = 0;
};

/// Computes products together, as many at a time as there is memory for.
std::vector<Outcome> multiply_together(const HostTools& tools, Problems problems, const Placement& where) {
  const int64_t little = little_memory(where.device_memory);
  std::optional<int64_t> known;
  const auto capacity = [&] {
    if (!known) known = std::max(little, device_capacity(tools.device.device(), where.device_memory));
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
    const Admitted admitted(tools.device, reserved,
                            reserved <= little ? Reservation()
                                               : admit(tools.device.device(), reserved, where.device_memory,
                                                       [&] { return part.front().is_cancelled(); }));
    try {
      for (Outcome& outcome : FetchedProducts(tools.session, part, where).finish())
        outcomes.push_back(std::move(outcome));
    } catch (const Error& error) {
      throw Error(error.code(), error.what(), first + error.product().value_or(0));
    }
    first += part.size();
  }
  return outcomes;
}

}  // namespace

std::unique_ptr<Pending> multiply_on_host(const HostTools& tools, Problems problems, const Placement& where) {
  if (problems.size() > 1 || !problems.front().has_steps())
    return std::make_unique<Done>(multiply_together(tools, problems, where));
  auto product = std::make_unique<HostProduct>(tools, problems.front(), where);
  product->start();
  return product;
}

bool runs_together(const Problem& problem, const Placement& where) {
  if (further_asked(problem)) return false;
  BytesTogether bytes;
  bytes.add(problem);
  if (bytes.matrices() > kMostBytesTogether / 16) return false;
  return bytes.all() <= little_memory(where.device_memory) ||
         bytes.all() <= device_capacity(where.device, where.device_memory);
}

}  // namespace mpmml::cuda
