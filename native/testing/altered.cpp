#include "testing/altered.h"

#include <algorithm>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/host/clock.h"
#include "core/session/blocks.h"
#include "core/session/ledger.h"
#include "core/session/session.h"

namespace mpmml {
namespace {

class DelayedWork final : public Pending {
 public:
  DelayedWork(std::unique_ptr<Pending> work, Clock::time_point end, std::shared_ptr<void> running,
              Ledger::MemoryReservation reservation)
      : work_(std::move(work)), end_(end), running_(std::move(running)), reservation_(std::move(reservation)) {}

  bool is_done() override { return Clock::now() >= end_ && work_->is_done(); }
  std::vector<Outcome> finish() override {
    std::this_thread::sleep_until(end_);
    return work_->finish();
  }

 private:
  const std::unique_ptr<Pending> work_;
  const Clock::time_point end_;
  const std::shared_ptr<void> running_;
  const Ledger::MemoryReservation reservation_;
};

bool is_gone(const std::weak_ptr<Memory>& memory) { return memory.expired(); }

class AlteredSession final : public Session {
 public:
  AlteredSession(std::unique_ptr<Session> session, const Alteration& alteration)
      : session_(std::move(session)), alteration_(alteration) {}
  ~AlteredSession() override {
    if (running_.use_count() > 1 || !std::all_of(memories_.begin(), memories_.end(), is_gone)) std::terminate();
  }

  BackendKind backend() const override { return session_->backend(); }
  int device() const override { return session_->device(); }
  std::string name() const override { return session_->name(); }
  bool is_host() const override { return session_->is_host(); }
  void set_cancelled(const std::atomic<int32_t>* cancelled) override { session_->set_cancelled(cancelled); }

  std::shared_ptr<Memory> allocate(int64_t bytes) override { return watched(session_->allocate(bytes)); }
  std::shared_ptr<Memory> allocate_for_peers(int64_t bytes) override {
    return watched(session_->allocate_for_peers(bytes));
  }

  void upload(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
              const std::atomic<int32_t>* cancelled) override {
    session_->upload(dtype, batch, from, to, cancelled);
  }
  std::unique_ptr<Pending> download(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
                                    const std::atomic<int32_t>* cancelled) override {
    return later(session_->download(dtype, batch, from, to, cancelled));
  }
  std::unique_ptr<Pending> fill(DataType dtype, int64_t batch, const MutableMatrixView& to, double value) override {
    return later(session_->fill(dtype, batch, to, value));
  }
  std::unique_ptr<Pending> combine(const Operation& operation, int64_t batch, const MutableMatrixView& c,
                                   const MatrixView& d) override {
    return later(session_->combine(operation, batch, c, d));
  }
  std::unique_ptr<Pending> copy(DataType dtype, int64_t batch, const MatrixView& from,
                                const MutableMatrixView& to) override {
    return later(session_->copy(dtype, batch, from, to));
  }

  std::shared_ptr<StreamEvent> moment() override { return session_->moment(); }
  void follow(const StreamEvent* moment) override { session_->follow(moment); }
  void receive(Session& from, const Memory& source, int64_t source_at, Memory& target, int64_t target_at,
               int64_t bytes) override {
    session_->receive(*static_cast<AlteredSession&>(from).session_, source, source_at, target, target_at, bytes);
  }

  ValueRange range(const Operation& operation, int64_t batch, const MatrixView& matrix) override {
    return session_->range(operation, batch, matrix);
  }
  std::optional<int64_t> find_nan(DataType dtype, int64_t batch, const MatrixView& matrix) override {
    return session_->find_nan(dtype, batch, matrix);
  }

  int64_t max_pivots(const Operation& operation) const override { return session_->max_pivots(operation); }
  std::unique_ptr<Pending> eliminate(const Pivots& pivots) override { return later(session_->eliminate(pivots)); }
  std::unique_ptr<Pending> set_successors(const Operation& operation, int64_t batch, const MatrixView& d,
                                          const MutableMatrixView& next) override {
    return later(session_->set_successors(operation, batch, d, next));
  }
  std::unique_ptr<Pending> mark_tight_edges(const NextNodes& successors) override {
    return later(session_->mark_tight_edges(successors));
  }
  std::unique_ptr<Pending> find_next_nodes(const NextNodes& successors) override {
    return later(session_->find_next_nodes(successors));
  }
  Relaxer* relaxer() override { return session_->relaxer(); }

  std::unique_ptr<Pending> multiply(Problems problems, const Placement& where) override {
    const Problem& first = problems.front();
    const bool divides = alteration_.block_bytes > 0 && problems.size() == 1 && !first.c.memory && first.has_steps();
    if (!divides) return later(session_->multiply(problems, where));
    Ledger::MemoryReservation reservation = reserve_block(first, where);
    return later(multiply_in_blocks(first, where), std::move(reservation));
  }
  bool writes_at_finish() const override { return session_->writes_at_finish(); }
  Plan plan(const Problem& problem, const Placement& where) override { return session_->plan(problem, where); }

  std::unique_ptr<Pending> multiply_user(const UserProduct& product, const Placement& where) override {
    return later(session_->multiply_user(product, where));
  }
  std::unique_ptr<Share> reserve_for_user(const UserProduct& product) override {
    return session_->reserve_for_user(product);
  }
  std::string explain_user(const UserProduct& product, const Placement& where) override {
    return session_->explain_user(product, where);
  }

