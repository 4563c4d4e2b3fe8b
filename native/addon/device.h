// Devices that JavaScript has opened, and their memories. JavaScript holds both as externals.
#pragma once
#include <napi.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "addon/background.h"
#include "addon/executor.h"
#include "core/engine/execute.h"
#include "core/session/session.h"
#include "generated/enumerators.h"

namespace mpmml::addon {

[[noreturn]] void malformed(Napi::Env env, const std::string& what);

struct RegisteredMemory;

/// Sequence number of a work among all works of a device, from 1 on. The work owns a reference to it until it has
/// ended.
using Turn = std::shared_ptr<const uint64_t>;

/// A session and the thread that calls it.
class Device final : public DetachedTask, public std::enable_shared_from_this<Device> {
 public:
  explicit Device(const Background& background) : executor_(Executor::for_device(background)) {}

  Executor& executor() { return *executor_; }

  /// Opens the session. Called on the device's thread.
  void open(BackendChoice choice, int device, DeviceSet devices, int64_t device_memory);
  /// Returns the work that `begin` starts with the session. `cancel` cancels it.
  std::unique_ptr<Pending> start(const std::function<std::unique_ptr<Pending>(Session&)>& begin,
                                 const std::atomic<int32_t>* cancel);
  /// Allocates memory that exists until drop() or close().
  Memory& allocate(int64_t units, int64_t bytes);
  /// Closes the session. May be called on another thread only if the device's thread is idle and gets no more work.
  void close();

  /// Properties of the opened device.
  struct Description {
    BackendKind backend;
    int index;
    std::string name;
    std::vector<int> devices;  ///< of a multi-GPU device
    bool is_all;               ///< whether there is no other CUDA device
    bool works_at_once;        ///< as its session says
  };
  const Description& description() const { return description_; }
  /// Returns the memory use of a device that isn't shut. Memory that has been dropped and has no more users is
  /// excluded, even before it is freed.
  MemoryUse memory_use();

  /// Releases a memory, from any thread. The device's thread frees it when the turn `last_use`, which used it last, and
  /// all earlier turns have ended: freeing may take long, and other threads must not call a session.
  void drop(const Memory* memory, uint64_t last_use);
  /// Frees dropped memory that has no more users. May take long.
  void give_back();
  void prune_completed() noexcept override;

  /// Refuses work from now on. Called on JavaScript's thread, like description() and memory_use().
  void shut();
  bool is_shut() const { return is_shut_; }
  Turn take_turn();
  /// Assigns a number, from 1 on, to a memory of the device. Requests name the memory by it until release().
  uint32_t know(RegisteredMemory memory);
  /// Returns the memory of this number, or null.
  RegisteredMemory* known(double number);
  /// Frees the number after JavaScript has released the memory.
  void release(uint32_t number);
  /// Returns whether any thread may call the session, one at a time.
  bool runs_anywhere() const { return description_.works_at_once; }

 private:
  /// Returns the oldest turn that hasn't ended.
  uint64_t oldest_turn();

  struct Dropped {
    std::shared_ptr<Memory> memory;
    uint64_t last_use;
  };

  const std::shared_ptr<Executor> executor_;
  std::unique_ptr<Session> session_;
  Description description_{};
  std::mutex mutex_;
  /// Guarded by mutex_, like the members up to turns_. Works don't own the memories that they use: counting the owners
  /// of a thousand memories on two threads takes longer than their small products.
  std::unordered_map<const Memory*, std::shared_ptr<Memory>> memories_;
  std::vector<Dropped> dropped_;
  std::deque<std::weak_ptr<const uint64_t>> turns_;  ///< latest last
  uint64_t turns_taken_ = 0;
  /// Registered memories by number − 1. Used only on JavaScript's thread.
  std::vector<RegisteredMemory> known_;
  std::vector<uint32_t> free_numbers_;
  bool is_shut_ = false;
};

/// A write of a call that may not be done yet, on which later calls depend.
struct Write {
  std::optional<Failure> failure;  ///< written and read by the device's thread
  bool is_settled = false;         ///< only used on JavaScript's thread
};

struct Bytes {
  int64_t first, end;
};

/// State of a memory on JavaScript's thread. All of it is in one object, because a group names thousands of memories
/// and each costs a fetch from memory.
struct RegisteredMemory {
  Memory* memory = nullptr;  ///< null: there is none of this number
  char* data = nullptr;
  int64_t bytes = 0;
  DataType dtype{};
  Storage storage{};
  uint64_t last_use = 0;  ///< the number of the latest turn that uses it
  std::vector<std::pair<Bytes, std::shared_ptr<Write>>> writes{};
};

/// Target of an external.
struct Handle {
  using Kind = HandleKind;
  explicit Handle(Kind what) : kind(what) {}
  const Kind kind;
};

/// A handle that owns an object.
template <HandleKind kind_of, class Kept>
struct HandleOf : Handle {
  static constexpr Kind kKind = kind_of;
  explicit HandleOf(std::shared_ptr<Kept> object) : Handle(kKind), kept(std::move(object)) {}
  const std::shared_ptr<Kept> kept;
};

using DeviceHandle = HandleOf<HandleKind::kDevice, Device>;

struct MemoryHandle : Handle {
  static constexpr Kind kKind = Kind::kMemory;
  MemoryHandle(std::shared_ptr<Device> of, uint32_t by_number)
      : Handle(Kind::kMemory), device(std::move(of)), number(by_number) {}
  const std::shared_ptr<Device> device;
  uint32_t number;      ///< see Device::know(); 0: it has been released
  int64_t charged = 0;  ///< bytes that have been reported to the garbage collector

