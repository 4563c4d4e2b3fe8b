#include "cuda/runtime/transfer.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "core/status.h"
#include "cuda/device/error.h"
#include "cuda/runtime/worker_threads.h"

namespace mpmml::cuda {
namespace {

// Part size of pinned transfers, which are split only so that they can be cancelled between parts.
constexpr int64_t kPinnedPartBytes = int64_t{256} << 20;
// Limit of the pitch of a 2-D copy in bytes.
constexpr int64_t kMaxPitch = int64_t{1} << 31;
// Bytes per thread that make waking another thread worthwhile, and the limit of threads: more threads slow each other
// down (on an H200's host).
constexpr int64_t kBytesPerThread = kFewBytes;
constexpr unsigned kMaxThreads = 8;
// Bytes from which parts are whole slots, because each part costs a driver call.
constexpr int64_t kLargeMatrix = int64_t{16} << 20;

/// Calls `body(first element in memory, offset in the dense part in bytes, number of elements)` for each run of a part,
/// or for the part of each run inside the band.
template <class Body>
void for_runs(const HostLayout& host, const Band& band, int64_t first, int64_t count, Body&& body) {
  if (host.dense() && band.is_all(host.lines, host.length)) {
    body(host.data + first * host.element_bytes, int64_t{0}, count);
    return;
  }
  for (int64_t done = 0; done < count;) {
    const int64_t index = first + done;
    const int64_t item = index / host.length / host.lines, line = index / host.length % host.lines;
    const int64_t position = index % host.length, run = std::min(host.length - position, count - done);
    const Span inside = band.of_row(line).within({position, position + run});
    if (!inside.is_empty()) {
      const int64_t from = inside.first;
      char* memory = host.data + (item * host.item_stride + line * host.line_stride + from * host.element_stride) *
                                     host.element_bytes;
      body(memory, (done + from - position) * host.element_bytes, inside.size());
    }
    done += run;
  }
}

/// to[i · to_stride] = from[i · from_stride], in elements of `bytes` bytes.
void copy_elements(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t count, int bytes) {
  const auto copy = [&](auto element) {
    using Element = decltype(element);
    auto* target = reinterpret_cast<Element*>(to);
    const auto* source = reinterpret_cast<const Element*>(from);
    for (int64_t index = 0; index < count; ++index) target[index * to_stride] = source[index * from_stride];
  };
  if (to_stride == 1 && from_stride == 1) {
    std::memcpy(to, from, count * bytes);
  } else if (bytes == 1) {
    copy(int8_t{});
  } else if (bytes == 2) {
    copy(int16_t{});
  } else if (bytes == 4) {
    copy(int32_t{});
  } else {
    copy(int64_t{});
  }
}

/// Queues a copy of `count` elements from `first` on between pinned and device memory, by lines if they aren't
/// contiguous.
void copy_pinned(const HostLayout& host, int64_t first, int64_t count, char* device, cudaMemcpyKind kind,
                 cudaStream_t stream) {
  const bool upload = kind == cudaMemcpyHostToDevice;
  const int64_t bytes = count * host.element_bytes;
  if (host.dense()) {
    char* memory = host.data + first * host.element_bytes;
    MPMML_CUDA(cudaMemcpyAsync(upload ? device : memory, upload ? memory : device, bytes, kind, stream));
    return;
  }
  const int64_t pitch = host.line_stride * host.element_bytes, width = host.length * host.element_bytes;
  char* memory = host.data + first / host.length * pitch;
  MPMML_CUDA(cudaMemcpy2DAsync(upload ? device : memory, upload ? width : pitch, upload ? memory : device,
                               upload ? pitch : width, width, count / host.length, kind, stream));
}

}  // namespace

bool is_pinned(const void* memory) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeHost;
}

void HostLayout::gather(int64_t first, int64_t count, char* target) const {
  for_runs(*this, Band{}, first, count, [&](const char* memory, int64_t position, int64_t run) {
    copy_elements(target + position, 1, memory, element_stride, run, element_bytes);
  });
}

void HostLayout::scatter(int64_t first, int64_t count, const char* source) const {
  for_runs(*this, band, first, count, [&](char* memory, int64_t position, int64_t run) {
    copy_elements(memory, element_stride, source + position, 1, run, element_bytes);
  });
}

HostLayout host_layout(const MatrixView& view, int64_t batch, DataType dtype, bool any_order) {
  const Lines lines(view, any_order);
  HostLayout host{};
  host.data = static_cast<char*>(const_cast<void*>(view.data));
  host.items = items_of(view, batch);
  host.item_stride = view.batch_stride;
  host.element_bytes = static_cast<int>(stored_bytes(dtype, view.storage));
  host.by_columns = lines.are_columns;
  host.lines = lines.count;
  host.length = lines.length;
  host.line_stride = lines.line_stride;
  host.element_stride = lines.length == 1 ? 1 : lines.element_stride;
  return host;
}

