#include "cuda/runtime/session.h"

#include <algorithm>
#include <array>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

#include "core/algebra/dispatch.h"
#include "core/problem/region.h"
#include "core/status.h"
#include "cuda/device/device.h"
#include "cuda/device/error.h"
#include "cuda/launch/closure.h"
#include "cuda/runtime/edge_rounds.h"
#include "cuda/runtime/elementwise.h"
#include "cuda/runtime/host_products.h"
#include "cuda/runtime/session_device.h"
#include "cuda/runtime/session_group.h"
#include "cuda/runtime/session_source.h"
#include "cuda/runtime/session_user.h"
#include "cuda/runtime/shared_b.h"
#include "cuda/runtime/successors.h"
#include "cuda/runtime/transfer.h"

namespace mpmml::cuda {
namespace {

/// Lanes of pending work, which borrow the session's streams.
class JobLanes {
 public:
  explicit JobLanes(const Lane& owner) : owner_(owner) {}

  std::unique_ptr<Lane> take() {
    if (idle_.empty()) return std::make_unique<Lane>(owner_);
    std::unique_ptr<Lane> lane = std::move(idle_.back());
    idle_.pop_back();
    return lane;
  }
  void give_back(std::unique_ptr<Lane> lane) {
    lane->reset();
    idle_.push_back(std::move(lane));
  }

 private:
  const Lane& owner_;
  std::vector<std::unique_ptr<Lane>> idle_;
};

/// Pending work in the session's stream, up to an event.
class Queued final : public Pending {
 public:
  Queued(JobLanes& lanes, std::unique_ptr<Lane> lane) : lanes_(lanes), lane_(std::move(lane)) {}
  ~Queued() override {
    if (!lane_) return;
    if (end_ && !finished_) cudaStreamSynchronize(lane_->compute(0));
    lanes_.give_back(std::move(lane_));
  }

  Lane& lane() { return *lane_; }

  void add(std::vector<QueuedProduct> products) { products_ = std::move(products); }
  /// Records the event that ends the queued work.
  void close() {
    if (products_.size() == 1) end_ = products_.front().end;
    if (end_) return;
    Event& end = lane_->event();
    end.record(lane_->compute(0));
    end_ = &end;
  }

  bool is_done() override { return end_->has_passed(); }

  std::vector<Outcome> finish() override {
    end_->wait();
    finished_ = true;
    std::vector<Outcome> outcomes;
    outcomes.reserve(products_.size());
    // Products that share a launch are neighbours, so its times are queried from CUDA only once, which is slow.
    const Event* known = nullptr;
    double preparing = 0, computing = 0;
    for (QueuedProduct& product : products_) {
      Timing& timing = product.outcome.timing;
      const auto add = [&](const LaunchTimes& times) {
        if (times.computed != known) {
          known = times.computed;
          preparing = times.packed->since(*times.started);
          computing = times.computed->since(*times.packed);
        }
        timing.analysis += product.share * preparing;
        timing.kernel += product.share * computing;
      };
      if (product.shared.computed) add(product.shared);
      for (const LaunchTimes& times : product.launches) add(times);
      product.problem->count_steps(product.problem->outputs());
      outcomes.push_back(std::move(product.outcome));
    }
    return outcomes;
  }

 private:
  JobLanes& lanes_;
  std::unique_ptr<Lane> lane_;
  std::vector<QueuedProduct> products_;
  const Event* end_ = nullptr;
  bool finished_ = false;
};

/// A copy to the host by separate threads.
class Copy final : public Reader {
 public:
  Copy(int device, const std::atomic<int32_t>* cancelled) : lane_(take_lane(device)) {
    transfers_.emplace(TransferQueue::Direction::kDownload, *lane_, [cancelled] { return is_set(cancelled); });
  }

  /// Copies `source`, which is ready once `stream` has passed this point.
  void start(const HostLayout& host, char* source, cudaStream_t stream) {
    // A small copy is awaited at once.
    Event* const ready = &lane_->event(host.bytes() > kFewBytes);
    ready->record(stream);
    transfers_->add({host, source, nullptr, ready});
    transfers_->start();
  }

  bool is_done() { return !transfers_ || transfers_->is_done(0); }

  /// Waits for the copy, and rethrows its error.
  void finish() {
    wait_for_copy();
    if (failure_) std::rethrow_exception(failure_);
  }

