#include "cuda/runtime/memory.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "core/host/fault_injection.h"
#include "core/host/huge_pages.h"
#include "core/rounding.h"
#include "cuda/device/error.h"
#include "cuda/runtime/packed_forms.h"

namespace mpmml::cuda {
namespace {

// What the pool keeps for the next call when nothing is in use. The rest goes back to the driver.
constexpr uint64_t kKeptBytes = uint64_t{2} << 30;

std::mutex pools_mutex;

/// By the device, and whether they are for peers. Never destroyed, because worker threads may outlive static objects.
std::map<std::pair<int, bool>, cudaMemPool_t>& known_pools() {
  static auto* const pools = new std::map<std::pair<int, bool>, cudaMemPool_t>;
  return *pools;
}

/// The library's own pool on `device`; null if the device has none (before Pascal). What other devices can read is in a
/// pool of its own, because all that is in it has to be mapped on all of them.
cudaMemPool_t pool_of(int device, bool is_for_peers) {
  const std::lock_guard<std::mutex> lock(pools_mutex);
  auto& pools = known_pools();
  const auto known = pools.find({device, is_for_peers});
  if (known != pools.end()) return known->second;
  int supported = 0;
  MPMML_CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device));
  cudaMemPool_t pool = nullptr;
  if (supported) {
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    MPMML_CUDA(cudaMemPoolCreate(&pool, &properties));
    uint64_t kept = kKeptBytes;
    MPMML_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
  }
  return pools[{device, is_for_peers}] = pool;
}

/// Gives the driver what a pool keeps, which no other pool can use. Returns whether there is such a pool.
bool give_back_kept(int device, bool is_for_peers) {
  const std::lock_guard<std::mutex> lock(pools_mutex);
  const auto pool = known_pools().find({device, is_for_peers});
  return pool != known_pools().end() && pool->second && cudaMemPoolTrimTo(pool->second, 0) == cudaSuccess;
}

/// Lets a pool of one of several devices keep more: drivers give memory to one device after the other (for 4 GiB on each
/// of four H200s they take 26 to 73 ms, and as long to take it back), which is most of the time of a product on all.
void keep_share(int device, cudaMemPool_t pool) {
  constexpr uint64_t kShare = 8;
  size_t free = 0, total = 0;
  MPMML_CUDA(cudaSetDevice(device));
  MPMML_CUDA(cudaMemGetInfo(&free, &total));
  uint64_t kept = std::max<uint64_t>(kKeptBytes, total / kShare);
  MPMML_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
}

/// Returns whether `device` reads registered memory of the host at the host's addresses. The driver is asked once per device.
bool can_register(int device) {
  static std::mutex mutex;
  static auto& answers = *new std::map<int, bool>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = answers.find(device);
  if (known != answers.end()) return known->second;
  int is_supported = 0, has_same_addresses = 0;
  MPMML_CUDA(cudaDeviceGetAttribute(&is_supported, cudaDevAttrHostRegisterSupported, device));
  MPMML_CUDA(cudaDeviceGetAttribute(&has_same_addresses, cudaDevAttrCanUseHostPointerForRegisteredMem, device));
  return answers[device] = is_supported && has_same_addresses;
}

/// Size of registered memory: whole huge pages.
size_t registered_bytes(int64_t bytes) { return static_cast<size_t>(round_up(bytes, static_cast<int64_t>(kHugePage))); }

/// Huge pages that are written before CUDA locks them. cudaHostAlloc() blocks the page faults of all threads of the process
/// while it makes the pages, 20 ms for 64 MiB; locking pages that exist takes 1.4 ms (docs/notes.md, "Page-locked memory").
/// Null if the system or the driver refuses the memory.
void* allocate_registered(int64_t bytes) {
  const size_t size = registered_bytes(bytes);
  void* const memory = allocate_pages(size);
  if (!memory) return nullptr;
  for (size_t at = 0; at < size; at += kPage) static_cast<volatile char*>(memory)[at] = 0;
  if (cudaHostRegister(memory, size, cudaHostRegisterPortable) == cudaSuccess) return memory;
  cudaGetLastError();
  free_pages(memory, size);
  return nullptr;
}

}  // namespace

