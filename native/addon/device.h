// Devices that JavaScript has opened, and memories of theirs. JavaScript holds both as externals.
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

/// The number of a work in the order in which works are asked of a device, from 1 on. The work has an owner of it until it
/// has ended.
using Turn = std::shared_ptr<const uint64_t>;

/// A session and the thread that calls it.
class Device final : public DetachedTask, public std::enable_shared_from_this<Device> {
 public:
  explicit Device(const Background& background) : executor_(Executor::for_device(background)) {}

  Executor& executor() { return *executor_; }

  /// On the device's thread.
  void open(BackendChoice choice, int device, DeviceSet devices, int64_t device_memory);
  /// What `begin` starts with the session. `cancel` gives it up.
  std::unique_ptr<Pending> start(const std::function<std::unique_ptr<Pending>(Session&)>& begin,
                                 const std::atomic<int32_t>* cancel);
  /// Memory that stays until drop() or close().
  Memory& allocate(int64_t units, int64_t bytes);
  /// On another thread only if nothing runs on the device's, and nothing will.
  void close();

  /// What has been opened.
  struct Description {
    BackendKind backend;
    int index;
    std::string name;
    std::vector<int> devices;  ///< if it consists of several
    bool is_all;               ///< whether there is no other CUDA device
    bool works_at_once;        ///< as its session says
  };
  const Description& description() const { return description_; }
  /// While it isn't shut. What has been dropped and isn't used any more doesn't count, whether it has been given back or
  /// not.
  MemoryUse memory_use();

  /// From any thread. The device's thread gives the memory back, when `last_use`, the number of the turn that used it
  /// last, and all before it have ended: it may take long, and other threads must not call a session.
  void drop(const Memory* memory, uint64_t last_use);
  /// Gives back what has been dropped and isn't used any more, so that there is room. May take long.
  void give_back();
  void prune_completed() noexcept override;

  /// On JavaScript's thread, as description() and memory_use(). From shut() on it takes no work: what was submitted before is its last.
  void shut();
  bool is_shut() const { return is_shut_; }
  Turn take_turn();
  /// Gives a memory of it a number by which requests name it: from 1 on, until it is released.
  uint32_t know(RegisteredMemory memory);
  /// Null if there is none.
  RegisteredMemory* known(double number);
  /// JavaScript has let go of it.
  void release(uint32_t number);
  /// Whether any thread may call its session, if only one does at a time.
  bool runs_anywhere() const { return description_.works_at_once; }

 private:
  /// The oldest turn that hasn't ended.
  uint64_t oldest_turn();

  struct Dropped {
    std::shared_ptr<Memory> memory;
    uint64_t last_use;
  };

  const std::shared_ptr<Executor> executor_;
  std::unique_ptr<Session> session_;
  Description description_{};
  std::mutex mutex_;
  /// Guarded by mutex_, as all down to turns_. Works don't own what they use: counting the owners of some thousand
  /// memories on two threads takes longer than their small products.
  std::unordered_map<const Memory*, std::shared_ptr<Memory>> memories_;
  std::vector<Dropped> dropped_;
  std::deque<std::weak_ptr<const uint64_t>> turns_;  ///< latest last
  uint64_t turns_taken_ = 0;
  /// On JavaScript's thread. By number, less 1.
  std::vector<RegisteredMemory> known_;
  std::vector<uint32_t> free_numbers_;
  bool is_shut_ = false;
};

/// What an earlier call writes, as calls see it that come before it is done.
struct Write {
  std::optional<Failure> failure;  ///< written by the device's thread, on which also everything that asks for it runs
  bool is_settled = false;         ///< only used on JavaScript's thread
};

struct Bytes {
  int64_t first, end;
};