  /// Waits for the copy and returns the lane, so that the next copy can use it before the outcome of this one is
  /// queried.
  void wait_for_copy() override {
    if (!transfers_) return;
    try {
      transfers_->wait(0);
    } catch (...) {
      failure_ = std::current_exception();
    }
    transfers_.reset();
    lane_.reset();
  }

 private:
  LaneHandle lane_;
  std::optional<TransferQueue> transfers_;
  std::exception_ptr failure_;
};

class Download final : public Pending {
 public:
  Download(std::shared_ptr<Copy> copy, DeviceBuffer gathered)
      : gathered_(std::move(gathered)), copy_(std::move(copy)) {}
  bool is_done() override { return copy_->is_done(); }
  std::vector<Outcome> finish() override {
    copy_->finish();
    return {};
  }

 private:
  DeviceBuffer gathered_;
  std::shared_ptr<Copy> copy_;
};

/// Cache of the latest plans, because programs often compute similar products in a row, and planning takes a few
/// microseconds.
class LatestPlans final : public Planner {
 public:
  explicit LatestPlans(Planner& planner) : planner_(planner) {}

  int64_t bytes(const Problem& block, const Problem& whole, const Placement& where) override {
    return planner_.bytes(block, whole, where);
  }

  Plan plan(const Problem& problem, const ValueRange& a, const ValueRange& b, const Placement& where) override {
    const Key key{problem.operation.semiring,
                  problem.operation.dtype,
                  where.variant,
                  exact_arithmetics(problem.operation, a, b),
                  {problem.batch, problem.m(), problem.n(), problem.k(), items_of(problem.a, problem.batch),
                   items_of(problem.b, problem.batch), problem.has_narrow(), requested_auxiliary(problem),
                   problem.witness.data && numbers_fit(a, b, problem.k())},
                  problem.structure};
    for (const auto& [known, plan] : plans_) {
      if (known == key) return plan;
    }
    if (plans_.size() < kMost) plans_.emplace_back();
    auto& entry = plans_[next_++ % kMost];
    entry = {key, planner_.plan(problem, a, b, where)};
    return entry.second;
  }

 private:
  static constexpr size_t kMost = 16;
  struct Key {
    SemiringId semiring;
    DataType dtype;
    const Variant* requested;
    ArithmeticSet exact;
    std::array<int64_t, 9> sizes;
    Structure structure;

    bool operator==(const Key& other) const {
      return semiring == other.semiring && dtype == other.dtype && requested == other.requested &&
             exact == other.exact && sizes == other.sizes && structure == other.structure;
    }
  };
  Planner& planner_;
  std::vector<std::pair<Key, Plan>> plans_;
  size_t next_ = 0;
};

class StreamReached final : public StreamEvent {
 public:
  explicit StreamReached(cudaStream_t stream) { event_.record(stream); }
  void hold(cudaStream_t stream) const { event_.hold(stream); }

 private:
  Event event_;
};

class CudaSession final : public Session {
 public:
  CudaSession(int device, int64_t limit, Planner& planner, bool is_ahead)
      : device_(std::make_shared<SessionDevice>(device, limit, is_ahead)),
        lanes_(device_->lane()),
        edge_rounds_(*device_),
        planner_(planner),
        latest_plans_(planner),
        name_(device_name(device)) {}

  ~CudaSession() override {
    try {
      device_->enter();
      cudaStreamSynchronize(stream());
    } catch (const std::exception&) {
      // CUDA has failed permanently, so no work is running.
    }
  }

  BackendKind backend() const override { return BackendKind::kCuda; }
  int device() const override { return device_->device(); }
  std::string name() const override { return name_; }
  MemoryUse memory_use() override { return device_->use(); }

  std::unique_ptr<Session> open_ahead() override {
    return std::make_unique<CudaSession>(device(), device_->limit(), planner_, true);
  }

  void collect() override {
    try {
      device_->enter();
      // The pool returns its excess memory to the driver when a thread synchronizes with a stream.
      MPMML_CUDA(cudaStreamSynchronize(stream()));
    } catch (const std::exception&) {
      // CUDA has failed permanently; the next product reports it.
    }
  }

  void set_cancelled(const std::atomic<int32_t>* cancelled) override { device_->set_cancelled(cancelled); }

  std::shared_ptr<Memory> allocate(int64_t bytes) override {
    device_->enter();
    return device_->allocate(bytes);
  }

