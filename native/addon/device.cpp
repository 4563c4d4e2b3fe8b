#include "addon/device.h"

#include <algorithm>
#include <iterator>

#include "addon/engine.h"
#include "core/status.h"
#include "generated/addon.h"

namespace mpmml::addon {

void Device::open(BackendChoice choice, int device, DeviceSet devices, int64_t device_memory) {
  // After a failure the session is closed here, on the device's thread.
  std::unique_ptr<Session> session =
      devices == 0 ? engine().open(choice, device, device_memory) : engine().open(choice, devices, device_memory);
  const bool is_cuda = session->backend() == BackendKind::kCuda;
  const std::vector<int> device_indices = session->devices();
  const bool is_all = devices == kAllDevices ||
                      std::max<size_t>(device_indices.size(), 1) == static_cast<size_t>(engine().device_count());
  description_ = {session->backend(),      is_cuda ? session->device() : -1, session->name(), device_indices, is_all,
                  session->works_at_once()};
  session_ = std::move(session);
}

std::unique_ptr<Pending> Device::start(const std::function<std::unique_ptr<Pending>(Session&)>& begin,
                                       const std::atomic<int32_t>* cancel) {
  session_->set_cancelled(cancel);
  return begin(*session_);
}

Memory& Device::allocate(int64_t units, int64_t bytes) {
  std::shared_ptr<Memory> memory =
      units > 1 ? session_->allocate_units(units, bytes / units) : session_->allocate(bytes);
  std::lock_guard<std::mutex> lock(mutex_);
  return *memories_.emplace(memory.get(), memory).first->second;
}

MemoryUse Device::memory_use() {
  std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t oldest = oldest_turn();
  // The memory is freed together with its copies on other devices.
  for (const Dropped& it : dropped_) {
    if (it.last_use < oldest) it.memory->retire();
  }
  return session_->memory_use();
}

void Device::drop(const Memory* memory, uint64_t last_use) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto place = memories_.find(memory);
    if (place == memories_.end()) return;
    dropped_.push_back({std::move(place->second), last_use});
    memories_.erase(place);
  }
  executor_->ask_for(shared_from_this());
}

void Device::give_back() {
  // The memories are freed after the lock is released, because JavaScript's thread takes it, too.
  std::vector<Dropped> freed;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto is_used = [oldest = oldest_turn()](const Dropped& it) { return it.last_use >= oldest; };
  const auto unused = std::partition(dropped_.begin(), dropped_.end(), is_used);
  for (auto it = unused; it != dropped_.end(); ++it) it->memory->retire();
  std::move(unused, dropped_.end(), std::back_inserter(freed));
  dropped_.erase(unused, dropped_.end());
}

uint64_t Device::oldest_turn() {
  while (!turns_.empty()) {
    if (const Turn oldest = turns_.front().lock()) return *oldest;
    turns_.pop_front();
  }
  return turns_taken_ + 1;
}

Turn Device::take_turn() {
  std::lock_guard<std::mutex> lock(mutex_);
  Turn turn = std::make_shared<const uint64_t>(++turns_taken_);
  turns_.push_back(turn);
  return turn;
}

void Device::prune_completed() noexcept {
  give_back();
  // The device may have been closed since the task was requested.
  if (session_) session_->collect();
}

void Device::close() {
  {
    std::unordered_map<const Memory*, std::shared_ptr<Memory>> memories;
    std::vector<Dropped> dropped;
    std::lock_guard<std::mutex> lock(mutex_);
    memories.swap(memories_);
    dropped.swap(dropped_);
  }
  session_.reset();
}

void Device::shut() {
  is_shut_ = true;
  executor_->stop();
}

uint32_t Device::know(RegisteredMemory memory) {
  if (free_numbers_.empty()) {
    known_.push_back(std::move(memory));
    return static_cast<uint32_t>(known_.size());
  }
  const uint32_t number = free_numbers_.back();
  free_numbers_.pop_back();
  known_[number - 1] = std::move(memory);
  return number;
}

RegisteredMemory* Device::known(double number) {
  if (!(number >= 1 && number <= static_cast<double>(known_.size()))) return nullptr;
  RegisteredMemory& known = known_[static_cast<size_t>(number) - 1];
  return known.memory ? &known : nullptr;
}

void Device::release(uint32_t number) {
  RegisteredMemory& known = known_[number - 1];
  drop(known.memory, known.last_use);
  known = {};
  free_numbers_.push_back(number);
}

void MemoryHandle::release(Napi::Env env) {
  if (number == 0) return;
  device->release(number);
  number = 0;
  Napi::MemoryManagement::AdjustExternalMemory(env, -charged);
}

