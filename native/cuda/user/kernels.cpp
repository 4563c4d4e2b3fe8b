#include "cuda/user/kernels.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <list>
#include <mutex>
#include <unordered_map>

#include "core/host/clock.h"
#include "core/host/fault_injection.h"
#include "core/status.h"
#include "cuda/device/device.h"
#include "cuda/user/choice.h"
#include "cuda/user/cubin_cache.h"
#include "cuda/user/splice.h"

namespace mpmml::cuda {
namespace {

std::string first_line(const char* log) {
  std::string text(log);
  const size_t first = std::min(text.find_first_not_of(" \n"), text.size());
  return text.substr(first, std::min(text.find('\n', first), text.size()) - first);
}

[[noreturn]] void fail(const std::string& what, CUresult status, const char* log = "") {
  const std::string line = first_line(log);
  if (status == CUDA_ERROR_OUT_OF_MEMORY) throw Error(ErrorCode::kOutOfMemory, "there is no memory to " + what);
  const bool is_old = status == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  throw Error(ErrorCode::kCuda, "the NVIDIA driver refused to " + what + ": " + driver().describe(status) +
                                    (line.empty() ? "" : "; it says: " + line) + (is_old ? "; update the driver" : "") +
                                    "; backend 'cpu' needs no driver");
}

/// Compiles PTX to machine code for the current device.
std::string compile(const std::string& ptx, const std::string& name) {
  const std::string what = "compile the kernel " + name;
  std::array<char, 8192> log{};
  std::array<CUjit_option, 2> options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  // The driver takes integer options in the array of pointers.
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size() - 1)};
  struct Link {
    CUlinkState state = nullptr;
    ~Link() {
      if (state) driver().link_destroy(state);
    }
  } link;
  CUresult status = driver().link_create(options.size(), options.data(), values.data(), &link.state);
  if (status != CUDA_SUCCESS) fail(what, status);
  status = failing_drivers.must_fail()
               ? CUDA_ERROR_INVALID_PTX
               : driver().link_add_data(link.state, CU_JIT_INPUT_PTX, const_cast<char*>(ptx.c_str()), ptx.size() + 1,
                                        name.c_str(), 0, nullptr, nullptr);
  if (status != CUDA_SUCCESS) fail(what, status, log.data());
  void* image = nullptr;
  size_t bytes = 0;
  status = driver().link_complete(link.state, &image, &bytes);
  if (status != CUDA_SUCCESS) fail(what, status, log.data());
  return {static_cast<const char*>(image), bytes};
}

const UserPtx* ptx_for(int capability) {
  const UserPtx* best = nullptr;
  for (const UserPtx& ptx : user_ptx()) {
    if (ptx.capability <= capability && (!best || ptx.capability > best->capability)) best = &ptx;
  }
  return best;
}

/// Returns the cache key of a kernel: all inputs that determine its machine code.
std::string key_of(const UserSemiring& semiring, const UserTemplate& shape, std::string_view kernel, int capability) {
  std::string key = std::string(shape.name) + " " + std::to_string(std::hash<std::string_view>()(kernel)) + " sm_" +
                    std::to_string(capability) + " driver " + driver_version() + "\n";
  for (const UserType lane : semiring.lanes) key += std::string(user_type_name(lane)) + " ";
  return key + "\n" + semiring.key;
}

std::mutex cache_mutex;

/// Returns the current disk cache, guarded by cache_mutex.
std::shared_ptr<CubinCache>& cache() {
  static auto& current = *new std::shared_ptr<CubinCache>(std::make_shared<CubinCache>("", 0));
  return current;
}

std::shared_ptr<CubinCache> current_cache() {
  const std::lock_guard<std::mutex> lock(cache_mutex);
  return cache();
}

std::shared_ptr<const UserKernel> make(const UserSemiring& semiring, const UserTemplate& shape, int device) {
  const int capability = device_limits(device).capability;
  const UserPtx* const ptx = ptx_for(capability);
  if (!ptx) {
    throw Error(ErrorCode::kCuda,
                "this build has no kernels for semirings of one's own on sm_" + std::to_string(capability) +
                    ": rebuild it with MPMML_CUDA_ARCHS=" + std::to_string(capability) + ", or choose backend 'cpu'");
  }
  const std::string_view kernel = ptx->kernels.at(shape.name);
  const Clock::time_point start = Clock::now();
  const std::string key = key_of(semiring, shape, kernel, capability);
  const std::shared_ptr<CubinCache> cache = current_cache();
  if (const std::optional<std::string> code = cache->find(key)) {
    try {
      return std::make_shared<UserKernel>(shape, device, *code, UserKernel::Origin::kDisk, milliseconds_since(start));
    } catch (const Error& error) {
      // A cache file that can't be loaded is compiled again.
      if (error.code() == ErrorCode::kOutOfMemory) throw;
    }
  }
  const std::string code = compile(instantiate_template(ptx->head, kernel, semiring), shape.name);
  auto made =
      std::make_shared<UserKernel>(shape, device, code, UserKernel::Origin::kCompiled, milliseconds_since(start));
  cache->store(key, code);
  return made;
}

