#include "cuda/runtime/worker_threads.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/host/fault_injection.h"
#include "core/status.h"

namespace mpmml::cuda {
namespace {

class WorkerThreads {
 public:
  void run(std::function<void()> task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    // A task gets an idle thread of its own and never waits for a busy one, because the busy one may wait for this
    // task.
    tasks_.push_back(std::move(task));
    if (idle_ < tasks_.size()) {
      try {
        before_thread();
        std::thread([this] { work(); }).detach();
      } catch (const std::exception& error) {
        tasks_.pop_back();
        throw Error(ErrorCode::kOutOfMemory,
                    std::string("the system refused to start a thread to copy matrices with: ") + error.what());
      }
      ++idle_;
    }
    changed_.notify_one();
  }

 private:
  void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !tasks_.empty(); });
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      --idle_;
      lock.unlock();
      task();
      lock.lock();
      ++idle_;
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  size_t idle_ = 0;  ///< threads that wait for a task, or will as soon as they have started
};

}  // namespace

void run_on_thread(std::function<void()> task) {
  // Never destroyed, because its threads outlive static objects.
  static auto* const threads = new WorkerThreads;
  threads->run(std::move(task));
}

}  // namespace mpmml::cuda