namespace {

/// Returns null if `value` isn't an external. Externals of other addons have other kinds.
Handle* any_handle(const Napi::Value& value) {
  void* data = nullptr;
  return napi_get_value_external(value.Env(), value, &data) == napi_ok ? static_cast<Handle*>(data) : nullptr;
}

}  // namespace

Handle* handle_of(const Napi::Value& value, Handle::Kind kind) {
  Handle* const handle = any_handle(value);
  return handle && handle->kind == kind ? handle : nullptr;
}

const char* handle_kind(const Napi::Value& value) {
  const Handle* const handle = any_handle(value);
  if (!handle) return "";
  for (const auto& [kind, name] : kHandleKinds) {
    if (kind == handle->kind) return name;
  }
  return "";
}

namespace {

[[noreturn]] void refuse_closed() { throw Error(ErrorCode::kDisposed, "the device has been closed: open another one"); }

MemoryHandle& memory_in(const Napi::Value& value) { return handle_in<MemoryHandle>(value, "expected a memory"); }

}  // namespace

std::shared_ptr<Device> device_of(const Napi::Value& value) {
  const DeviceHandle& handle = handle_in<DeviceHandle>(value, "expected a device");
  if (handle.kept->is_shut()) refuse_closed();
  return handle.kept;
}

void Uses::add_bytes(RegisteredMemory& memory, const char* name, Access access, Bytes bytes) {
  auto& writes = memory.writes;
  const auto is_settled = [](const auto& it) { return it.second->is_settled; };
  writes.erase(std::remove_if(writes.begin(), writes.end(), is_settled), writes.end());
  for (const auto& [written, write] : writes) {
    if (written.first < bytes.end && bytes.first < written.end) dependencies_.push_back({name, product_, write});
  }
  if (access == Access::kWrites) written_.push_back({&memory, bytes});
}

DeviceWork::DeviceWork(Uses uses, std::atomic<int32_t>* cancel) : Work(cancel), uses_(std::move(uses)) {}

DeviceWork::~DeviceWork() { write_->is_settled = true; }

/// Makes later calls depend on this work.
void DeviceWork::announce() {
  // Each call compares its operands with all written pieces. Beyond this number, the pieces that a group writes are
  // merged.
  constexpr size_t kMaxPieces = 64;
  for (const Uses::Written& it : uses_.written_) {
    auto& writes = it.memory->writes;
    const bool follows = !writes.empty() && writes.back().second == write_;
    Bytes* const last = follows ? &writes.back().first : nullptr;
    if (last && (writes.size() >= kMaxPieces || (it.bytes.first <= last->end && last->first <= it.bytes.end))) {
      *last = {std::min(last->first, it.bytes.first), std::max(last->end, it.bytes.end)};
    } else {
      writes.emplace_back(it.bytes, write_);
    }
  }
  uses_.written_.clear();
}

Napi::Promise DeviceWork::run(Napi::Env env, std::unique_ptr<DeviceWork> work) {
  work->announce();
  Executor& executor = work->uses_.device_->executor();
  return Background::of(env).run(executor, std::move(work));
}

Napi::Value DeviceWork::run_and_wait(Napi::Env env, std::unique_ptr<DeviceWork> work) {
  work->announce();
  Executor& executor = work->uses_.device_->executor();
  return Background::of(env).run_and_wait(executor, std::move(work));
}

void DeviceWork::require_dependencies() {
  for (const Uses::Dependency& it : uses_.dependencies_) {
    if (!it.write->failure) continue;
    const Failure& cause = *it.write->failure;
    write_->failure = cause;
    throw Failure{cause.code, std::string(it.name) + " is the result of a product that failed: " + cause.message,
                  it.product};
  }
}

void DeviceWork::start() {
  require_dependencies();
  // Brief work may run on JavaScript's thread, and freeing large matrices takes long, so a detached task frees them.
  if (!is_brief()) uses_.device_->give_back();
  pending_ = uses_.device_->start([this](Session& session) { return begin(session); }, cancel());
}

void DeviceWork::finish() {
  const std::vector<Outcome> outcomes = pending_->finish();
  require_dependencies();
  end(outcomes);
}

void DeviceWork::conclude(const Failure* failure) noexcept {
  if (failure && !write_->failure) write_->failure = *failure;
  pending_.reset();
  uses_.turn_.reset();
  uses_.dependencies_.clear();
  if (!failure) return;
  for (const Made& made : made_) uses_.device_->drop(made.memory, 0);
}

Memory& DeviceWork::make(int64_t bytes, DataType dtype, Storage storage, int64_t units) {
  Memory& memory = uses_.device_->allocate(units, bytes);
  made_.push_back({&memory, bytes, dtype, storage});
  return memory;
}

Napi::Value DeviceWork::result(Napi::Env env) {
  if (made_.empty()) return env.Undefined();
  if (made_.size() == 1) return external(env, made_.front());
  Napi::Array all = Napi::Array::New(env, made_.size());
  for (uint32_t index = 0; index < made_.size(); ++index) all.Set(index, external(env, made_[index]));
  return all;
}