TransferQueue::TransferQueue(Direction direction, Lane& lane, std::function<bool()> cancelled)
    : direction_(direction), lane_(lane), cancelled_(std::move(cancelled)) {}

TransferQueue::~TransferQueue() {
  std::unique_lock<std::mutex> lock(mutex_);
  next_part_ = parts_;
  progress_.wait(lock, [this] { return working_ == 0; });
}

void TransferQueue::add(Transfer transfer) {
  const HostLayout& host = transfer.host;
  const bool pinned = host.pitched() && host.is_all_written() && host.line_stride * host.element_bytes < kMaxPitch &&
                      is_pinned(host.data);
  const int64_t staged_bytes = host.bytes() >= kLargeMatrix ? StagingRing::kSlotBytes : kBytesPerThread;
  int64_t part_elements = (pinned ? kPinnedPartBytes : staged_bytes) / host.element_bytes;
  if (pinned && !host.dense()) part_elements = std::max<int64_t>(1, part_elements / host.length) * host.length;
  // An empty transfer has one part, too, so that `done` is called in order.
  const int64_t parts = std::max<int64_t>(1, ceil_div(host.elements(), part_elements));
  entries_.push_back({std::move(transfer), pinned, parts_, parts, part_elements, parts});
  parts_ += parts;
}

int TransferQueue::threads() const {
  int64_t staged = 0;
  for (const Entry& entry : entries_) {
    if (!entry.pinned) staged += entry.transfer.host.bytes();
  }
  const int64_t most = std::min(kMaxThreads, std::max(1u, std::thread::hardware_concurrency()));
  return static_cast<int>(std::clamp<int64_t>(staged / kBytesPerThread, 1, most));
}

void TransferQueue::prepare() { lane_.ring(threads() - 1); }

void TransferQueue::start() {
  prepare();
  const int count = threads();
  if (count == 1) return work(0);
  for (int thread = 0; thread < count; ++thread) {
    if (!start_thread(thread)) {
      // If the process has reached its limit of threads, the existing threads do the work.
      if (thread == 0) work(0);
      return;
    }
  }
}

bool TransferQueue::start_thread(int thread) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++working_;
  }
  try {
    run_on_thread([this, thread] {
      work(thread);
      const std::lock_guard<std::mutex> lock(mutex_);
      --working_;
      progress_.notify_all();
    });
    return true;
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    --working_;
    return false;
  }
}

bool TransferQueue::is_done(size_t index) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_ || entries_[index].left == 0;
}

void TransferQueue::wait(size_t index) {
  std::unique_lock<std::mutex> lock(mutex_);
  progress_.wait(lock, [&] { return failure_ || entries_[index].left == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

void TransferQueue::work(int thread) {
  try {
    MPMML_CUDA(cudaSetDevice(lane_.device()));
    for (;;) {
      int64_t part;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (failure_ || next_part_ >= parts_) return;
        part = next_part_++;
      }
      if (cancelled_()) throw aborted();
      const auto entry =
          std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return part < e.first_part + e.parts; });
      run_part(*entry, part - entry->first_part, thread);
      bool last;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        last = entry->left == 1;
        if (!last) --entry->left;
      }
      if (!last) continue;
      if (entry->transfer.done) entry->transfer.done();
      const std::lock_guard<std::mutex> lock(mutex_);
      entry->left = 0;
      progress_.notify_all();
    }
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    progress_.notify_all();
  }
}

void TransferQueue::run_part(Entry& entry, int64_t part, int thread) {
  const HostLayout& host = entry.transfer.host;
  const int64_t first = part * entry.part_elements;
  const int64_t count = std::min(entry.part_elements, host.elements() - first);
  if (count == 0) return;
  const int64_t bytes = count * host.element_bytes;
  char* device = entry.transfer.device + first * host.element_bytes;
  if (direction_ == Direction::kUpload) {
    const cudaStream_t stream = lane_.upload();
    if (entry.pinned) return copy_pinned(host, first, count, device, cudaMemcpyHostToDevice, stream);
    StagingRing& ring = lane_.ring(thread);
    auto* slot = static_cast<char*>(ring.acquire());
    host.gather(first, count, slot);
    MPMML_CUDA(cudaMemcpyAsync(device, slot, bytes, cudaMemcpyHostToDevice, stream));
    ring.release(stream);
    return;
  }
  const cudaStream_t stream = lane_.download();
  if (const Event* const after = entry.transfer.after) {
    if (entry.pinned) {
      after->hold(stream);
    } else {
      after->wait();
    }
  }
  StagingRing& ring = lane_.ring(thread);
  auto* slot = static_cast<char*>(ring.acquire());
  if (entry.pinned) {
    copy_pinned(host, first, count, device, cudaMemcpyDeviceToHost, stream);
  } else {
    MPMML_CUDA(cudaMemcpyAsync(slot, device, bytes, cudaMemcpyDeviceToHost, stream));
  }
  ring.release(stream);
  ring.finish();
  if (!entry.pinned) host.scatter(first, count, slot);
}

}  // namespace mpmml::cuda