  std::shared_ptr<Memory> allocate_for_peers(int64_t bytes) override {
    device_->enter();
    return device_->allocate(bytes, true);
  }

  void upload(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
              const std::atomic<int32_t>* cancelled) override {
    device_->enter();
    resident(to.memory).wait_for_readers();
    const HostLayout host = host_layout(from, batch, dtype, false);
    // A batch with stride 0 (one matrix repeated) is copied once, and replicated on the device.
    const bool is_dense = is_row_major(to, batch) && host.items == batch;
    DeviceBuffer apart;
    if (!is_dense) apart = device_->workspace(host.bytes());
    device_->upload(host, is_dense ? to.data : apart.get(), cancelled);
    if (!is_dense) {
      MatrixView copied = row_major<const void*>(apart.get(), from.rows, from.cols);
      if (host.items == 1) copied.batch_stride = 0;
      copied.storage = from.storage;
      copy_matrices(dtype, batch, copied, to, stream());
    }
    ResidentMemory& memory = resident(to.memory);
    const bool all = memory.is_covered_by(to, dtype, batch);
    memory.written(all, all ? device_->scan(dtype, to.storage, memory) : unbounded(), true);
  }

  std::unique_ptr<Pending> download(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
                                    const std::atomic<int32_t>* cancelled) override {
    device_->enter();
    DeviceBuffer gathered;
    auto* source = static_cast<char*>(const_cast<void*>(from.data));
    if (!is_row_major(from, batch)) {
      gathered = device_->workspace(batch * from.rows * from.cols * stored_bytes(dtype, from.storage));
      copy_matrices(dtype, batch, from, row_major(gathered.get(), from.rows, from.cols), stream());
      source = static_cast<char*>(gathered.get());
    }
    MatrixView target = read_only(to);
    target.storage = from.storage;
    await_turn_to_copy();
    auto copy = std::make_shared<Copy>(device(), cancelled);
    copies_.push_back(copy);
    resident(from.memory).read_by(copy);
    copy->start(host_layout(target, batch, dtype, false), source, stream());
    return std::make_unique<Download>(std::move(copy), std::move(gathered));
  }

  std::unique_ptr<Pending> fill(DataType dtype, int64_t batch, const MutableMatrixView& to, double value) override {
    device_->enter();
    resident(to.memory).wait_for_readers();
    fill_matrices(dtype, batch, to, value, stream());
    mark_written(to, dtype, batch, facts_of_fill(dtype, value), true);
    return queued();
  }

  std::unique_ptr<Pending> combine(const Operation& operation, int64_t batch, const MutableMatrixView& c,
                                   const MatrixView& d) override {
    device_->enter();
    ResidentMemory& memory = resident(c.memory);
    require_elements(operation, batch, read_only(c), "the matrix");
    require_elements(operation, batch, d, "d");
    memory.wait_for_readers();
    combine_matrices(operation, batch, c, d, stream());
    mark_written(c, operation.dtype, batch,
                 facts_of_combination(operation, memory.facts(), resident(d.memory).facts(), d.storage));
    return queued();
  }

  std::unique_ptr<Pending> copy(DataType dtype, int64_t batch, const MatrixView& from,
                                const MutableMatrixView& to) override {
    device_->enter();
    const ResidentMemory& source = resident(from.memory);
    resident(to.memory).wait_for_readers();
    copy_matrices(dtype, batch, from, to, stream());
    const bool all_is_copied = items_of(from, batch) == batch && source.is_covered_by(from, dtype, batch);
    mark_written(to, dtype, batch, source.facts(), source.is_exact() && all_is_copied);
    return queued();
  }

  std::shared_ptr<StreamEvent> moment() override {
    device_->enter();
    return std::make_shared<StreamReached>(stream());
  }

  void follow(const StreamEvent* moment) override {
    if (moment) static_cast<const StreamReached*>(moment)->hold(stream());
  }

  void receive(Session& from, const Memory& source, int64_t source_at, Memory& target, int64_t target_at,
               int64_t bytes) override {
    auto& other = static_cast<CudaSession&>(from);
    auto& read = static_cast<const ResidentMemory&>(source);
    auto& written = static_cast<ResidentMemory&>(target);
    // Without peer access the copy is staged through the host.
    let_peer_read(other.device(), device());
    device_->enter();
    written.wait_for_readers();
    MPMML_CUDA(cudaMemcpyPeerAsync(static_cast<char*>(target.data()) + target_at, device(),
                                   static_cast<const char*>(source.data()) + source_at, other.device(),
                                   static_cast<size_t>(bytes), stream()));
    written.written(bytes == target.bytes(), read.facts(), bytes == source.bytes() && read.is_exact());
  }