/// What JavaScript's thread knows of a memory. A group names thousands of them: nothing of each is elsewhere, so that only
/// these lines are fetched.
struct RegisteredMemory {
  Memory* memory = nullptr;  ///< null: there is none of this number
  char* data = nullptr;
  int64_t bytes = 0;
  DataType dtype{};
  Storage storage{};
  uint64_t last_use = 0;  ///< the number of the latest turn that uses it
  std::vector<std::pair<Bytes, std::shared_ptr<Write>>> writes{};
};

/// What an external points to.
struct Handle {
  using Kind = HandleKind;
  explicit Handle(Kind what) : kind(what) {}
  const Kind kind;
};

/// A handle that keeps an object.
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
  int64_t charged = 0;  ///< the bytes that the collector has been told of

  void release(Napi::Env env);
};

/// Null if `value` is no external of this kind.
Handle* handle_of(const Napi::Value& value, Handle::Kind kind);
template <class Of>
Of* handle_of(const Napi::Value& value) {
  return static_cast<Of*>(handle_of(value, Of::kKind));
}
/// Throws Napi::Error if `value` is none of these: `name` says what it must be.
template <class Of>
Of& handle_in(const Napi::Value& value, const char* name) {
  if (Of* const handle = handle_of<Of>(value)) return *handle;
  malformed(value.Env(), name);
}

/// An external that points to a handle. When it is collected, `release(env, handle)` is called first.
template <class Of>
Napi::Value external_of(Napi::Env env, std::unique_ptr<Of> handle, void (*release)(Napi::Env, Of&)) {
  const Napi::Value external = Napi::External<Handle>::New(env, handle.get(), [release](Napi::Env env, Handle* of) {
    const std::unique_ptr<Of> released(static_cast<Of*>(of));
    release(env, *released);
  });
  static_cast<void>(handle.release());
  return external;
}

/// Throws Napi::Error if `value` is no device, and Error if it is closed.
std::shared_ptr<Device> device_of(const Napi::Value& value);

/// The memories that a call uses. They stay until its work is done.
class Uses {
 public:
  explicit Uses(std::shared_ptr<Device> device) : device_(std::move(device)), turn_(device_->take_turn()) {}

  enum class Access : bool { kReads, kWrites };
  /// `name` is what an error calls the matrix, and must be a literal. `bytes_of` says where it is, if that matters.
  template <class BytesOf>
  void add(RegisteredMemory& memory, const char* name, Access access, BytesOf&& bytes_of) {
    memory.last_use = *turn_;
    if (access == Access::kWrites || !memory.writes.empty()) add_bytes(memory, name, access, bytes_of());
  }

  /// What is added from now on is of this product.
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

/// Work that a session does. It fails if something fails that it depends on.
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

  /// Memory that the promise gives to JavaScript; an array of them if there are several.
  /// `units`: into how many pieces of equal sizes, such as rows, it may be divided if the device consists of several.
  Memory& make(int64_t bytes, DataType dtype, Storage storage = Storage::kElement, int64_t units = 1);

 protected:
  virtual std::unique_ptr<Pending> begin(Session& session) = 0;
  virtual void end(const std::vector<Outcome>&) {}
  /// About how much it is: the steps of products, or elements times kStepsPerElement.
  virtual double steps() const = 0;

  Napi::Value result(Napi::Env env) override;

 private:
  void start() final;
  bool is_done() final { return pending_->is_done(); }
  void finish() final;
  void conclude(const Failure* failure) noexcept final;
  void require_dependencies();
  void announce();

  /// The steps that a processor does in about 10 µs.
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

/// What `begin(work, session)` starts. Nothing is to be said of it when it ends.
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

/// Queues such work on so many elements.
template <class Begin>
Napi::Value start(Napi::Env env, Uses uses, double elements, Begin begin, std::atomic<int32_t>* cancel = nullptr,
                  Napi::ObjectReference arguments = {}) {
  return DeviceWork::run(env, std::make_unique<SimpleWork<Begin>>(std::move(uses), elements, std::move(begin), cancel,
                                                                  std::move(arguments)));
}

}  // namespace mpmml::addon
