#include "addon/delayed.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace mpmml::addon {
namespace {

using Clock = std::chrono::steady_clock;

class DelayedWork final : public Pending {
 public:
  DelayedWork(std::unique_ptr<Pending> work, std::exception_ptr failure, Clock::time_point end,
              std::shared_ptr<void> token)
      : work_(std::move(work)), failure_(std::move(failure)), end_(end), token_(std::move(token)) {}

  bool is_done() override { return Clock::now() >= end_ && (failure_ || work_->is_done()); }
  std::vector<Outcome> finish() override {
    std::this_thread::sleep_until(end_);
    if (failure_) std::rethrow_exception(failure_);
    return work_->finish();
  }

 private:
  const std::unique_ptr<Pending> work_;
  const std::exception_ptr failure_;
  const Clock::time_point end_;
  const std::shared_ptr<void> token_;
};

class DelayedSession final : public Session {
 public:
  DelayedSession(std::unique_ptr<Session> session, std::chrono::microseconds delay)
      : session_(std::move(session)), delay_(delay) {}

  ~DelayedSession() override {
    const bool outlives_all = token_.use_count() == 1 && std::all_of(memories_.begin(), memories_.end(),
                                                                     [](const auto& it) { return it.expired(); });
    if (!outlives_all) std::terminate();
  }

  BackendKind backend() const override { return session_->backend(); }
  int device() const override { return session_->device(); }
  std::string name() const override { return session_->name(); }
  std::shared_ptr<Memory> allocate(int64_t bytes) override {
    const auto is_gone = [](const std::weak_ptr<Memory>& it) { return it.expired(); };
    memories_.erase(std::remove_if(memories_.begin(), memories_.end(), is_gone), memories_.end());
    std::shared_ptr<Memory> memory = session_->allocate(bytes);
    memories_.push_back(memory);
    return memory;
  }
  void upload(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
              const std::atomic<int32_t>* cancelled) override {
    session_->upload(dtype, batch, from, to, cancelled);
  }
  std::unique_ptr<Pending> download(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
                                    const std::atomic<int32_t>* cancelled) override {
    return delay([&] { return session_->download(dtype, batch, from, to, cancelled); });
  }
  std::unique_ptr<Pending> fill(DataType dtype, int64_t batch, const MutableMatrixView& to, double value) override {
    return delay([&] { return session_->fill(dtype, batch, to, value); });
  }
  std::unique_ptr<Pending> combine(const Operation& operation, int64_t batch, const MutableMatrixView& c,
                                   const MatrixView& d) override {
    return delay([&] { return session_->combine(operation, batch, c, d); });
  }
  std::unique_ptr<Pending> multiply(const std::vector<Problem>& problems, const Placement& where) override {
    return delay([&] { return session_->multiply(problems, where); });
  }
  Plan plan(const Problem& problem, const Placement& where) override { return session_->plan(problem, where); }
  MemoryUse memory_use() override { return session_->memory_use(); }
  void collect() override { session_->collect(); }

 private:
  template <class Start>
  std::unique_ptr<Pending> delay(Start start) {
    // One after the other, as in a stream.
    end_ = std::max(end_, Clock::now()) + delay_;
    try {
      return std::make_unique<DelayedWork>(start(), nullptr, end_, token_);
    } catch (...) {
      return std::make_unique<DelayedWork>(nullptr, std::current_exception(), end_, token_);
    }
  }

  const std::unique_ptr<Session> session_;
  const std::chrono::microseconds delay_;
  Clock::time_point end_{};
  std::vector<std::weak_ptr<Memory>> memories_;
  const std::shared_ptr<void> token_ = std::make_shared<int>();  ///< each work that hasn't ended has it too
};

}  // namespace

std::unique_ptr<Session> delayed(std::unique_ptr<Session> session, int64_t microseconds) {
  return std::make_unique<DelayedSession>(std::move(session), std::chrono::microseconds(microseconds));
}

}  // namespace mpmml::addon
