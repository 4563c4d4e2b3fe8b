// An operand of a product: a matrix (or a batch) in device memory with its value range, its packed forms, and the
// events after which each is ready. Operands of host matrices exist for one call. Packed forms of resident matrices
// belong to the matrix's memory (resident.h).
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
  /// on the host. Elements outside the band become zero there. The operand caches its packed forms. Allocates no
  /// memory.
  Operand(const Operation& operation, const MatrixView& source, int64_t items, const Band& band = {});

  /// Describes the device matrices `view`, which are valid for all work queued from now on in the operand's stream.
  /// `forms` caches their packed forms; null disables caching. `searched` is the input of the witness search: the
  /// matrices with zero outside a band.
  Operand(const Operation& operation, const MatrixView& view, int64_t items, const ValueRange& range,
          PackedForms* forms, const MatrixView& searched);

  /// Layout of the host matrices for the transfer.
  const HostLayout& host() const { return host_; }
  int64_t bytes() const { return host_.bytes(); }

  /// Sets the memory for the elements: allocate() takes its own, in the order of `stream`, and place_at() uses the
  /// caller's. The lane's own thread calls these. Another thread may call arrived() and scan().
  void allocate(Lane& lane, cudaStream_t stream, bool is_for_peers = false);
  void place_at(void* memory, Lane& lane);
  char* data() const { return static_cast<char*>(const_cast<void*>(view_.data)); }

  /// Clears the elements outside the band, and records the event in `stream` after which the elements are available.
  void arrived(cudaStream_t stream);
  /// Queues a scan of the elements on the lane's scan stream, if the product needs their range. `host` and `device` are
  /// slots for the result in the lane's small results.
  void scan(Lane& lane, ScanResult* host, ScanResult* device);
  /// Queues a scan of a sample of lines for one side of a product. Must be called before scan().
  void sample(Lane& lane, Side side, LevelsFound* host, LevelsFound* device);
  /// Waits until the elements are available and scanned.
  void await();

  /// Scans all lines if the result may change the plan of the product of a and b. Both operands must be available and
  /// scanned.
  static void scan_lines(Operand& a, Operand& b, Lane& lane);

  const ValueRange& range() const { return range_; }
  void set_range(const ValueRange& range) { range_ = range; }

  /// Returns the view of the elements in their storage type on the device.
  const MatrixView& view() const { return view_; }
  const MatrixView& searched() const { return searched_.data ? searched_ : view_; }
  /// Returns the view of the elements for a kernel on `stream`. int16 is converted to int32 when a kernel first needs
  /// it. The converted matrix is in `room`, unless the operand caches it.
  const MatrixView& view_for(const Kernel& kernel, Lane& lane, cudaStream_t stream, ScratchArena& room);
  /// Returns the view that view_for() will return, without data if elements must be converted first.
  MatrixView view_to_be(const Kernel& kernel) const;

  /// Returns the packed form that the kernel needs for this side of the launch; null if the kernel reads the elements.
  /// The form is packed in the launch's stream unless it is cached. A form that isn't cached is packed in `room`.
  void* packed_for(const Kernel& kernel, const Launch& launch, Side side, Lane& lane, ScratchArena& room);
  /// Packs the form of packed_for() in advance, if it is cacheable and not cached yet.
  void keep_packed(const Kernel& kernel, const Launch& launch, Side side, Lane& lane);
  /// Returns the bytes that packed_for() allocates for a cacheable form. If the form is cached, marks it as in use.
  int64_t bytes_to_keep(const Kernel& kernel, const Launch& launch, Side side);
  /// Allows other threads to drop the packed form of a resident matrix. Must be called after all launches that use the
  /// form are queued. Until then the thread must not wait for memory that others have reserved, because they may wait
  /// for the form.
  void release_form() { held_form_.reset(); }
  /// Releases the packed forms of a copy. No queued work may still use them.
  void drop_forms() {
    release_form();
    own_forms_.clear();
  }
  /// Returns the bytes that view_for() and packed_for() take from an arena. The launch must have the view of
  /// view_to_be().
  int64_t extra_workspace_bytes(const Kernel& kernel, const Launch& launch, Side side) const;

  /// Duration in milliseconds from `begin` until the elements were available, and duration of the scan.
  double arrival(const Event& begin) const { return arrived_ ? arrived_->since(begin) : 0; }
  double scan_time() const { return scan_result_ ? scanned_->since(*arrived_) : 0; }

 private:
  void scan_lines(Lane& lane);
  /// Returns whether packed forms are cacheable. A matrix converted for one launch isn't in the memory of the resident
  /// matrix, so a cached form couldn't be looked up.
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
  std::shared_ptr<const PackedForm> held_form_;  ///< form used last
};

}  // namespace mpmml::cuda
