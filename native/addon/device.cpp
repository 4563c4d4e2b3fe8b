#include "addon/device.h"

#include <algorithm>

#include "addon/engine.h"
#include "addon/request.h"
#include "core/fault.h"
#include "core/status.h"
#if defined(MPMML_WITH_CUDA)
#include "cuda/runtime/device.h"
#endif

namespace mpmml::addon {

void Device::open(BackendChoice choice, int device, int64_t device_memory) {
  // What fails here is closed here, on the device's thread.
  std::unique_ptr<Session> session = engine().open(choice, device, device_memory);
  const bool is_cuda = session->backend() == BackendKind::kCuda;
  description_ = {session->backend(), is_cuda ? session->device() : -1, session->name()};
#if defined(MPMML_WITH_CUDA)
  // lib shows the name in results, and asks for it on JavaScript's thread.
  if (is_cuda) cuda::device_name(session->device());
#endif
  if (const int64_t delay = delay_of_work.load(std::memory_order_relaxed)) delay_.emplace(delay);
  session_ = std::move(session);
}

std::unique_ptr<Pending> Device::start(const std::function<std::unique_ptr<Pending>(Session&)>& begin) {
  give_back();
  if (delay_) return delay_->start([&] { return begin(*session_); });
  return begin(*session_);
}

std::shared_ptr<Memory> Device::allocate(int64_t bytes) {
  give_back();  // What has been let go of may be what makes room.
  std::shared_ptr<Memory> memory = session_->allocate(bytes);
  if (delay_) delay_->watch(memory);
  std::lock_guard<std::mutex> lock(mutex_);
  memories_.emplace(memory.get(), memory);
  return memory;
}

MemoryUse Device::memory_use() {
  std::lock_guard<std::mutex> lock(mutex_);
  MemoryUse use = session_->memory_use();
  for (const auto& memory : dropped_) {
    if (memory.use_count() == 1) use.used -= memory->bytes();
  }
  return use;
}

void Device::drop(const std::weak_ptr<Memory>& memory) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto place = memories_.find(memory.lock().get());
    if (place == memories_.end()) return;
    dropped_.push_back(std::move(place->second));
    memories_.erase(place);
  }
  executor_->ask_for(shared_from_this());
}

void Device::give_back() {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto is_used = [](const std::shared_ptr<Memory>& memory) { return memory.use_count() > 1; };
  dropped_.erase(std::partition(dropped_.begin(), dropped_.end(), is_used), dropped_.end());
}

void Device::tidy() noexcept {
  give_back();
  // It may have been closed since the chore was asked for.
  if (session_) session_->collect();
}

void Device::close() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    memories_.clear();
    dropped_.clear();
  }
  if (delay_) delay_->require_all_ended();
  session_.reset();
}

void Device::shut() {
  is_shut_ = true;
  executor_->stop();
}

uint32_t Device::number(MemoryHandle& memory) {
  if (memory.number > 0) return memory.number;
  if (free_numbers_.empty()) {
    numbered_.push_back(nullptr);
    free_numbers_.push_back(static_cast<uint32_t>(numbered_.size()));
  }
  memory.number = free_numbers_.back();
  free_numbers_.pop_back();
  numbered_[memory.number - 1] = &memory;
  return memory.number;
}

MemoryHandle* Device::numbered(double number) const {
  if (!(number >= 1 && number <= static_cast<double>(numbered_.size()))) return nullptr;
  return numbered_[static_cast<size_t>(number) - 1];
}

void Device::forget(uint32_t number) {
  numbered_[number - 1] = nullptr;
  free_numbers_.push_back(number);
}

void MemoryHandle::release(Napi::Env env) {
  device->drop(memory);
  if (number > 0) device->forget(number);
  number = 0;
  memory.reset();
  writes.clear();
  if (bytes > 0) Napi::MemoryManagement::AdjustExternalMemory(env, -bytes);
  bytes = 0;
}

namespace {

Handle* handle_of(const Napi::Value& value, Handle::Kind kind) {
  void* data = nullptr;
  if (napi_get_value_external(value.Env(), value, &data) != napi_ok || !data) return nullptr;
  auto* const handle = static_cast<Handle*>(data);
  return handle->kind == kind ? handle : nullptr;
}

[[noreturn]] void refuse_closed() { throw Error(ErrorCode::kDisposed, "the device has been closed: open another one"); }

MemoryHandle& memory_in(const Napi::Value& value) {
  if (MemoryHandle* const handle = memory_handle(value)) return *handle;
  malformed(value.Env(), "expected a memory");
}

DeviceHandle& device_in(const Napi::Value& value) {
  if (Handle* const handle = handle_of(value, Handle::Kind::kDevice)) return static_cast<DeviceHandle&>(*handle);
  malformed(value.Env(), "expected a device");
}

}  // namespace