  void release(Napi::Env env);
};

/// Returns null if `value` isn't an external of this kind.
Handle* handle_of(const Napi::Value& value, Handle::Kind kind);
template <class Of>
Of* handle_of(const Napi::Value& value) {
  return static_cast<Of*>(handle_of(value, Of::kKind));
}
/// Returns the handle of `value`. Throws Napi::Error if `value` has another kind; `name` is the expectation in its
/// message.
template <class Of>
Of& handle_in(const Napi::Value& value, const char* name) {
  if (Of* const handle = handle_of<Of>(value)) return *handle;
  malformed(value.Env(), name);
}

/// Creates an external that points to a handle. The finalizer calls `release(env, handle)` first.
template <class Of>
Napi::Value external_of(Napi::Env env, std::unique_ptr<Of> handle, void (*release)(Napi::Env, Of&)) {
  const Napi::Value external = Napi::External<Handle>::New(env, handle.get(), [release](Napi::Env env, Handle* of) {
    const std::unique_ptr<Of> released(static_cast<Of*>(of));
    release(env, *released);
  });
  static_cast<void>(handle.release());
  return external;
}

/// Returns the device of `value`. Throws Napi::Error if `value` isn't a device, and Error if the device is closed.
std::shared_ptr<Device> device_of(const Napi::Value& value);

/// The memories that a call uses. They exist until its work is done.
class Uses {
 public:
  explicit Uses(std::shared_ptr<Device> device) : device_(std::move(device)), turn_(device_->take_turn()) {}

  enum class Access : bool { kReads, kWrites };
  /// Adds a memory. `name` names the matrix in errors and must be a literal. `bytes_of` returns the range of bytes, and
  /// is called only if the call or an earlier one writes the memory.
  template <class BytesOf>
  void add(RegisteredMemory& memory, const char* name, Access access, BytesOf&& bytes_of) {
    memory.last_use = *turn_;
    if (access == Access::kWrites || !memory.writes.empty()) add_bytes(memory, name, access, bytes_of());
  }

  /// Sets the product of the memories that are added next.
  void set_product(size_t product) { product_ = product; }

  const std::shared_ptr<Device>& device() const { return device_; }

 private:
  friend class DeviceWork;
  struct Dependency {
    const char* name;
    std::optional<size_t> product;
    std::shared_ptr<Write> write;
  };
  struct Written {
    RegisteredMemory* memory;  ///< only used before the call returns
    Bytes bytes;
  };

  void add_bytes(RegisteredMemory& memory, const char* name, Access access, Bytes bytes);

  std::shared_ptr<Device> device_;
  Turn turn_;
  std::optional<size_t> product_;
  std::vector<Dependency> dependencies_;
  std::vector<Written> written_;
};

/// Work of a session. It fails if a work that it depends on fails.
class DeviceWork : public Work {
 public:
  static constexpr int64_t kStepsPerElement = 8;

  explicit DeviceWork(Uses uses, std::atomic<int32_t>* cancel = nullptr);
  ~DeviceWork() override;

  /// Queues `work`.
  static Napi::Promise run(Napi::Env env, std::unique_ptr<DeviceWork> work);
  static Napi::Value run_and_wait(Napi::Env env, std::unique_ptr<DeviceWork> work);

  bool runs_anywhere() const final { return uses_.device_->runs_anywhere(); }
  bool is_brief() const final { return runs_anywhere() && steps() <= kBrief; }

  /// Allocates memory that the promise is resolved with; an array of memories after several calls. `units` is the
  /// number of equal pieces, such as rows, into which a multi-GPU device may divide the memory.
  Memory& make(int64_t bytes, DataType dtype, Storage storage = Storage::kElement, int64_t units = 1);

 protected:
  virtual std::unique_ptr<Pending> begin(Session& session) = 0;
  virtual void end(const std::vector<Outcome>&) {}
  /// Returns an estimate of the work: the steps of products, or elements times kStepsPerElement.
  virtual double steps() const = 0;

  Napi::Value result(Napi::Env env) override;

 private:
  void start() final;
  bool is_done() final { return pending_->is_done(); }
  void finish() final;
  void conclude(const Failure* failure) noexcept final;
  void require_dependencies();
  void announce();

  /// Steps that a processor does in about 10 µs.
  static constexpr double kBrief = 1 << 18;

  Uses uses_;
  const std::shared_ptr<Write> write_ = std::make_shared<Write>();
  std::unique_ptr<Pending> pending_;
  struct Made {
    Memory* memory;
    int64_t bytes;
    DataType dtype;
    Storage storage;
  };
  Napi::Value external(Napi::Env env, const Made& made) const;
  std::vector<Made> made_;
};

/// Work that `begin(work, session)` starts, without a result of its own.
template <class Begin>
class SimpleWork final : public DeviceWork {
 public:
  SimpleWork(Uses uses, double elements, Begin begin, std::atomic<int32_t>* cancel, Napi::ObjectReference arguments)
      : DeviceWork(std::move(uses), cancel),
        steps_(elements * kStepsPerElement),
        begin_(std::move(begin)),
        arguments_(std::move(arguments)) {}

 protected:
  std::unique_ptr<Pending> begin(Session& session) override { return begin_(*this, session); }
  double steps() const override { return steps_; }

 private:
  const double steps_;
  const Begin begin_;
  const Napi::ObjectReference arguments_;  ///< empty if no array has to stay
};

/// Queues a SimpleWork on `elements` elements.
template <class Begin>
Napi::Value start(Napi::Env env, Uses uses, double elements, Begin begin, std::atomic<int32_t>* cancel = nullptr,
                  Napi::ObjectReference arguments = {}) {
  return DeviceWork::run(env, std::make_unique<SimpleWork<Begin>>(std::move(uses), elements, std::move(begin), cancel,
                                                                  std::move(arguments)));
}

}  // namespace mpmml::addon
