#include "cuda/runtime/session_device.h"

#include <algorithm>
#include <cstring>

#include "core/problem/problem.h"
#include "core/status.h"
#include "cuda/device/error.h"
#include "cuda/runtime/band_copy.h"
#include "cuda/runtime/elementwise.h"
#include "cuda/runtime/memory_reservation.h"

namespace mpmml::cuda {
namespace {

/// Makes the device current, because streams are created on the thread's current device.
int made_current(int device) {
  MPMML_CUDA(cudaSetDevice(device));
  return device;
}

}  // namespace

SessionDevice::SessionDevice(int device, int64_t limit, bool is_ahead)
    : lane_(made_current(device), is_ahead), limit_(limit) {}

void SessionDevice::enter() {
  MPMML_CUDA(cudaSetDevice(device()));
  owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  std::vector<std::shared_ptr<ResidentMemory::Held>> released;
  const std::lock_guard<std::mutex> lock(mutex_);
  released.swap(released_);
}

void SessionDevice::release(int64_t bytes, std::shared_ptr<ResidentMemory::Held> held) {
  if (!held) {
    used_ -= bytes;
    if (reserved_ == 0) ledger_of(device()).hold(-bytes);
    return;
  }
  // Other threads make no CUDA call, because it might be their first, which is slow, or happen during CUDA's shutdown.
  if (owner_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  released_.push_back(std::move(held));
}

std::shared_ptr<ResidentMemory> SessionDevice::allocate(int64_t bytes, bool is_for_peers) {
  DeviceBuffer buffer = workspace(bytes, is_for_peers);
  auto memory = std::make_shared<ResidentMemory>(
      std::move(buffer), bytes, device(),
      [self = shared_from_this()](int64_t size, std::shared_ptr<ResidentMemory::Held> held) {
        self->release(size, std::move(held));
      });
  if (reserved_ == 0) ledger_of(device()).hold(bytes);
  const int64_t used = used_ += bytes;
  if (used > peak_) peak_ = used;
  return memory;
}

bool SessionDevice::has_capacity(int64_t bytes) const {
  if (reserved_ > 0) return bytes + used_ <= reserved_;
  return bytes + bytes_of_forms(device()) <= device_capacity(device(), limit_) - ledger_of(device()).reserved();
}

bool SessionDevice::make_room(int64_t bytes) {
  const auto fits = [&] { return (reserved_ == 0 && bytes <= unreserved_threshold(limit_)) || has_capacity(bytes); };
  while (!fits()) {
    if (reserved_ > 0) return false;
    if (drop_forms(device(), bytes) > 0) continue;
    // Stream-ordered frees take effect when the device reaches them. Other products on this device end on their own,
    // and release their packed forms.
    MPMML_CUDA(cudaStreamSynchronize(stream()));
    if (fits()) return true;
    if (ledger_of(device()).reserved() == 0 && bytes_of_forms(device()) == 0) return false;
    if (is_set(cancelled_)) throw aborted();
    ledger_of(device()).await_change();
  }
  return true;
}

bool SessionDevice::make_room_for_forms(int64_t room, int64_t forms) {
  const auto fits = [&] {
    // Cached packings are retained, so all of them count.
    const int64_t all = room + (forms > 0 ? forms + bytes_of_forms(device()) : 0);
    return (reserved_ == 0 && all <= unreserved_threshold(limit_)) || has_capacity(room + forms);
  };
  while (!fits()) {
    if (reserved_ > 0 || drop_forms(device(), room + forms) == 0) return false;
  }
  return true;
}

DeviceBuffer SessionDevice::workspace(int64_t bytes, bool is_for_peers) {
  const bool has_room = make_room(bytes);
  for (bool has_waited = false; has_room; has_waited = true) {
    try {
      return DeviceBuffer(bytes, device(), stream(), is_for_peers);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kOutOfMemory) throw;
    }
    if (has_waited) break;
    MPMML_CUDA(cudaStreamSynchronize(stream()));
  }
  const std::string needed =
      in_mebibytes(bytes) + " of device memory are needed, but device " + std::to_string(device());
  throw Error(ErrorCode::kOutOfMemory,
              reserved_ > 0 ? needed + " has " + in_mebibytes(reserved_ - used_) + " left for the product"
                            : needed + " has no room for them beside " + in_mebibytes(used_) +
                                  " of matrices: dispose matrices that you don't need any more");
}

void SessionDevice::limit_queued(double steps) {
  constexpr double kMaxQueued = 6e11;
  while (!turns_.empty() && (queued_steps_ + steps > kMaxQueued || turns_.front().end.has_passed())) {
    turns_.front().end.wait();
    queued_steps_ -= turns_.front().steps;
    turns_.pop_front();
  }
}

void SessionDevice::count_queued(double steps, cudaStream_t stream) {
  // A quarter of a millisecond on an H200. Shorter work isn't tracked, because never enough of it is in flight to
  // matter.
  constexpr double kLong = 4e9;
  if (steps < kLong) return;
  turns_.push_back({Event(), steps});
  turns_.back().end.record(stream);
  queued_steps_ += steps;
}

MemoryUse SessionDevice::use() {
  MPMML_CUDA(cudaSetDevice(device()));
  const DeviceMemory memory = device_memory(device());
  return {used_, std::max<int64_t>(memory.pooled, used_), peak_, memory.free, memory.total};
}

void SessionDevice::upload(const HostLayout& host, void* to, const std::atomic<int32_t>* cancelled) {
  if (host.elements() == 0) return;
  Event &free = lane_.event(), &there = lane_.event();
  free.record(stream());
  free.hold(lane_.upload());
  try {
    TransferQueue queue(TransferQueue::Direction::kUpload, lane_, [cancelled] { return is_set(cancelled); });
    queue.add({host, static_cast<char*>(to), nullptr});
    queue.start();
    queue.wait(0);
    there.record(lane_.upload());
    there.hold(stream());
    // The caller's pinned memory is read until this event.
    there.wait();
  } catch (...) {
    lane_.quiesce();
    lane_.reset();
    throw;
  }
  lane_.reset();
}

void SessionDevice::send(const void* from, int64_t bytes, void* to) {
  StagingRing& ring = lane_.ring(0);
  for (int64_t sent = 0; sent < bytes; sent += StagingRing::kSlotBytes) {
    const auto size = static_cast<size_t>(std::min(StagingRing::kSlotBytes, bytes - sent));
    void* const slot = ring.acquire();
    std::memcpy(slot, static_cast<const char*>(from) + sent, size);
    MPMML_CUDA(cudaMemcpyAsync(static_cast<char*>(to) + sent, slot, size, cudaMemcpyHostToDevice, stream()));
    ring.release(stream());
  }
}

std::optional<int64_t> SessionDevice::find_nan(DataType dtype, int64_t batch, const MatrixView& matrix) {
  constexpr unsigned long long kNone = ~0ull;
  MPMML_CUDA(cudaMemsetAsync(overflow(), 0xff, sizeof(kNone), stream()));
  cuda::find_nan(dtype, batch, matrix, overflow(), stream());
  MPMML_CUDA(
      cudaMemcpyAsync(&results_on_host()->overflow, overflow(), sizeof(kNone), cudaMemcpyDeviceToHost, stream()));
  MPMML_CUDA(cudaStreamSynchronize(stream()));
  if (results_on_host()->overflow == kNone) return std::nullopt;
  return static_cast<int64_t>(results_on_host()->overflow);
}

unsigned* SessionDevice::arrivals() {
  unsigned* const counters = results_on_device()->arrivals;
  if (!has_arrivals_) MPMML_CUDA(cudaMemsetAsync(counters, 0, sizeof(SmallResults::arrivals), stream()));
  has_arrivals_ = true;
  return counters;
}

ValueBounds SessionDevice::scan(DataType dtype, Storage storage, const void* data, int64_t count) {
  if (!has_facts_of(dtype) || count == 0) return {};
  return scan([&](ScanResult* result) { find_facts(dtype, storage, data, count, result, stream()); });
}

ValueBounds SessionDevice::scan_inside(DataType dtype, int64_t batch, const MatrixView& view, const Band& band) {
  if (!has_facts_of(dtype)) return {};
  return scan([&](ScanResult* result) { find_facts_inside(dtype, batch, view, band, result, stream()); });
}

template <class Queue>
ValueBounds SessionDevice::scan(Queue&& queue) {
  ScanResult *const on_device = results_on_device()->scans[0], *const on_host = results_on_host()->scans[0];
  reset_scans(on_device, 1, stream());
  queue(on_device);
  MPMML_CUDA(cudaMemcpyAsync(on_host, on_device, sizeof(ScanResult), cudaMemcpyDeviceToHost, stream()));
  MPMML_CUDA(cudaStreamSynchronize(stream()));
  return on_host->facts();
}

void SessionDevice::sample_levels(const Operation& operation, std::initializer_list<KnownLines*> lines) {
  LevelsFound *const on_device = results_on_device()->levels[0], *const on_host = results_on_host()->levels[0];
  LevelsFound* place = on_device;
  for (const KnownLines* known : lines) {
    if (!known->is_sampled) cuda::sample_levels(operation, known->lines, place++, stream());
  }
  if (place == on_device) return;
  MPMML_CUDA(cudaMemcpyAsync(on_host, on_device, static_cast<size_t>(place - on_device) * sizeof(LevelsFound),
                             cudaMemcpyDeviceToHost, stream()));
  MPMML_CUDA(cudaStreamSynchronize(stream()));
  place = on_host;
  for (KnownLines* known : lines) {
    if (known->is_sampled) continue;
    known->found = *place++;
    known->is_sampled = true;
  }
}

void SessionDevice::find_levels(const Operation& operation, KnownLines& lines, bool has_zero) {
  if (lines.is_all) return;
  LevelsFound *const on_device = results_on_device()->levels[0], *const on_host = results_on_host()->levels[0];
  cuda::find_levels(operation, lines.lines, lines.found, has_zero, on_device, stream());
  MPMML_CUDA(cudaMemcpyAsync(on_host, on_device, sizeof(LevelsFound), cudaMemcpyDeviceToHost, stream()));
  MPMML_CUDA(cudaStreamSynchronize(stream()));
  lines.found = *on_host;
  lines.is_all = true;
}

SessionDevice::HostCopy SessionDevice::fetch(DataType dtype, int64_t batch, const MatrixView& from) {
  const int64_t items = items_of(from, batch);
  const int64_t bytes = items * from.rows * from.cols * stored_bytes(dtype, from.storage);
  const DeviceBuffer dense = workspace(bytes);
  copy_matrices(dtype, items, from, row_major(dense.get(), from.rows, from.cols), stream());
  HostCopy copy;
  copy.data.resize(static_cast<size_t>(bytes));
  MPMML_CUDA(cudaMemcpyAsync(copy.data.data(), dense.get(), copy.data.size(), cudaMemcpyDeviceToHost, stream()));
  MPMML_CUDA(cudaStreamSynchronize(stream()));
  copy.view = row_major<const void*>(copy.data.data(), from.rows, from.cols);
  if (items == 1) copy.view.batch_stride = 0;
  copy.view.storage = from.storage;
  return copy;
}

}  // namespace mpmml::cuda
