#include "cuda/runtime/host_products.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/host/workspace.h"
#include "core/problem/destination.h"
#include "core/problem/scan.h"
#include "core/session/blocks.h"
#include "core/status.h"
#include "cuda/plan/workspace.h"
#include "cuda/runtime/product.h"
#include "cuda/runtime/reserved_memory.h"
#include "cuda/runtime/shared_b.h"

namespace mpmml::cuda {
namespace {

/// Limit of the bytes of the matrices of products that run together.
constexpr int64_t kMaxBytesTogether = int64_t{1} << 30;

/// Computes products in a session's memory, and copies all results to the host in one transfer. Memory between the
/// caller's matrices stays unchanged.
std::vector<Outcome> multiply_and_fetch(Session& session, Problems asked, const Placement& where) {
  int64_t bytes = 0;
  for (const Problem& problem : asked) bytes += result_bytes(problem);
  const std::shared_ptr<Memory> memory = session.allocate(bytes);
  std::vector<Problem> there;
  auto* at = static_cast<char*>(memory->data());
  for (const Problem& problem : asked) {
    ResultTarget target(problem, true, false);
    target.place(at, memory.get());
    there.push_back(target.there(problem));
    at += result_bytes(problem);
  }
  std::vector<Outcome> outcomes = session.multiply(there, where)->finish();
  const Workspace dense(static_cast<size_t>(bytes));
  MatrixView all = row_major<const void*>(memory->data(), 1, bytes);
  all.memory = memory.get();
  session.download(DataType::kUint8, 1, all, row_major(dense.data(), 1, bytes), asked.front().cancelled)->finish();
  const auto* from = static_cast<const char*>(dense.data());
  for (const Problem& problem : asked) {
    copy_rows(problem.c, problem.structure.c, problem.operation.dtype, from, 0, problem.batch * problem.m());
    from += result_bytes(problem);
  }
  return outcomes;
}

/// One product: as a whole, or in blocks if the device has too little memory.
class HostProduct final : public Pending {
 public:
  HostProduct(const HostTools& tools, const Problem& problem, const Placement& where)
      : tools_(tools), problem_(problem), where_(where) {}

  void start() {
    if (!problem_.known) require_elements_of_c0(problem_);
    const auto bytes_of = [&](const Problem& part) { return tools_.planner.bytes(part, problem_, where_); };
    // An exact count takes longer than a small product, so an estimate is used below the threshold.
    const int64_t roughly = estimate_workspace_bytes(problem_), limit = where_.device_memory;
    const int64_t needed = roughly <= unreserved_threshold(limit) ? roughly : bytes_of(problem_);
    reserved_.emplace(tools_.device, Ledger::Demand{needed, where_.call}, limit,
                      [this] { return problem_.is_cancelled(); });
    if (needed > reserved_->bytes()) return start_blocks(blocks_of(problem_, reserved_->bytes(), bytes_of));
    work_ = start(problem_);
  }

  /// finish() waits, and copies.
  bool is_done() override { return true; }

  std::vector<Outcome> finish() override {
    if (work_) return work_->finish();
    return {blocks_->finish()};
  }

 private:
  std::unique_ptr<Pending> start(const Problem& one) const {
    return stream_product(one, problem_, where_, tools_.planner, tools_.device);
  }

  void start_blocks(std::vector<Region> blocks) {
    if (where_.shared_b) {
      // Blocks have different strips of B, so they can't share it.
      static_cast<BroadcastOperand*>(where_.shared_b)->refuse();
      throw aborted();
    }
    blocks_.emplace(problem_, std::move(blocks),
                    [this](const Problem& block) { return std::move(start(block)->finish().front()); });
    blocks_->start();
  }

  const HostTools tools_;
  const Problem& problem_;
  const Placement where_;
  std::optional<ReservedMemory> reserved_;
  std::optional<InBlocks> blocks_;
  std::unique_ptr<Pending> work_;
};

/// Device memory for products that run together: their matrices, and the maximum of the workspaces, which are used one
/// after the other.
class BytesTogether {
 public:
  void add(const Problem& problem) {
    matrices_ += matrix_bytes(problem);
    // Matrices of a gathered batch exist twice.
    max_of_one_ = std::max(max_of_one_, 2 * estimate_workspace_bytes(problem));
  }
  int64_t matrices() const { return matrices_; }
  int64_t all() const { return matrices_ + max_of_one_; }

 private:
  int64_t matrices_ = 0, max_of_one_ = 0;
};

/// Computes products in groups that fit into the device's memory.
std::vector<Outcome> multiply_together(const HostTools& tools, Problems problems, const Placement& where) {
  // The capacity is queried once, not for each product.
  std::optional<int64_t> known;
  const auto fits = [&](int64_t bytes) {
    if (bytes <= unreserved_threshold(where.device_memory)) return true;
    if (!known) known = device_capacity(tools.device.device(), where.device_memory);
    return bytes <= *known;
  };
  std::vector<Outcome> outcomes;
  for (size_t first = 0; first < problems.size();) {
    BytesTogether bytes;
    std::vector<Problem> part;
    while (first + part.size() < problems.size()) {
      BytesTogether with_next = bytes;
      with_next.add(problems[first + part.size()]);
      if (!part.empty() && (with_next.matrices() > kMaxBytesTogether || !fits(with_next.all()))) break;
      bytes = with_next;
      part.push_back(problems[first + part.size()]);
    }
    const ReservedMemory reserved(tools.device, {bytes.all(), where.call}, where.device_memory,
                                  [&] { return part.front().is_cancelled(); });
    try {
      for (Outcome& outcome : multiply_and_fetch(tools.session, part, where)) outcomes.push_back(std::move(outcome));
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
  if (requested_auxiliary(problem)) return false;
  BytesTogether bytes;
  bytes.add(problem);
  return bytes.matrices() <= kMaxBytesTogether / 16 && fits_device(where.device, bytes.all(), where.device_memory);
}

}  // namespace mpmml::cuda
