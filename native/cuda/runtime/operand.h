// An operand: a matrix (or a batch of them) where a device's kernels can read it, and all that is known about it there:
// its elements, the range of their values, the forms that kernels have packed it into, and the events after which each
// is ready. A call makes operands from host matrices and drops them. Those of resident matrices belong to the matrix's
// memory (resident.h).
#pragma once
#include <memory>
#include <optional>

#include "core/plan/plan.h"
#include "cuda/launch/kernel.h"
#include "cuda/runtime/lane.h"
#include "cuda/runtime/levels.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/packed_forms.h"
#include "cuda/runtime/range.h"
#include "cuda/runtime/transfer.h"

namespace mpmml::cuda {

class Operand {
 public:
  /// Describes the copy of the host matrices `source` on the device: `items` of them, dense, by rows or by columns as
  /// on the host. What is outside the band becomes zero there. It keeps what kernels make of it. Allocates nothing.
  Operand(const Operation& operation, const MatrixView& source, int64_t items, const Band& band = {});

  /// The matrices `view` of the device's memory, which are there for all that is queued from now on in the stream that
  /// the operand is used in. `forms` is where their packed forms are kept; null if they aren't. Witnesses are looked for in
  /// `searched`: the same matrices, but zero outside a band.
  Operand(const Operation& operation, const MatrixView& view, int64_t items, const ValueRange& range,
          PackedForms* forms, const MatrixView& searched);

  /// The host's side of the transfer.
  const HostLayout& host() const { return host_; }
  int64_t bytes() const { return host_.bytes(); }

  /// Sets the memory for the elements: allocate() takes its own, in the order of `stream`, and place_at() uses the
  /// caller's. The lane's own thread calls these. Another thread may call arrived() and scan().
  void allocate(Lane& lane, cudaStream_t stream, bool is_for_peers = false);
  void place_at(void* memory, Lane& lane);
  char* data() const { return static_cast<char*>(const_cast<void*>(view_.data)); }

  /// Clears what is outside the band, and records that the elements are there once `stream` has passed this point.
  void arrived(cudaStream_t stream);
  /// Queues a scan of the elements on the lane's scanning stream, if something must be known about them. `host` and
  /// `device` are places for the result in the lane's small results.
  void scan(Lane& lane, ScanResult* host, ScanResult* device);
  /// Queues a scan of a few lines, as those of this side of a product, before scan().
  void sample(Lane& lane, Side side, LevelsFound* host, LevelsFound* device);
  /// Waits until the elements are there and scanned.
  void await();

  /// Scans all lines, if that may decide how to compute the product of a and b. Both are there and scanned.
  static void scan_lines(Operand& a, Operand& b, Lane& lane);

  const ValueRange& range() const { return range_; }
  void set_range(const ValueRange& range) { range_ = range; }

  /// The elements as they are stored on the device.
  const MatrixView& view() const { return view_; }
  const MatrixView& searched() const { return searched_.data ? searched_ : view_; }
  /// The same for a kernel on `stream`. int16 is converted to int32 when a kernel first needs that: in `room`, unless the
  /// operand keeps it.
  const MatrixView& view_for(const Kernel& kernel, Lane& lane, cudaStream_t stream, ScratchArena& room);
  /// The view that view_for() returns. Without data, if elements must be converted first.
  MatrixView view_to_be(const Kernel& kernel) const;

  /// The form of this side of the launch that the kernel needs. It is packed in the launch's stream unless it
  /// already exists; null if the kernel reads the elements. A form that isn't kept is packed in `room`.
  void* packed_for(const Kernel& kernel, const Launch& launch, Side side, Lane& lane, ScratchArena& room);
  /// Packs that form unless it already exists, if it is kept.
  void keep_packed(const Kernel& kernel, const Launch& launch, Side side, Lane& lane);
  /// The bytes that packed_for() allocates for a form that is kept. If the form exists, it is held.
  int64_t bytes_to_keep(const Kernel& kernel, const Launch& launch, Side side);
  /// Lets others drop the form of a matrix that stays, after all launches that use it are queued. Until then their thread must
  /// not wait for memory that others have reserved: they may wait for the form.
  void release_form() { held_form_.reset(); }
  /// Forgets the forms of a copy. Nothing may use them any more.
  void drop_forms() {
    release_form();
    own_forms_.clear();
  }
  /// What view_for() and packed_for() take of a room. The launch has the view_to_be().
  int64_t extra_workspace_bytes(const Kernel& kernel, const Launch& launch, Side side) const;

  /// Milliseconds from `begin` until the elements were there, and those of the scan.
  double arrival(const Event& begin) const { return arrived_ ? arrived_->since(begin) : 0; }
  double scan_time() const { return scan_result_ ? scanned_->since(*arrived_) : 0; }

 private:
  void scan_lines(Lane& lane);
  /// What is widened for one launch isn't the matrix's memory, so its forms couldn't be found again.
  bool keeps_forms(const Kernel& kernel) const { return is_copy_ || (resident_forms_ && !must_widen(kernel)); }
  bool must_widen(const Kernel& kernel) const {
    return !kernel.takes_int16 && (widened_ || view_.storage != Storage::kElement);
  }
  PackedKey key_for(const Kernel& kernel, const Launch& launch, Side side) const;
  void* kept_form(const Kernel& kernel, const Launch& launch, Side side, int64_t bytes, Lane& lane);
  PackedForms& forms() { return resident_forms_ ? *resident_forms_ : own_forms_; }

  Operation operation_;
  HostLayout host_;
  Band band_;
  MatrixView view_, searched_;
  const bool is_copy_;
  DeviceBuffer buffer_;
  Event* arrived_ = nullptr;
  Event* scanned_ = nullptr;
  const ScanResult* scan_result_ = nullptr;
  ValueRange range_;
  OperandLines lines_{};
  LevelsFound *sampled_ = nullptr, *on_device_ = nullptr;
  LineLevels guess_;
  DeviceBuffer widened_buffer_;
  Event* widened_ = nullptr;
  PackedForms own_forms_;
  PackedForms* resident_forms_ = nullptr;
  std::shared_ptr<const PackedForm> held_form_;  ///< the form used last
};

}  // namespace mpmml::cuda