MemoryHandle* memory_handle(const Napi::Value& value) {
  return static_cast<MemoryHandle*>(handle_of(value, Handle::Kind::kMemory));
}

std::shared_ptr<Device> device_of(const Napi::Value& value) {
  const DeviceHandle& handle = device_in(value);
  if (handle.device->is_shut()) refuse_closed();
  return handle.device;
}

void Uses::add(MemoryHandle& handle, std::shared_ptr<Memory> memory, const char* name, Bytes bytes, Access access) {
  auto& writes = handle.writes;
  const auto is_settled = [](const auto& it) { return it.second->is_settled; };
  writes.erase(std::remove_if(writes.begin(), writes.end(), is_settled), writes.end());
  for (const auto& [written, write] : writes) {
    if (written.first < bytes.end && bytes.first < written.end) dependencies_.push_back({name, product_, write});
  }
  if (access == Access::kWrites) written_.push_back({&handle, bytes});
  if (memories_.empty() || memories_.back() != memory) memories_.push_back(std::move(memory));
}

DeviceWork::DeviceWork(Uses uses, std::atomic<int32_t>* cancel) : Work(cancel), uses_(std::move(uses)) {}

DeviceWork::~DeviceWork() { write_->is_settled = true; }

/// What is called from now on depends on this.
void DeviceWork::announce() {
  // Each call looks at all of them. From so many on, what a group writes counts as one piece.
  constexpr size_t kMostPieces = 64;
  for (const Uses::Written& it : uses_.written_) {
    auto& writes = it.handle->writes;
    const bool follows = !writes.empty() && writes.back().second == write_;
    Bytes* const last = follows ? &writes.back().first : nullptr;
    if (last && (writes.size() >= kMostPieces || (it.bytes.first <= last->end && last->first <= it.bytes.end))) {
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
  pending_ = uses_.device_->start([this](Session& session) { return begin(session); });
}

void DeviceWork::finish() {
  const std::vector<Outcome> outcomes = pending_->finish();
  require_dependencies();
  end(outcomes);
}

void DeviceWork::conclude(const Failure* failure) noexcept {
  if (failure && !write_->failure) write_->failure = *failure;
  pending_.reset();
  uses_.memories_.clear();
  uses_.dependencies_.clear();
  if (!failure) return;
  for (const Made& made : made_) uses_.device_->drop(made.memory);
}

Memory& DeviceWork::make(int64_t bytes, DataType dtype, Storage storage) {
  const std::shared_ptr<Memory> memory = uses_.device_->allocate(bytes);
  uses_.memories_.push_back(memory);
  made_.push_back({memory, bytes, dtype, storage});
  return *memory;
}

Napi::Value DeviceWork::result(Napi::Env env) {
  if (made_.empty()) return env.Undefined();
  if (made_.size() == 1) return external(env, made_.front());
  Napi::Array all = Napi::Array::New(env, made_.size());
  for (uint32_t index = 0; index < made_.size(); ++index) all.Set(index, external(env, made_[index]));
  return all;
}

Napi::Value DeviceWork::external(Napi::Env env, const Made& made) const {
  auto handle = std::make_unique<MemoryHandle>();
  handle->device = uses_.device_;
  handle->memory = made.memory;
  handle->dtype = made.dtype;
  handle->storage = made.storage;
  const Napi::Value external = Napi::External<Handle>::New(env, handle.get(), [](Napi::Env env, Handle* released) {
    const std::unique_ptr<MemoryHandle> memory(static_cast<MemoryHandle*>(released));
    memory->release(env);
  });
  // The collector must know how much memory this small object keeps. A GPU's memory counts for a part of it: there is more
  // of it, and collecting each time that a large result is made takes longer than to compute it.
  constexpr int64_t kPartOfGpuMemory = 64;
  const bool is_on_gpu = uses_.device_->description().backend == BackendKind::kCuda;
  handle->bytes = made.bytes / (is_on_gpu ? kPartOfGpuMemory : 1);
  Napi::MemoryManagement::AdjustExternalMemory(env, handle->bytes);
  static_cast<void>(handle.release());
  return external;
}

namespace {

/// Its executor must be stopped after it has been submitted.
class CloseWork : public Work {
 public:
  explicit CloseWork(std::shared_ptr<Device> device) : device_(std::move(device)) {}

 protected:
  void start() override {}
  /// Not before: what was asked of the device earlier may still run when this is started.
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
  OpenWork(Background& background, std::shared_ptr<Device> device, BackendChoice choice, int index,
           int64_t device_memory)
      : background_(background),
        device_(std::move(device)),
        choice_(choice),
        index_(index),
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
    device_->open(choice_, index_, device_memory_);
    is_open_ = true;
  }

  Napi::Value result(Napi::Env env) override {
    auto handle = std::make_unique<DeviceHandle>(device_);
    const Napi::Value external = Napi::External<Handle>::New(env, handle.get(), [](Napi::Env env, Handle* released) {
      const std::unique_ptr<DeviceHandle> handle(static_cast<DeviceHandle*>(released));
      Device& device = *handle->device;
      // An environment that ends has closed it.
      if (device.is_shut()) return;
      Background::of(env).run_unseen(device.executor(), std::make_unique<CloseWork>(handle->device));
      device.shut();
    });
    static_cast<void>(handle.release());
    return external;
  }

 private:
  Background& background_;
  const std::shared_ptr<Device> device_;
  const BackendChoice choice_;
  const int index_;
  const int64_t device_memory_;
  bool is_open_ = false;
};

double number_in(const Napi::Value& value, double least, double most) {
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : most + 1;
  if (!(number >= least && number <= most)) malformed(value.Env(), "a number that is out of its range");
  return number;
}

Napi::Value open_device(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto choice = static_cast<BackendChoice>(number_in(info[0], 0, std::size(kBackendChoiceNames) - 1));
  const auto index = static_cast<int>(number_in(info[1], 0, 65535));
  const auto device_memory = static_cast<int64_t>(number_in(info[2], 0, 9007199254740991));
  Background& background = Background::of(env);
  auto device = std::make_shared<Device>(background);
  Executor& executor = device->executor();
  return background.run(executor,
                        std::make_unique<OpenWork>(background, std::move(device), choice, index, device_memory));
}

Napi::Value describe_device(const Napi::CallbackInfo& info) {
  const Device::Description& description = device_of(info[0])->description();
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("backend", static_cast<double>(description.backend));
  object.Set("index", description.index);
  object.Set("name", description.name);
  return object;
}

Napi::Value memory_use(const Napi::CallbackInfo& info) {
  const MemoryUse use = device_of(info[0])->memory_use();
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("used", static_cast<double>(use.used));
  object.Set("reserved", static_cast<double>(use.reserved));
  object.Set("peak", static_cast<double>(use.peak));
  object.Set("free", static_cast<double>(use.free));
  object.Set("total", static_cast<double>(use.total));
  return object;
}

Napi::Value close_device(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Device> device = device_of(info[0]);
  const Napi::Promise closed = Background::of(info.Env()).run(device->executor(), std::make_unique<CloseWork>(device));
  device->shut();
  return closed;
}

Napi::Value memory_number(const Napi::CallbackInfo& info) {
  MemoryHandle& memory = memory_in(info[0]);
  if (memory.memory.expired()) refuse_closed();
  return Napi::Number::New(info.Env(), memory.device->number(memory));
}

Napi::Value release(const Napi::CallbackInfo& info) {
  memory_in(info[0]).release(info.Env());
  return info.Env().Undefined();
}

Napi::Value give_up(const Napi::CallbackInfo& info) {
  auto* const cancel = cancel_of(info[0]);
  cancel->store(1, std::memory_order_relaxed);
  Background::of(info.Env()).withdraw(cancel);
  return info.Env().Undefined();
}

Napi::Value fail_allocation(const Napi::CallbackInfo& info) {
  const auto nth = static_cast<int64_t>(number_in(info[0], 0, 1e15));
  fail_allocations(nth, info[1].IsUndefined() ? 1 : static_cast<int64_t>(number_in(info[1], 1, 1e15)));
  return info.Env().Undefined();
}

Napi::Value delay_work(const Napi::CallbackInfo& info) {
  delay_of_work.store(static_cast<int64_t>(number_in(info[0], 0, 1e6) * 1000), std::memory_order_relaxed);
  return info.Env().Undefined();
}

}  // namespace

void export_device(Napi::Env env, Napi::Object exports) {
  exports.Set("openDevice", Napi::Function::New<guarded<open_device>>(env, "openDevice"));
  exports.Set("describeDevice", Napi::Function::New<guarded<describe_device>>(env, "describeDevice"));
  exports.Set("memoryUse", Napi::Function::New<guarded<memory_use>>(env, "memoryUse"));
  exports.Set("closeDevice", Napi::Function::New<guarded<close_device>>(env, "closeDevice"));
  exports.Set("memoryNumber", Napi::Function::New<guarded<memory_number>>(env, "memoryNumber"));
  exports.Set("release", Napi::Function::New<guarded<release>>(env, "release"));
  exports.Set("giveUp", Napi::Function::New<guarded<give_up>>(env, "giveUp"));
  exports.Set("failAllocation", Napi::Function::New<guarded<fail_allocation>>(env, "failAllocation"));
  exports.Set("delayWork", Napi::Function::New<guarded<delay_work>>(env, "delayWork"));
}

}  // namespace mpmml::addon