  MemoryUse memory_use() override { return session_->memory_use(); }
  void collect() override { session_->collect(); }

 private:
  std::unique_ptr<Pending> later(std::unique_ptr<Pending> work, Ledger::MemoryReservation reservation = {}) {
    // Delays are sequential, like the work of a stream.
    end_ = std::max(end_, Clock::now()) + alteration_.delay;
    return std::make_unique<DelayedWork>(std::move(work), end_, running_, std::move(reservation));
  }

  /// Reserves the memory of a block, which is all memory of the device for products. The result owns the reservation,
  /// like on a GPU.
  Ledger::MemoryReservation reserve_block(const Problem& problem, const Placement& where) const {
    // Never destroyed, because threads may still release memory at the end of the process.
    static auto& ledger = *new Ledger;
    return ledger.reserve(
        {alteration_.block_bytes, where.call}, [this](int64_t) { return alteration_.block_bytes; },
        [&problem] { return problem.is_cancelled(); });
  }

  std::unique_ptr<Pending> multiply_in_blocks(const Problem& problem, const Placement& where) {
    const auto bytes_of = [](const Problem& block) { return block.outputs() * element_bytes(block.operation.dtype); };
    InBlocks blocks(problem, blocks_of(problem, alteration_.block_bytes, bytes_of), [&](const Problem& block) {
      return std::move(session_->multiply(block, where)->finish().front());
    });
    blocks.start();
    std::vector<Outcome> outcomes;
    outcomes.push_back(blocks.finish());
    return std::make_unique<Done>(std::move(outcomes));
  }

  std::shared_ptr<Memory> watched(std::shared_ptr<Memory> memory) {
    memories_.erase(std::remove_if(memories_.begin(), memories_.end(), is_gone), memories_.end());
    memories_.push_back(memory);
    return memory;
  }

  const std::unique_ptr<Session> session_;
  const Alteration alteration_;
  Clock::time_point end_{};
  std::vector<std::weak_ptr<Memory>> memories_;
  const std::shared_ptr<void> running_ = std::make_shared<int>();  ///< shared by the work that hasn't ended
};

class AlteredBackend final : public Backend {
 public:
  AlteredBackend(std::shared_ptr<Backend> backend, const Alteration& alteration)
      : backend_(std::move(backend)), alteration_(alteration) {}

  BackendKind kind() const override { return backend_->kind(); }
  const std::vector<const Variant*>& variants() const override { return backend_->variants(); }
  std::string unusable(int device) override {
    if (!has_own_devices() || (device >= 0 && device < alteration_.devices)) return backend_->unusable(real(device));
    return "there is no device " + std::to_string(device) + ": this machine has " +
           std::to_string(alteration_.devices) + ", numbered from 0";
  }
  int device_count() override { return has_own_devices() ? alteration_.devices : backend_->device_count(); }
  MultiDeviceThresholds multi_device_limits() const override {
    if (!has_own_devices()) return backend_->multi_device_limits();
    MultiDeviceThresholds limits;
    limits.uses_all = true;
    limits.min_bytes = 0;
    limits.min_nodes = 4;
    limits.steps_worth_ahead = 1e6;
    return limits;
  }
  std::string refuses(const Problem& problem, const Placement& where) override {
    return backend_->refuses(problem, real(where));
  }
  Plan plan(const Problem& problem, const Placement& where, const ForRuns& for_runs) override {
    return backend_->plan(problem, real(where), for_runs);
  }
  double estimate_ms(const Problem& problem, int device) override {
    return backend_->estimate_ms(problem, real(device));
  }
  bool runs_together(const Problem& problem, const Placement& where) override {
    return backend_->runs_together(problem, real(where));
  }
  ForRuns for_runs(const Problem& problem) override { return backend_->for_runs(problem); }
  std::string refuses_user(const UserProduct& product, const Placement& where) override {
    return backend_->refuses_user(product, real(where));
  }
  double estimate_user_ms(const UserProduct& product, int device) override {
    return backend_->estimate_user_ms(product, real(device));
  }
  std::vector<Folding> fold(const FoldRequest& request, const Placement& where) override {
    return backend_->fold(request, real(where));
  }
  Interactions interact(const InteractionRequest& request, const Placement& where) override {
    return backend_->interact(request, real(where));
  }
  std::unique_ptr<Session> open(int device, int64_t device_memory) override {
    std::unique_ptr<Session> session = backend_->open(real(device), device_memory);
    const bool is_altered = alteration_.delay.count() > 0 || alteration_.block_bytes > 0;
    return is_altered ? std::make_unique<AlteredSession>(std::move(session), alteration_) : std::move(session);
  }

 private:
  bool has_own_devices() const { return alteration_.devices > 0; }
  int real(int device) const { return has_own_devices() ? 0 : device; }
  Placement real(const Placement& where) const { return on_device(real(where.device), where); }

  const std::shared_ptr<Backend> backend_;
  const Alteration alteration_;
};

}  // namespace

std::shared_ptr<Backend> altered(std::shared_ptr<Backend> backend, const Alteration& alteration) {
  return std::make_shared<AlteredBackend>(std::move(backend), alteration);
}

}  // namespace mpmml