  ValueRange range(const Operation& operation, int64_t batch, const MatrixView& matrix) override {
    device_->enter();
    ResidentMemory& memory = resident(matrix.memory);
    const DataType dtype = operation.dtype;
    const bool is_all = memory.is_covered_by(matrix, dtype, batch);
    if (is_all && !memory.is_exact()) memory.found(device_->scan(dtype, matrix.storage, memory));
    if (is_all) return range_of(operation, memory.facts(), matrix.storage);
    const DeviceBuffer gathered =
        device_->workspace(batch * matrix.rows * matrix.cols * stored_bytes(dtype, matrix.storage));
    copy_matrices(dtype, batch, matrix, row_major(gathered.get(), matrix.rows, matrix.cols), stream());
    const ValueBounds facts = device_->scan(dtype, matrix.storage, gathered.get(), batch * matrix.rows * matrix.cols);
    return range_of(operation, facts, matrix.storage);
  }

  std::optional<int64_t> find_nan(DataType dtype, int64_t batch, const MatrixView& matrix) override {
    if (dtype != DataType::kFloat32 && dtype != DataType::kFloat64) return std::nullopt;
    device_->enter();
    return device_->find_nan(dtype, batch, matrix);
  }

  int64_t max_pivots(const Operation& operation) const override { return cuda::max_pivots(operation); }

  std::unique_ptr<Pending> eliminate(const Pivots& pivots) override {
    device_->enter();
    const auto write = [&](const MutableMatrixView& view, DataType dtype, bool may_be_negative) {
      ValueBounds facts = unbounded();
      facts.has_negative = may_be_negative;
      mark_written(view, dtype, pivots.batch, facts);
    };
    // Products of nonnegative elements are nonnegative.
    const bool may_be_negative =
        !restricts_elements(pivots.operation) || resident(pivots.down.memory).facts().has_negative;
    for (const auto* view : {&pivots.down, &pivots.along, &pivots.columns, &pivots.rows}) {
      if (view->data) write(*view, pivots.operation.dtype, may_be_negative);
    }
    for (const auto* view : {&pivots.next_down, &pivots.next_along, &pivots.next_columns, &pivots.gain}) {
      if (view->data) write(*view, DataType::kInt32, true);
    }
    ClosureLaunch launch{};
    launch.batch = pivots.batch;
    launch.count = static_cast<int>(pivots.count);
    launch.down = pivots.down;
    launch.along = pivots.along;
    launch.first_row = static_cast<int>(pivots.first_row);
    launch.first_col = static_cast<int>(pivots.first_col);
    launch.next_down = pivots.next_down;
    launch.next_along = pivots.next_along;
    launch.first_node = static_cast<int>(pivots.first_node);
    launch.columns = pivots.columns;
    launch.rows = pivots.rows;
    launch.next_columns = pivots.next_columns;
    launch.gain = static_cast<int32_t*>(pivots.gain.data);
    launch.gain_stride = pivots.gain.batch_stride;
    launch.arrivals = device_->arrivals();
    launch.stream = stream();
    closure_kernel(pivots).launch(launch);
    return queued();
  }

  std::unique_ptr<Pending> set_successors(const Operation& operation, int64_t batch, const MatrixView& d,
                                          const MutableMatrixView& next) override {
    device_->enter();
    ValueBounds facts;
    facts.include(-1, d.cols - 1);
    facts.has_negative = true;
    mark_written(next, DataType::kInt32, batch, facts);
    cuda::set_successors(operation, batch, d, next, stream());
    return queued();
  }

  std::unique_ptr<Pending> mark_tight_edges(const NextNodes& successors) override {
    device_->enter();
    write_successors(successors);
    cuda::mark_tight_edges(successors, stream());
    return queued();
  }

