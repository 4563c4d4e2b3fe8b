// Runs tasks on executors from several threads at once under ThreadSanitizer: asynchronous, failing, withdrawn and
// cancelled tasks, detached tasks, executors that stop, and clients that end. It is a separate program because Node
// itself causes reports.
//
//   npm run sanitize -- thread
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "addon/executor.h"
#include "addon/task.h"
#include "core/status.h"

namespace mpmml::addon {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

std::atomic<int> wrong{0};

void expect(bool condition, const char* what) {
  if (condition) return;
  ++wrong;
  std::fprintf(stderr, "wrong: %s\n", what);
}

/// State that tasks of one device share and only the device's thread accesses.
struct Device : DetachedTask {
  void prune_completed() noexcept override { ++tidied; }
  int last_started = -1, last_finished = -1;
  int tidied = 0;
  bool closed = false;
};

enum class CancelBehaviour {
  kQuick,
  kRunsUntilCancelled,
  kFailsAtStart,
  kFailsOnCancel,
  kFailsAtFinish,
  kHonoursCancel
};

class Job final : public Task {
 public:
  Job(Client& client, Device* device, int index, CancelBehaviour behaviour, microseconds length,
      std::atomic<int32_t>* cancel)
      : Task(cancel), device_(device), index_(index), behaviour_(behaviour), length_(length), flag_(cancel) {
    set_client(client);
  }

  Place place() noexcept override { return !device_ && index_ % 2 == 1 ? Place::kDevice : Place::kProcessor; }
  bool failed() const { return failure().has_value(); }
  bool has_concluded() const { return concluded_; }

 protected:
  void start() override {
    if (device_) {
      expect(!device_->closed, "a task starts on a device that is closed");
      expect(device_->last_started < index_, "the order in which tasks start");
      device_->last_started = index_;
    }
    end_ = Clock::now() + length_;
    if (behaviour_ == CancelBehaviour::kFailsAtStart) throw Error(ErrorCode::kValue, "at the start");
    if (behaviour_ == CancelBehaviour::kHonoursCancel) {
      while (flag_->load(std::memory_order_relaxed) == 0 && Clock::now() < end_) std::this_thread::yield();
      if (flag_->load(std::memory_order_relaxed) != 0) throw aborted();
    }
  }
  bool is_done() override {
    if (behaviour_ == CancelBehaviour::kFailsOnCancel) throw Error(ErrorCode::kCuda, "when asked");
    return behaviour_ != CancelBehaviour::kRunsUntilCancelled || Clock::now() >= end_;
  }
  void finish() override {
    if (device_) {
      expect(device_->last_finished < index_, "the order in which tasks finish");
      device_->last_finished = index_;
    }
    std::this_thread::sleep_until(end_);
    if (behaviour_ == CancelBehaviour::kFailsAtFinish) throw Error(ErrorCode::kCuda, "at the finish");
  }
  void conclude(const Failure* failure) noexcept override {
    expect((failure != nullptr) == failed(), "what a task is told of its end");
    expect(!concluded_, "a task concludes once");
    concluded_ = true;
  }

 private:
  Device* const device_;
  const int index_;
  const CancelBehaviour behaviour_;
  const microseconds length_;
  std::atomic<int32_t>* const flag_;
  Clock::time_point end_{};
  bool concluded_ = false;
};

/// Closes a device as the last of its tasks.
class Close final : public Task {
 public:
  Close(Client& client, Device& device) : device_(device) { set_client(client); }

 protected:
  void start() override {}
  void finish() override { device_.closed = true; }

 private:
  Device& device_;
};

/// A thread that submits tasks like an environment of JavaScript.
class User final : public Client {
 public:
  explicit User(unsigned seed) : random_(seed) {}

  void tell(Task* task) override {
    std::lock_guard<std::mutex> lock(mutex_);
    told_.push_back(task);
    told_one_.notify_one();
  }

  /// Opens a device, submits work, and ends the device by one of the possible calls.
  void use_device() {
    const auto executor = Executor::for_device(*this);
    const auto device = std::make_shared<Device>();
    work(*executor, device.get(), device);
    const bool closes = random_() % 2 == 0;
    if (closes) {
      submit(*executor, std::make_unique<Close>(*this, *device));
      executor->stop();
      if (random_() % 2 == 0) settle_all();
    }
    executor->abandon(this);
    executor->stop();
    executor->wait_for(this);
    drop_all();
    // The device's thread is idle from now on.
    device->tidied = 0;
    device->closed = true;
  }

