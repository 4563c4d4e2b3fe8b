// Matrices between the host and the device. A copy on the device is dense: row by row, or column by column if the
// host's matrix is stored that way.
//
// Pageable memory passes through pinned slots that several threads fill or empty, because one thread copies slower than
// the bus. Pinned memory is copied directly.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>

#include "core/problem/problem.h"
#include "cuda/runtime/lane.h"

namespace mpmml::cuda {

/// A batch of host matrices as runs: items × lines × length elements. The dense order counts them in that order.
struct HostLayout {
  char* data;
  int64_t items, lines, length;
  int64_t item_stride, line_stride, element_stride;
  int element_bytes;
  bool by_columns;  ///< a line is a column
  Band band{};      ///< of the elements (line, place in it) that scatter() writes

  bool is_all_written() const { return band.is_all(lines, length); }
  int64_t elements() const { return items * lines * length; }
  int64_t bytes() const { return elements() * element_bytes; }
  /// Whether the dense order is the order in memory.
  bool dense() const {
    return (element_stride == 1 || length == 1) && (line_stride == length || lines == 1) &&
           (item_stride == lines * length || items == 1);
  }

  /// Whether lines are contiguous, equally far apart and don't overlap.
  bool pitched() const {
    return (element_stride == 1 || length == 1) && (line_stride >= length || lines == 1) &&
           (items == 1 || item_stride == lines * line_stride);
  }

  /// Copies elements [first, first + count) of the dense order from the matrices, or those of them that are in the band
  /// into the matrices.
  void gather(int64_t first, int64_t count, char* target) const;
  void scatter(int64_t first, int64_t count, const char* source) const;
};

/// `any_order`: lines may be columns if those are closer together in memory; otherwise they are rows.
HostLayout host_layout(const MatrixView& view, int64_t batch, DataType dtype, bool any_order);

/// Whether a device can read and write the memory of the host directly.
bool is_pinned(const void* memory);

/// One matrix batch to be copied to or from dense device memory.
struct Transfer {
  HostLayout host;
  char* device;
  /// Called by the thread that queued (upload) or finished (download) the last part.
  std::function<void()> done;
  /// Download: what the copies wait for.
  const Event* after = nullptr;
};

/// Copies a list of transfers, in order, with several threads.
class TransferQueue {
 public:
  enum class Direction { kUpload, kDownload };

  /// `cancelled` is called before each part. If it returns true, the rest is left out.
  TransferQueue(Direction direction, Lane& lane, std::function<bool()> cancelled);
  /// Waits for the threads; transfers that aren't complete are given up.
  ~TransferQueue();
  TransferQueue(const TransferQueue&) = delete;

  void add(Transfer transfer);
  /// Takes the pinned memory that start() needs. Throws Error(kOutOfMemory).
  void prepare();
  /// Starts as many threads as the bytes are worth. If there are only few bytes, it copies them before it returns.
  void start();
  /// Whether wait(index) would return or throw at once.
  bool is_done(size_t index);
  /// Returns when transfer number `index` is queued (upload) or complete (download). Rethrows what a thread threw.
  void wait(size_t index);

 private:
  struct Entry {
    Transfer transfer;
    bool pinned;  ///< then copied without staging, in parts of whole lines
    int64_t first_part, parts, part_elements;
    int64_t left;
  };

  int threads() const;
  bool start_thread(int thread);
  void work(int thread);
  void run_part(Entry& entry, int64_t part, int thread);

  const Direction direction_;
  Lane& lane_;
  const std::function<bool()> cancelled_;
  std::vector<Entry> entries_;
  int64_t parts_ = 0;

  std::mutex mutex_;
  std::condition_variable progress_;
  int64_t next_part_ = 0;
  int working_ = 0;  ///< threads
  std::exception_ptr failure_;
};

}  // namespace mpmml::cuda
