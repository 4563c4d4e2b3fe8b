// Tasks of an executor's threads, and the interface that reports their completion. Independent of JavaScript, so that
// it runs without Node (stress/).
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>

#include "addon/failure.h"

namespace mpmml::addon {

class Task;

/// Interface of the submitter of tasks.
class Client {
 public:
  /// Notifies the client that `task` is done, on a thread of the executor unless the task was withdrawn. The client may
  /// destroy the task at once.
  virtual void tell(Task* task) = 0;

 protected:
  ~Client() = default;
};

/// Place where a task spends its time.
enum class Place : uint8_t { kProcessor, kDevice };

class Task {
 public:
  /// A value of 1 in `cancel`, which may be null, requests that the task ends soon because its result isn't needed.
  explicit Task(std::atomic<int32_t>* cancel = nullptr) : cancel_(cancel) {}
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  /// Functions for executors. The first three are called on one thread.
  void try_start() noexcept;
  bool can_finish() noexcept;
  void try_finish() noexcept;
  /// Fails the task before it has been started.
  void withdraw() noexcept;
  void abandon() noexcept;
  /// Returns the place of the task. Called before the task is started, on a thread that could start it. The decision
  /// may take long.
  virtual Place place() noexcept { return Place::kProcessor; }
  const std::atomic<int32_t>* cancel() const { return cancel_; }
  Client* client() const { return client_; }

 protected:
  /// Does or starts the work. The task fails if this function or one of the following throws.
  virtual void start() = 0;
  /// Returns whether finish() would return without waiting.
  virtual bool is_done() { return true; }
  /// Called after start(), unless that threw.
  virtual void finish() {}
  /// Called last, on the thread of start() unless the task was withdrawn. The argument is null after success.
  virtual void conclude(const Failure*) noexcept {}
  /// Returns whether failures have the index of a product.
  virtual bool is_group() const { return false; }

  void set_client(Client& client) { client_ = &client; }
  const std::optional<Failure>& failure() const { return failure_; }

 private:
  void fail() noexcept;

  std::atomic<int32_t>* const cancel_;
  Client* client_ = nullptr;
  std::optional<Failure> failure_;
};

}  // namespace mpmml::addon
