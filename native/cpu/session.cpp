#include "cpu/session.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/algebra/arithmetic.h"
#include "core/algebra/dispatch.h"
#include "core/algebra/element_types.h"
#include "core/host/clock.h"
#include "core/host/host_memory.h"
#include "core/host/workspace.h"
#include "core/problem/scan.h"
#include "core/problem/with_size.h"
#include "core/status.h"
#include "cpu/loop.h"
#include "cpu/pivots.h"
#include "cpu/product.h"
#include "cpu/successors.h"
#include "cpu/user_product.h"

namespace mpmml::cpu {
namespace {

/// The bytes of a session's matrices. The matrices share it, because they may outlive the session.
struct Count {
  std::atomic<int64_t> used{0};
  std::atomic<int64_t> peak{0};

  void add(int64_t bytes) {
    const int64_t now = used.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    int64_t most = peak.load(std::memory_order_relaxed);
    while (most < now && !peak.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
    }
  }
};

class HostMemory final : public Memory {
 public:
  HostMemory(std::unique_ptr<Workspace> block, int64_t bytes, std::shared_ptr<Count> count)
      : Memory(block->data(), bytes), block_(std::move(block)), count_(std::move(count)) {
    count_->add(bytes);
  }
  ~HostMemory() override { HostMemory::retire(); }
  void retire() override {
    if (counts_) count_->used.fetch_sub(bytes(), std::memory_order_relaxed);
    counts_ = false;
  }

 private:
  bool counts_ = true;
  const std::unique_ptr<Workspace> block_;
  const std::shared_ptr<Count> count_;
};

/// Calls `body(item, line)` for all lines of `batch` matrices, on several threads if the work is large enough.
template <class Body>
void for_each_line(int64_t batch, const Lines& lines, const std::atomic<int32_t>* cancelled, Body body) {
  if (lines.length == 0) return;
  for_each_run_of_elements(CancellationToken{cancelled}, batch * lines.count, lines.length,
                           [&](int64_t first, int64_t end) {
                             for (int64_t line = first; line < end; ++line)
                               body(line / lines.count, line % lines.count);
                           });
}

/// Returns `view` as lines along the dimension of `lines`.
template <class Pointer>
Lines lines_along(const BasicMatrixView<Pointer>& view, const Lines& lines) {
  Lines same = lines;
  same.line_stride = lines.are_columns ? view.col_stride : view.row_stride;
  same.element_stride = lines.are_columns ? view.row_stride : view.col_stride;
  return same;
}

template <class Element, class Pointer>
auto* line_of(const BasicMatrixView<Pointer>& view, const Lines& lines, int64_t item, int64_t line) {
  using MaybeConst = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const Element, Element>;
  return static_cast<MaybeConst*>(view.data) + item * view.batch_stride + line * lines.line_stride;
}

void copy_matrices(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
                   const std::atomic<int32_t>* cancelled) {
  with_size(stored_bytes(dtype, from.storage), [&](auto stored) {
    using Stored = decltype(stored);
    const Lines there(to);
    const Lines here = lines_along(from, there);
    for_each_line(batch, there, cancelled, [&](int64_t item, int64_t line) {
      const auto* source = line_of<Stored>(from, here, item, line);
      auto* target = line_of<Stored>(to, there, item, line);
      if (here.element_stride == 1 && there.element_stride == 1) {
        std::memcpy(target, source, static_cast<size_t>(there.length) * sizeof(Stored));
      } else {
        for (int64_t index = 0; index < there.length; ++index) {
          target[index * there.element_stride] = source[index * here.element_stride];
        }
      }
    });
  });
}

template <class Element>
void fill_with(Element value, int64_t batch, const MutableMatrixView& to) {
  const Lines lines(to);
  for_each_line(batch, lines, nullptr, [&](int64_t item, int64_t line) {
    auto* target = line_of<Element>(to, lines, item, line);
    for (int64_t index = 0; index < lines.length; ++index) target[index * lines.element_stride] = value;
  });
}

/// c ⊕ d: the result of a product whose only candidate is d, accumulated to c.
template <class S>
typename S::Element combined(typename S::Element c, typename S::Element d) {
  if constexpr (S::can_overflow) {
    return S::combine(d, c);
  } else {
    using Arithmetic = Plain<S>;
    bool overflowed = false;
    return Arithmetic::finish(S::combine(Arithmetic::initial(), Arithmetic::encode(d)), c, overflowed);
  }
}

template <class S, class Stored>
void combine_with(int64_t batch, const MutableMatrixView& c, const MatrixView& d) {
  const Lines lines(c);
  const Lines other = lines_along(d, lines);
  for_each_line(batch, lines, nullptr, [&](int64_t item, int64_t line) {
    auto* target = line_of<typename S::Element>(c, lines, item, line);
    const auto* source = line_of<Stored>(d, other, item, line);
    for (int64_t index = 0; index < lines.length; ++index) {
      auto& cell = target[index * lines.element_stride];
      cell = combined<S>(cell, widened<S>(source[index * other.element_stride]));
    }
  });
}

template <class S>
void set_successors_of(int64_t batch, const MatrixView& d, const MutableMatrixView& next) {
  const Lines lines(next, false);
  const Lines other = lines_along(d, lines);
  for_each_line(batch, lines, nullptr, [&](int64_t item, int64_t line) {
    auto* target = line_of<int32_t>(next, lines, item, line);
    const auto* source = line_of<typename S::Element>(d, other, item, line);
    for (int64_t index = 0; index < lines.length; ++index) {
      const bool there = source[index * other.element_stride] != S::zero;
      target[index * lines.element_stride] = there ? static_cast<int32_t>(index) : -1;
    }
  });
}

class CpuSession final : public Session {
 public:
  explicit CpuSession(const Planner& planner) : planner_(planner) {}