Napi::Value DeviceWork::external(Napi::Env env, const Made& made) const {
  const std::shared_ptr<Device>& device = uses_.device_;
  auto* const data = static_cast<char*>(made.memory->data());
  const uint32_t number = device->know({made.memory, data, made.bytes, made.dtype, made.storage});
  auto handle = std::make_unique<MemoryHandle>(device, number);
  MemoryHandle& memory = *handle;
  const Napi::Value external = external_of<MemoryHandle>(
      env, std::move(handle), [](Napi::Env env, MemoryHandle& released) { released.release(env); });
  // The garbage collector must know the memory that this small object retains. Only a part of a GPU's memory is
  // reported: with all of it, V8 would collect for each large result, which takes longer than computing the result.
  constexpr int64_t kPartOfGpuMemory = 64;
  const bool is_on_gpu = uses_.device_->description().backend == BackendKind::kCuda;
  memory.charged = made.bytes / (is_on_gpu ? kPartOfGpuMemory : 1);
  Napi::MemoryManagement::AdjustExternalMemory(env, memory.charged);
  return external;
}

namespace {

/// Closes a device as its last work. The executor must be stopped after the submission.
class CloseWork : public Work {
 public:
  explicit CloseWork(std::shared_ptr<Device> device) : device_(std::move(device)) {}

 protected:
  void start() override {}
  /// The device isn't closed in start(), because earlier work of the device may still run then.
  void finish() override { device_->close(); }
  Napi::Value result(Napi::Env env) override {
    Background::of(env).remove_device(*device_);
    return env.Undefined();
  }

 private:
  const std::shared_ptr<Device> device_;
};

class OpenWork : public Work {
 public:
  OpenWork(Background& background, std::shared_ptr<Device> device, BackendChoice choice, int index, DeviceSet devices,
           int64_t device_memory)
      : background_(background),
        device_(std::move(device)),
        choice_(choice),
        index_(index),
        devices_(devices),
        device_memory_(device_memory) {
    background_.add_device(device_);
  }

  ~OpenWork() override {
    if (is_open_) return;
    device_->shut();
    background_.remove_device(*device_);
  }

 protected:
  void start() override {
    device_->open(choice_, index_, devices_, device_memory_);
    is_open_ = true;
  }

  Napi::Value result(Napi::Env env) override {
    return external_of<DeviceHandle>(env, std::make_unique<DeviceHandle>(device_), [](Napi::Env env, DeviceHandle& of) {
      Device& device = *of.kept;
      // An ending environment has closed the device.
      if (device.is_shut()) return;
      Background::of(env).run_detached(device.executor(), std::make_unique<CloseWork>(of.kept));
      device.shut();
    });
  }

 private:
  Background& background_;
  const std::shared_ptr<Device> device_;
  const BackendChoice choice_;
  const int index_;
  const DeviceSet devices_;
  const int64_t device_memory_;
  bool is_open_ = false;
};

}  // namespace

Napi::Value open_device(const Napi::CallbackInfo& info, BackendChoice backend, int device, int64_t device_memory,
                        DeviceSet devices) {
  Background& background = Background::of(info.Env());
  auto opened = std::make_shared<Device>(background);
  Executor& executor = opened->executor();
  return background.run(
      executor, std::make_unique<OpenWork>(background, std::move(opened), backend, device, devices, device_memory));
}

NativeDeviceDescription describe_device(const std::shared_ptr<Device>& device) {
  const Device::Description& it = device->description();
  double devices = 0;
  for (const int one : it.devices) devices += static_cast<double>(DeviceSet{1} << one);
  return {static_cast<int>(it.backend), it.index, it.name, devices, it.is_all};
}

NativeMemoryUse memory_use(const std::shared_ptr<Device>& device) { return device->memory_use(); }

Napi::Value close_device(const Napi::CallbackInfo& info, const std::shared_ptr<Device>& device) {
  const Napi::Promise closed = Background::of(info.Env()).run(device->executor(), std::make_unique<CloseWork>(device));
  device->shut();
  return closed;
}

double memory_number(const Napi::Value& memory) {
  const MemoryHandle& handle = memory_in(memory);
  if (handle.number == 0 || handle.device->is_shut()) refuse_closed();
  return handle.number;
}

void release(const Napi::Value& memory) { memory_in(memory).release(memory.Env()); }

Napi::Value cancel_work(const Napi::CallbackInfo& info, std::atomic<int32_t>* cancel) {
  cancel->store(1, std::memory_order_relaxed);
  Background::of(info.Env()).withdraw(cancel);
  return info.Env().Undefined();
}

}  // namespace mpmml::addon