  void use_pool() {
    Executor& pool = Executor::pool();
    work(pool, nullptr, nullptr);
    if (random_() % 2 == 0) settle_all();
    pool.abandon(this);
    pool.wait_for(this);
    drop_all();
  }

  void wait_on_devices();

 private:
  void work(Executor& executor, Device* device, const std::shared_ptr<DetachedTask>& chore) {
    const int count = 1 + static_cast<int>(random_() % 200);
    std::list<std::atomic<int32_t>> flags;
    for (int index = 0; index < count; ++index) {
      if (flags.empty() || random_() % 8 == 0) flags.emplace_back(0);
      std::atomic<int32_t>* const flag = &flags.back();
      const auto behaviour = static_cast<CancelBehaviour>(random_() % 6);
      const microseconds length(behaviour == CancelBehaviour::kQuick ? 0 : random_() % 150);
      submit(executor, std::make_unique<Job>(*this, device, index, behaviour, length, flag));
      switch (random_() % 16) {
        case 0:
          flag->store(1, std::memory_order_relaxed);
          executor.withdraw(flag);
          flags.emplace_back(0);
          break;
        case 1:
          if (device) executor.ask_for(chore);
          break;
        case 2:
          settle_all();
          break;
        case 3:
          std::this_thread::sleep_for(microseconds(random_() % 200));
          break;
        default:
          settle_told();
      }
    }
    // Cancelled tasks read their flags until they end.
    flags_.splice(flags_.end(), flags);
  }

  void submit(Executor& executor, std::unique_ptr<Task> task) {
    Task* const submitted = task.get();
    unsettled_.push_back(std::move(task));
    executor.submit(submitted);
  }

  void settle(const std::vector<Task*>& told) {
    for (Task* task : told) {
      if (const auto* job = dynamic_cast<Job*>(task)) expect(job->has_concluded(), "a task that is done has concluded");
      unsettled_.remove_if([&](const std::unique_ptr<Task>& it) { return it.get() == task; });
    }
  }
  void settle_told() {
    std::vector<Task*> told;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      told.swap(told_);
    }
    settle(told);
  }
  void settle_all() {
    while (!unsettled_.empty()) {
      std::vector<Task*> told;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        const bool came = told_one_.wait_for(lock, std::chrono::seconds(60), [&] { return !told_.empty(); });
        expect(came, "a task never ends");
        if (!came) std::abort();
        told.swap(told_);
      }
      settle(told);
    }
  }
  /// Drops all tasks. Called after wait_for().
  void drop_all() {
    settle_told();
    unsettled_.clear();
    flags_.clear();
  }

  std::minstd_rand random_;
  std::list<std::unique_ptr<Task>> unsettled_;
  std::list<std::atomic<int32_t>> flags_;
  std::mutex mutex_;
  std::condition_variable told_one_;
  std::vector<Task*> told_;
};

/// More tasks on devices than run concurrently, which end only after a task on a processor has ended.
class BlockedTask final : public Task {
 public:
  BlockedTask(Client& client, Place place, std::atomic<bool>& done) : place_(place), done_(done) { set_client(client); }
  Place place() noexcept override { return place_; }

 protected:
  void start() override {
    if (place_ == Place::kProcessor) done_ = true;
    const auto latest = Clock::now() + std::chrono::seconds(60);
    while (!done_ && Clock::now() < latest) std::this_thread::yield();
    expect(done_, "devices keep tasks from the processors");
  }

 private:
  const Place place_;
  std::atomic<bool>& done_;
};

void User::wait_on_devices() {
  std::atomic<bool> done{false};
  for (int index = 0; index < 20; ++index)
    submit(Executor::pool(), std::make_unique<BlockedTask>(*this, Place::kDevice, done));
  submit(Executor::pool(), std::make_unique<BlockedTask>(*this, Place::kProcessor, done));
  settle_all();
}

}  // namespace
}  // namespace mpmml::addon

int main(int count, char** arguments) {
  using namespace mpmml::addon;
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 40;
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    threads.emplace_back([rounds, seed] {
      User user(seed);
      for (int round = 0; round < rounds; ++round) round % 3 == 0 ? user.use_pool() : user.use_device();
      user.wait_on_devices();
    });
  }
  for (std::thread& thread : threads) thread.join();
  Executor::detach_at_exit(nullptr);
  std::printf("%d rounds of 4 threads, %d wrong\n", rounds, wrong.load());
  return wrong == 0 ? 0 : 1;
}