  std::unique_ptr<Pending> find_next_nodes(const NextNodes& successors) override {
    device_->enter();
    write_successors(successors);
    // A few rows at a time, so that the search can be cancelled. The cost assumes this fraction of the nodes per row;
    // the real fraction is usually less, but may be a half.
    constexpr double kShareTried = 0.125;
    const int64_t m = successors.next.rows;
    const double steps_of_row = kShareTried * static_cast<double>(successors.batch) *
                                static_cast<double>(successors.via.rows) * static_cast<double>(successors.via.cols);
    const double most = std::clamp(SessionDevice::kMaxSteps / std::max(steps_of_row, 1.0), 1.0, std::max<double>(m, 1));
    const int64_t at_once = round_up(static_cast<int64_t>(most), kRowsTogether);
    for (int64_t first = 0; first < m; first += at_once) {
      const Span rows{first, std::min(first + at_once, m)};
      NextNodes part = successors;
      part.d = sub(successors.d, successors.operation.dtype, rows, {0, successors.d.cols});
      part.next = sub(successors.next, DataType::kInt32, rows, {0, successors.next.cols});
      device_->queue_in_turn(
          steps_of_row * static_cast<double>(rows.size()), stream(), [&] { return is_set(successors.cancelled); },
          [&] { cuda::find_next_nodes(part, stream()); });
    }
    return queued();
  }

  Relaxer* relaxer() override { return &edge_rounds_; }

  std::unique_ptr<Pending> multiply(Problems problems, const Placement& where) override {
    device_->enter();
    const bool is_on_host = !problems.empty() && !problems.front().c.memory;
    if (is_on_host) return multiply_on_host({*this, *device_, planner_}, problems, where);
    auto work = std::make_unique<Queued>(lanes_, lanes_.take());
    work->add(queue_products(problems, where, latest_plans_, *device_, work->lane()));
    work->close();
    return work;
  }

  bool writes_at_finish() const override { return true; }

  std::unique_ptr<SharedOperand> broadcast_b(const std::vector<Problem>& parts,
                                             const std::vector<Session*>& sessions) override {
    std::vector<int> devices;
    for (const Session* session : sessions) devices.push_back(session->device());
    return cuda::broadcast_b(parts, devices);
  }

  std::unique_ptr<Share> reserve_for_user(const UserProduct& product) override {
    device_->enter();
    return cuda::reserve_for_user(product, *device_);
  }

  std::unique_ptr<Pending> multiply_user(const UserProduct& product, const Placement& /*where*/) override {
    device_->enter();
    return cuda::multiply_user(product, *device_);
  }

  std::string explain_user(const UserProduct& product, const Placement& /*where*/) override {
    device_->enter();
    return cuda::explain_user(product, *device_);
  }

  Plan plan(const Problem& problem, const Placement& where) override {
    device_->enter();
    const std::unique_ptr<Lane> lane = lanes_.take();
    return plan_product(problem, where, latest_plans_, *device_, *lane);
  }

 private:
  cudaStream_t stream() const { return device_->stream(); }

  std::unique_ptr<Queued> queued() {
    auto work = std::make_unique<Queued>(lanes_, lanes_.take());
    work->close();
    return work;
  }

  static void write_successors(const NextNodes& successors) {
    ValueBounds facts;
    facts.include(kNoWitness, successors.next.cols - 1);
    facts.has_negative = true;
    mark_written(successors.next, DataType::kInt32, successors.batch, facts);
  }

  /// Waits until another copy may start. Copies are serialized on the bus, and each needs threads and pinned memory:
  /// two copies keep the bus busy.
  void await_turn_to_copy() {
    constexpr size_t kMaxCopies = 2;
    for (; copies_.size() >= kMaxCopies; copies_.pop_front()) {
      if (const std::shared_ptr<Copy> oldest = copies_.front().lock()) oldest->wait_for_copy();
    }
  }

  void require_elements(const Operation& operation, int64_t batch, const MatrixView& view, const char* name) {
    if (!restricts_elements(operation)) return;
    Problem problem;
    problem.operation = operation;
    problem.batch = batch;
    Sources sources(problem, *device_);
    Source source = sources.find(view, {});
    sources.require_elements(source, name);
  }

  const std::shared_ptr<SessionDevice> device_;
  JobLanes lanes_;
  EdgeRounds edge_rounds_;
  std::deque<std::weak_ptr<Copy>> copies_;  ///< latest last
  Planner& planner_;
  LatestPlans latest_plans_;
  const std::string name_;
};

}  // namespace

std::unique_ptr<Session> open_session(int device, int64_t device_memory, Planner& planner) {
  return std::make_unique<CudaSession>(device, device_memory, planner, false);
}

}  // namespace mpmml::cuda
