#include "addon/delayed.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

namespace mpmml::addon {
namespace {

using Clock = std::chrono::steady_clock;

class DelayedWork final : public Pending {
 public:
  DelayedWork(std::unique_ptr<Pending> work, Clock::time_point end, std::shared_ptr<void> running)
      : work_(std::move(work)), end_(end), running_(std::move(running)) {}

  bool is_done() override { return Clock::now() >= end_ && work_->is_done(); }
  std::vector<Outcome> finish() override {
    std::this_thread::sleep_until(end_);
    return work_->finish();
  }

 private:
  const std::unique_ptr<Pending> work_;
  const Clock::time_point end_;
  const std::shared_ptr<void> running_;
};

bool is_gone(const std::weak_ptr<Memory>& memory) { return memory.expired(); }

}  // namespace

std::unique_ptr<Pending> Delay::start(const std::function<std::unique_ptr<Pending>()>& start) {
  std::unique_ptr<Pending> work = start();
  // One after the other, as in a stream.
  end_ = std::max(end_, Clock::now()) + length_;
  return std::make_unique<DelayedWork>(std::move(work), end_, running_);
}

void Delay::watch(const std::shared_ptr<Memory>& memory) {
  memories_.erase(std::remove_if(memories_.begin(), memories_.end(), is_gone), memories_.end());
  memories_.push_back(memory);
}

void Delay::require_all_ended() const {
  if (running_.use_count() > 1 || !std::all_of(memories_.begin(), memories_.end(), is_gone)) std::terminate();
}

}  // namespace mpmml::addon
