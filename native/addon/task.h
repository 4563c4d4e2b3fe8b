// What an executor's threads do, and what is called when it is done. Nothing here knows JavaScript, so that it runs without Node
// (stress/).
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>

#include "addon/failure.h"

namespace mpmml::addon {

class Task;

/// Whoever submits tasks.
class Client {
 public:
  /// To be called when `task` is done, on a thread of the executor unless the task was withdrawn. The client may destroy
  /// it at once.
  virtual void tell(Task* task) = 0;

 protected:
  ~Client() = default;
};

/// Where a task spends its time.
enum class Place : uint8_t { kProcessor, kDevice };

class Task {
 public:
  /// If `cancel` isn't null, 1 in it asks that the task end soon, because its result isn't needed.
  explicit Task(std::atomic<int32_t>* cancel = nullptr) : cancel_(cancel) {}
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  /// For executors. The first three are called on one thread.
  void try_start() noexcept;
  bool can_finish() noexcept;
  void try_finish() noexcept;
  /// Fails it before it has been started.
  void withdraw() noexcept;
  void give_up() noexcept;
  /// Called before it is started, on a thread that could start it. It may take a while to find out.
  virtual Place place() noexcept { return Place::kProcessor; }
  const std::atomic<int32_t>* cancel() const { return cancel_; }
  Client* client() const { return client_; }

 protected:
  /// Does the work, or starts it. If this or what follows throws, the task has failed.
  virtual void start() = 0;
  /// Whether finish() wouldn't wait.
  virtual bool is_done() { return true; }
  /// Called after start(), unless that threw.
  virtual void finish() {}
  /// Called last, on the thread of the others unless the task was withdrawn. Null if it succeeded.
  virtual void conclude(const Failure*) noexcept {}
  /// Whether a failure says which product it is of.
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