DeviceBuffer::DeviceBuffer(int64_t bytes, int device, cudaStream_t stream, bool is_for_peers) : stream_(stream) {
  const cudaMemPool_t pool = pool_of(device, is_for_peers);
  pooled_ = pool != nullptr;
  const auto size = static_cast<size_t>(bytes > 0 ? bytes : 1);
  const auto allocate = [&] {
    if (failing_allocations.must_fail()) return cudaErrorMemoryAllocation;
    const cudaError_t error = pooled_ ? cudaMallocFromPoolAsync(&data_, size, pool, stream) : cudaMalloc(&data_, size);
    // Otherwise the next call would report it.
    if (error == cudaErrorMemoryAllocation) cudaGetLastError();
    return error;
  };
  cudaError_t error = allocate();
  if (error == cudaErrorMemoryAllocation && give_back_kept(device, !is_for_peers)) error = allocate();
  while (error == cudaErrorMemoryAllocation && drop_forms(device, static_cast<int64_t>(size)) > 0) {
    if (is_for_peers) give_back_kept(device, false);
    error = allocate();
  }
  check(error, pooled_ ? "cudaMallocFromPoolAsync" : "cudaMalloc", __FILE__, __LINE__);
}

DeviceBuffer::~DeviceBuffer() {
  if (!data_) return;
  if (pooled_) {
    cudaFreeAsync(data_, stream_);
  } else {
    cudaFree(data_);
  }
}

ScratchArena::ScratchArena(int64_t bytes, int device, cudaStream_t stream) : bytes_(bytes) {
  if (bytes > 0) buffer_ = DeviceBuffer(bytes, device, stream);
}

void* ScratchArena::take(int64_t bytes) {
  if (bytes == 0) return nullptr;
  if (piece(bytes) > bytes_ - used_)
    throw std::logic_error("a product needs more device memory than was counted for it");
  void* const place = static_cast<char*>(buffer_.get()) + used_;
  used_ += piece(bytes);
  return place;
}

bool open_pool_to(int owner, int reader) {
  const cudaMemPool_t pool = pool_of(owner, true);
  if (!pool) return false;
  for (const bool is_for_peers : {false, true}) keep_share(owner, pool_of(owner, is_for_peers));
  cudaMemAccessDesc access = {};
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = reader;
  access.flags = cudaMemAccessFlagsProtReadWrite;
  MPMML_CUDA(cudaMemPoolSetAccess(pool, &access, 1));
  return true;
}

void* allocate_pinned(int64_t bytes, int device) {
  // Otherwise CUDA would begin to use device 0 too.
  MPMML_CUDA(cudaSetDevice(device));
  if (can_register(device)) {
    if (void* const memory = allocate_registered(bytes)) return memory;
  }
  void* memory = nullptr;
  MPMML_CUDA(cudaHostAlloc(&memory, static_cast<size_t>(bytes), cudaHostAllocPortable));
  return memory;
}

void free_pinned(void* memory, int64_t bytes) {
  if (cudaHostUnregister(memory) == cudaSuccess) {
    free_pages(memory, registered_bytes(bytes));
  } else {
    // The memory is cudaHostAlloc's. Otherwise the next call would report the error.
    cudaGetLastError();
    cudaFreeHost(memory);
  }
}

DeviceMemory device_memory(int device) {
  MPMML_CUDA(cudaSetDevice(device));
  size_t free = 0, total = 0;
  MPMML_CUDA(cudaMemGetInfo(&free, &total));
  uint64_t reserved = 0;
  const std::lock_guard<std::mutex> lock(pools_mutex);
  for (const bool is_for_peers : {false, true}) {
    const auto pool = known_pools().find({device, is_for_peers});
    if (pool == known_pools().end() || !pool->second) continue;
    uint64_t of_pool = 0;
    MPMML_CUDA(cudaMemPoolGetAttribute(pool->second, cudaMemPoolAttrReservedMemCurrent, &of_pool));
    reserved += of_pool;
  }
  return {static_cast<int64_t>(free), static_cast<int64_t>(reserved), static_cast<int64_t>(total)};
}

}  // namespace mpmml::cuda