  BackendKind backend() const override { return BackendKind::kCpu; }
  int device() const override { return 0; }
  std::string name() const override { return {}; }
  bool is_host() const override { return true; }
  bool works_at_once() const override { return true; }

  std::shared_ptr<Memory> allocate(int64_t bytes) override {
    return std::make_shared<HostMemory>(std::make_unique<Workspace>(bytes, Use::kMatrix), bytes, count_);
  }

  void upload(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
              const std::atomic<int32_t>* cancelled) override {
    copy_matrices(dtype, batch, from, to, cancelled);
  }

  std::unique_ptr<Pending> download(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
                                    const std::atomic<int32_t>* cancelled) override {
    copy_matrices(dtype, batch, from, to, cancelled);
    return std::make_unique<Done>();
  }

  std::unique_ptr<Pending> fill(DataType dtype, int64_t batch, const MutableMatrixView& to, double value) override {
    with_element(dtype, [&](auto element) { fill_with(static_cast<decltype(element)>(value), batch, to); });
    return std::make_unique<Done>();
  }

  std::unique_ptr<Pending> combine(const Operation& operation, int64_t batch, const MutableMatrixView& c,
                                   const MatrixView& d) override {
    require_elements(operation, read_only(c), batch, "the matrix");
    require_elements(operation, d, batch, "d");
    with_semiring(operation, [&](auto semiring) {
      using S = decltype(semiring);
      with_stored<S>(d.storage, [&](auto zero) { combine_with<S, decltype(zero)>(batch, c, d); });
    });
    return std::make_unique<Done>();
  }

  std::unique_ptr<Pending> copy(DataType dtype, int64_t batch, const MatrixView& from,
                                const MutableMatrixView& to) override {
    copy_matrices(dtype, batch, from, to, nullptr);
    return std::make_unique<Done>();
  }

  void receive(Session&, const Memory& source, int64_t source_at, Memory& target, int64_t target_at,
               int64_t bytes) override {
    std::memcpy(static_cast<char*>(target.data()) + target_at, static_cast<const char*>(source.data()) + source_at,
                static_cast<size_t>(bytes));
  }

  ValueRange range(const Operation& operation, int64_t batch, const MatrixView& matrix) override {
    if (!must_scan(operation)) return {};
    return scan_matrices(operation, matrix, batch, {}, scan_runs_of(Problem{}));
  }

  int64_t max_pivots(const Operation&) const override { return kMaxPivots; }

  std::unique_ptr<Pending> eliminate(const Pivots& pivots) override {
    eliminate_pivots(pivots);
    return std::make_unique<Done>();
  }

  std::unique_ptr<Pending> set_successors(const Operation& operation, int64_t batch, const MatrixView& d,
                                          const MutableMatrixView& next) override {
    with_semiring(operation, [&](auto semiring) { set_successors_of<decltype(semiring)>(batch, d, next); });
    return std::make_unique<Done>();
  }

  std::unique_ptr<Pending> mark_tight_edges(const NextNodes& successors) override {
    cpu::mark_tight_edges(successors);
    return std::make_unique<Done>();
  }

  std::unique_ptr<Pending> find_next_nodes(const NextNodes& successors) override {
    cpu::find_next_nodes(successors);
    return std::make_unique<Done>();
  }

  std::unique_ptr<Pending> multiply(Problems problems, const Placement& where) override {
    std::vector<Outcome> outcomes;
    outcomes.reserve(problems.size());
    if (problems.size() == 1) {
      outcomes.push_back(compute(problems.front(), where.variant, planner_));
      return std::make_unique<Done>(std::move(outcomes));
    }
    for (const Problem& problem : problems) {
      of_product(outcomes.size(), [&] { outcomes.push_back(compute(problem, where.variant, planner_)); });
    }
    return std::make_unique<Done>(std::move(outcomes));
  }

  Plan plan(const Problem& problem, const Placement& where) override {
    return planner_.plan(problem, scan(problem), where.variant);
  }

  std::unique_ptr<Pending> multiply_user(const UserProduct& product, const Placement&) override {
    const auto start = Clock::now();
    cpu::multiply_user(product);
    std::vector<Outcome> outcomes(1);
    outcomes.front().timing.kernel = milliseconds_since(start);
    return std::make_unique<Done>(std::move(outcomes));
  }

  std::string explain_user(const UserProduct& product, const Placement&) override { return cpu::explain_user(product); }

  MemoryUse memory_use() override {
    const int64_t used = count_->used.load(std::memory_order_relaxed);
    return {used, used + Workspace::kept_bytes(), count_->peak.load(std::memory_order_relaxed), available_host_bytes(),
            total_host_bytes()};
  }

 private:
  const Planner& planner_;
  const std::shared_ptr<Count> count_ = std::make_shared<Count>();
};

}  // namespace

std::unique_ptr<Session> open_session(const Planner& planner) { return std::make_unique<CpuSession>(planner); }

}  // namespace mpmml::cpu
