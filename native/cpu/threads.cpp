#include "cpu/threads.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/host/fault_injection.h"
#include "cpu/machine.h"

namespace mpmml::cpu {
namespace {

struct Job {
  const Task task;
  const int64_t count;
  std::atomic<int64_t> next{0};
  int helpers = 0;  ///< threads of the pool inside work(); guarded by the pool's mutex
  std::exception_ptr failure{};

  void work() {
    for (int64_t index; (index = next.fetch_add(1, std::memory_order_relaxed)) < count;) task(index);
  }
  void abandon() { next.store(count, std::memory_order_relaxed); }
};

class Pool {
 public:
  explicit Pool(int helpers) {
    for (int i = 0; i < helpers; ++i) {
      try {
        before_thread();
        std::thread([this] { help(); }).detach();
      } catch (const std::exception&) {
        return;  // The process is at its limit of threads: the pool works with the existing ones.
      }
    }
  }

  void run(Job& job) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      jobs_.push_back(&job);
    }
    arrived_.notify_all();
    attempt(job);
    std::unique_lock<std::mutex> lock(mutex_);
    withdraw(job);
    left_.wait(lock, [&] { return job.helpers == 0; });
    if (job.failure) std::rethrow_exception(job.failure);
  }

 private:
  void attempt(Job& job) {
    try {
      job.work();
    } catch (...) {
      job.abandon();
      std::lock_guard<std::mutex> lock(mutex_);
      if (!job.failure) job.failure = std::current_exception();
    }
  }

  void withdraw(const Job& job) {
    for (size_t i = 0; i < jobs_.size(); ++i) {
      if (jobs_[i] == &job) {
        jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
        return;
      }
    }
  }

  [[noreturn]] void help() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      arrived_.wait(lock, [&] { return !jobs_.empty(); });
      Job& job = *jobs_.front();
      ++job.helpers;
      lock.unlock();
      attempt(job);
      lock.lock();
      withdraw(job);
      if (--job.helpers == 0) left_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable left_;
  std::vector<Job*> jobs_;  ///< jobs with work left, oldest first
};

}  // namespace

int thread_count() {
  static const int count = available_threads();
  return count;
}

void parallel_for(int64_t count, Task task) {
  Job job{task, count};
  if (count <= 1 || thread_count() == 1) return job.work();
  // Never destroyed, because the threads may still use the pool at the end of the process.
  static Pool* const pool = new Pool(thread_count() - 1);
  pool->run(job);
}

}  // namespace mpmml::cpu