/// LRU cache of kernels in memory.
class Kernels {
 public:
  std::shared_ptr<const UserKernel> find(const UserSemiring& semiring, const UserTemplate& shape, int device) {
    const std::shared_ptr<Entry> entry = entry_of(semiring, shape, device);
    // Other threads that need the kernel wait until it is compiled.
    const std::lock_guard<std::mutex> lock(entry->mutex);
    if (!entry->kernel) entry->kernel = make(semiring, shape, device);
    return entry->kernel;
  }

 private:
  static constexpr size_t kMost = 256;
  struct Entry {
    std::mutex mutex;
    std::shared_ptr<const UserKernel> kernel;  ///< guarded by mutex
  };
  struct Place {
    std::shared_ptr<Entry> entry;
    std::list<std::string>::iterator turn;
  };

  std::shared_ptr<Entry> entry_of(const UserSemiring& semiring, const UserTemplate& shape, int device) {
    std::string name = std::to_string(device) + " " + shape.name + " ";
    for (const UserType lane : semiring.lanes) name += static_cast<char>('0' + static_cast<int>(lane));
    name += semiring.key;
    // Destroyed after the lock is released, because unloading a kernel waits for its device.
    std::shared_ptr<Entry> dropped;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(name);
    if (found != entries_.end()) {
      turns_.splice(turns_.end(), turns_, found->second.turn);
      return found->second.entry;
    }
    if (entries_.size() >= kMost) {
      const auto oldest = entries_.find(turns_.front());
      dropped = std::move(oldest->second.entry);
      entries_.erase(oldest);
      turns_.pop_front();
    }
    turns_.push_back(name);
    auto entry = std::make_shared<Entry>();
    entries_.emplace(std::move(name), Place{entry, std::prev(turns_.end())});
    return entry;
  }

  std::mutex mutex_;
  std::unordered_map<std::string, Place> entries_;  ///< guarded by mutex_
  std::list<std::string> turns_;                    ///< least recently used first; guarded by mutex_
};

}  // namespace

UserKernel::UserKernel(const UserTemplate& shape, int device, const std::string& image, Origin origin,
                       double milliseconds)
    : shape_(shape), device_(device), origin_(origin), milliseconds_(milliseconds) {
  const Clock::time_point start = Clock::now();
  const std::string what = std::string("load the kernel ") + shape.name;
  CUresult status =
      failing_drivers.must_fail() ? CUDA_ERROR_NO_BINARY_FOR_GPU : driver().module_load_data(&module_, image.data());
  if (status != CUDA_SUCCESS) fail(what, status);
  status = driver().module_get_function(&function_, module_, shape.name);
  if (status != CUDA_SUCCESS) {
    driver().module_unload(module_);
    fail(what, status);
  }
  milliseconds_ += milliseconds_since(start);
}

UserKernel::~UserKernel() {
  int current = 0;
  if (cudaGetDevice(&current) != cudaSuccess || cudaSetDevice(device_) != cudaSuccess) return;
  // The kernel may still be running.
  if (cudaDeviceSynchronize() == cudaSuccess) driver().module_unload(module_);
  cudaSetDevice(current);
}

int UserKernel::registers() const {
  int count = 0;
  driver().function_attribute(&count, CU_FUNC_ATTRIBUTE_NUM_REGS, function_);
  return count;
}

int UserKernel::blocks_per_multiprocessor() const {
  int count = 0;
  driver().blocks_per_multiprocessor(&count, function_, shape_.threads(), 0);
  return std::max(count, 1);
}

void keep_user_kernels(const std::string& folder, int64_t bytes) {
  const std::lock_guard<std::mutex> lock(cache_mutex);
  cache() = std::make_shared<CubinCache>(folder, bytes);
}

std::shared_ptr<const UserKernel> user_kernel(const UserSemiring& semiring, const UserTemplate& shape, int device) {
  static auto& kernels = *new Kernels;
  return kernels.find(semiring, shape, device);
}

std::vector<std::pair<std::string, std::string>> user_kernel_texts(const UserSemiring& semiring) {
  std::vector<std::pair<std::string, std::string>> texts;
  const UserPtx& ptx = user_ptx().front();
  for (const UserTemplate& shape : user_templates()) {
    if (!may_take(shape, semiring)) continue;
    texts.emplace_back(shape.name, instantiate_template(ptx.head, ptx.kernels.at(shape.name), semiring));
  }
  return texts;
}

bool has_user_templates(int capability) { return ptx_for(capability) != nullptr; }

}  // namespace mpmml::cuda
