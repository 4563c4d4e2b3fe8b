// Transfers of matrices between the host and the device. The copy on the device is dense: row-major, or column-major if
// the host's matrix is.
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
  Band band{};      ///< band of elements (line, index in the line) that scatter() writes

  bool is_all_written() const { return band.is_all(lines, length); }
  int64_t elements() const { return items * lines * length; }
  int64_t bytes() const { return elements() * element_bytes; }
  /// Returns whether the dense order is the order in memory.
  bool dense() const {
    return (element_stride == 1 || length == 1) && (line_stride == length || lines == 1) &&
           (item_stride == lines * length || items == 1);
  }

  /// Returns whether lines are contiguous with a common pitch and don't overlap, so that a 2-D copy applies.
  bool pitched() const {
    return (element_stride == 1 || length == 1) && (line_stride >= length || lines == 1) &&
           (items == 1 || item_stride == lines * line_stride);
  }

  /// gather() copies elements [first, first + count) of the dense order from the matrices. scatter() copies the
  /// elements of that range inside the band to the matrices.
  void gather(int64_t first, int64_t count, char* target) const;
  void scatter(int64_t first, int64_t count, const char* source) const;
};

/// Returns the layout of host matrices. With `any_order`, lines are columns if the matrix is column-major; otherwise
/// they are rows.
HostLayout host_layout(const MatrixView& view, int64_t batch, DataType dtype, bool any_order);

/// Returns whether a device can access the host memory directly.
bool is_pinned(const void* memory);

/// One matrix batch to be copied to or from dense device memory.
struct Transfer {
  HostLayout host;
  char* device;
  /// Called by the thread that queued (upload) or finished (download) the last part.
  std::function<void()> done;
  /// For downloads: event that the copies wait for.
  const Event* after = nullptr;
};

/// Copies a list of transfers, in order, with several threads.
class TransferQueue {
 public:
  enum class Direction { kUpload, kDownload };

  /// `cancelled` is called before each part. If it returns true, the remaining parts are skipped.
  TransferQueue(Direction direction, Lane& lane, std::function<bool()> cancelled);
  /// Waits for the threads, and cancels transfers that aren't complete.
  ~TransferQueue();
  TransferQueue(const TransferQueue&) = delete;

  void add(Transfer transfer);
  /// Allocates the pinned memory that start() needs. Throws Error(kOutOfMemory).
  void prepare();
  /// Starts threads in proportion to the bytes. Small transfers are copied before it returns.
  void start();
  /// Returns whether wait(index) would return or throw immediately.
  bool is_done(size_t index);
  /// Waits until transfer `index` is queued (upload) or complete (download). Rethrows the error of a thread.
  void wait(size_t index);

 private:
  struct Entry {
    Transfer transfer;
    bool pinned;  ///< whether it is copied without staging, in parts of whole lines
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
  int working_ = 0;  ///< number of threads at work
  std::exception_ptr failure_;
};

}  // namespace mpmml::cuda
