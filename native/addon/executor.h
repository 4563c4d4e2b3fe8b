// The library's own threads: Node's pool has four, which files, DNS and zlib share.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>

namespace mpmml::addon {

class Background;
class Work;

/// Threads that start work in the order in which it was submitted. They are made when there is work for them, and sleep
/// when there is none. Work may go on after it has been started, on a GPU: then its thread starts the next one, and
/// finishes them in order.
class Executor : public std::enable_shared_from_this<Executor> {
 public:
  /// For products on the host: as many threads as Node's pool has.
  static Executor& pool();

  /// For a device that has been opened: one thread, which calls its session.
  static std::shared_ptr<Executor> for_device();

  /// Throws Error if the system refuses the first thread.
  void submit(Work* work);

  /// Fails work that hasn't been started and that `cancel` gives up.
  void withdraw(const std::atomic<int32_t>* cancel);

  /// Gives up the work of an environment: drops what hasn't been started. Doesn't wait.
  void give_up(const Background* owner);

  /// Returns when none of it runs.
  void wait_for(const Background* owner);

  /// Its threads end after the work that has been submitted. Nothing may be submitted from then on.
  void stop();

  /// Gives up the work of an environment on all executors, and waits for it for a limited time, because the process is
  /// about to end: a GPU that hangs must not keep the process from ending. Null: of all environments.
  static void abandon_before_process_ends(const Background* owner);

  Executor(size_t most_threads, size_t most_in_flight);

 private:
  using Clock = std::chrono::steady_clock;

  struct Running {
    Background* owner;
    Work* work;  ///< null after it has been settled, because its owner may then destroy it
  };
  using Place = std::list<Running>::iterator;

  /// What one thread has started and not finished, oldest first.
  struct Flight {
    std::deque<Place> works;
    Clock::time_point last_progress{};
  };

  void add_thread();
  void serve();
  bool start_next(Flight& flight, std::unique_lock<std::mutex>& lock);
  bool finish_first(Flight& flight, std::unique_lock<std::mutex>& lock);
  void pause(Flight& flight, std::unique_lock<std::mutex>& lock);
  void spin(const Flight& flight, Clock::time_point end) const;
  bool can_start(const Flight& flight) const;
  bool runs(const Background* owner) const;

  const size_t most_threads_;
  const size_t most_in_flight_;  ///< of one thread
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable ended_;
  std::deque<Work*> waiting_;
  std::atomic<size_t> arrivals_{0};  ///< the size of waiting_, for threads that spin
  std::list<Running> running_;
  size_t threads_ = 0;
  size_t idle_ = 0;      ///< threads with nothing in flight
  size_t spinning_ = 0;  ///< threads that look for work without being woken
  bool stops_ = false;
};

}  // namespace mpmml::addon
