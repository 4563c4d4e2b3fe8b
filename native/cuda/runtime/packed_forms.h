// The forms that kernels have packed an operand into.
#pragma once
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>

#include "core/session/packed_bytes.h"
#include "cuda/launch/kernel.h"
#include "cuda/runtime/lane.h"
#include "cuda/runtime/memory.h"

namespace mpmml::cuda {

/// What a packed form depends on: the kernel and its path, the side of the product, the part of the memory that was
/// packed, the range that offsets were taken from, the band outside of which elements are zero, and whether rough chunks are
/// left out.
struct PackedKey {
  const Kernel* kernel;
  ArithmeticKind path;
  bool is_a;
  MatrixView view;
  int64_t items;
  double offset, step;
  Band band;
  bool leaves_out_rough;

  bool operator==(const PackedKey& other) const {
    const MatrixView &x = view, &y = other.view;
    return kernel == other.kernel && path == other.path && is_a == other.is_a && items == other.items &&
           offset == other.offset && step == other.step && band == other.band &&
           leaves_out_rough == other.leaves_out_rough && x.data == y.data && x.rows == y.rows && x.cols == y.cols &&
           x.row_stride == y.row_stride && x.col_stride == y.col_stride && x.batch_stride == y.batch_stride;
  }
};

/// An operand as a kernel has packed it, in memory of a device.
struct PackedForm {
  PackedForm(const PackedKey& made_for, DeviceBuffer memory, int64_t size, const Event* packed)
      : key(made_for), buffer(std::move(memory)), bytes(size), done(packed) {}
  ~PackedForm() {
    if (counter) count(-bytes);
  }
  PackedForm(const PackedForm&) = delete;

  const PackedKey key;
  const DeviceBuffer buffer;
  const int64_t bytes;
  const Event* const done;                  ///< null if what uses it is queued in the same stream
  std::atomic<int64_t>* counter = nullptr;  ///< of bytes_of_forms()

  void count(int64_t change) {
    *counter += change;
    mpmml::packed_bytes += change;
  }
};

/// The forms of one operand. Forms of a matrix that stays on a device can be dropped by any thread, unless a product holds
/// them until it is queued. All other functions are for the thread that the operand belongs to.
class PackedForms {
 public:
  /// Makes the forms of an operand that ends with its product. They are part of the product's memory.
  PackedForms() = default;
  /// Makes the forms of a matrix that stays on a device.
  explicit PackedForms(int device) : device_(device) {}
  ~PackedForms() { clear(); }
  /// Only before a matrix that stays has forms.
  PackedForms(PackedForms&& other) noexcept : device_(other.device_), forms_(std::move(other.forms_)) {}
  PackedForms& operator=(PackedForms&& other) noexcept {
    device_ = other.device_;
    forms_.swap(other.forms_);
    return *this;
  }

  /// The form for work in `stream`, which isn't dropped as long as the result is held; null if it doesn't exist. A form without
  /// an event is only used in the stream in which its memory is freed.
  std::shared_ptr<const PackedForm> find(const PackedKey& key, cudaStream_t stream);
  void add(const std::shared_ptr<PackedForm>& form);
  void clear();

 private:
  friend int64_t drop_forms(int device, int64_t bytes);
  static constexpr int kOfProduct = -1;
  using Listed = std::list<PackedForms*>;

  int device_ = kOfProduct;
  bool is_listed_ = false;
  Listed::iterator place_{};                      ///< in the list of its device
  std::list<std::shared_ptr<PackedForm>> forms_;  ///< guarded by the mutex of all lists if it is in one
};

/// Size of the packed forms of all matrices that stay on a device, in bytes. They are no memory that is in use: admission
/// drops them before it divides or refuses a product.
int64_t bytes_of_forms(int device);

/// Drops packed forms of matrices that stay on a device, those used longest ago first, until they amount to `bytes` or no more
/// can be dropped. Waits until their memory is free. Returns the bytes that it has dropped. For any thread.
int64_t drop_forms(int device, int64_t bytes);

}  // namespace mpmml::cuda
