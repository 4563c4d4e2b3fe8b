// Cache of the packed forms of operands.
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

/// Cache key of a packed form: the kernel and its arithmetic, the side of the product, the packed part of the memory,
/// the range that determines offsets, the band outside of which elements are zero, and whether outlier chunks are left
/// out.
struct PackedKey {
  const Kernel* kernel;
  ArithmeticKind path;
  bool is_a;
  MatrixView view;
  int64_t items;
  double offset, step;
  Band band;
  bool skips_outliers;

  bool operator==(const PackedKey& other) const {
    const MatrixView &x = view, &y = other.view;
    return kernel == other.kernel && path == other.path && is_a == other.is_a && items == other.items &&
           offset == other.offset && step == other.step && band == other.band &&
           skips_outliers == other.skips_outliers && x.data == y.data && x.rows == y.rows && x.cols == y.cols &&
           x.row_stride == y.row_stride && x.col_stride == y.col_stride && x.batch_stride == y.batch_stride;
  }
};

/// An operand in a kernel's packed format, in device memory.
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
  const Event* const done;                  ///< null if all users are in the same stream
  std::atomic<int64_t>* counter = nullptr;  ///< counter of bytes_of_forms()

  void count(int64_t change) {
    *counter += change;
    mpmml::packed_bytes += change;
  }
};

/// Packed forms of one operand. Any thread can drop the forms of a resident matrix, unless a product that isn't queued
/// yet uses them. All other functions must be called by the operand's thread.
class PackedForms {
 public:
  /// Creates the forms of an operand of a single product, which are part of the product's memory.
  PackedForms() = default;
  /// Creates the forms of a resident matrix.
  explicit PackedForms(int device) : device_(device) {}
  ~PackedForms() { clear(); }
  /// May be used only while a resident matrix has no forms.
  PackedForms(PackedForms&& other) noexcept : device_(other.device_), forms_(std::move(other.forms_)) {}
  PackedForms& operator=(PackedForms&& other) noexcept {
    device_ = other.device_;
    forms_.swap(other.forms_);
    return *this;
  }

  /// Returns the form for work in `stream`; null if it doesn't exist. The form isn't dropped during the lifetime of the
  /// result. A form without an event must be used only in the stream in which its memory is freed.
  std::shared_ptr<const PackedForm> find(const PackedKey& key, cudaStream_t stream);
  void add(const std::shared_ptr<PackedForm>& form);
  void clear();

 private:
  friend int64_t drop_forms(int device, int64_t bytes);
  static constexpr int kOfProduct = -1;
  using Listed = std::list<PackedForms*>;

  int device_ = kOfProduct;
  bool is_listed_ = false;
  Listed::iterator place_{};                      ///< position in the device's list
  std::list<std::shared_ptr<PackedForm>> forms_;  ///< guarded by the mutex of all lists if listed
};

/// Returns the bytes of the packed forms of all resident matrices of a device. They don't count as used memory:
/// reservations drop them before a product is divided or rejected.
int64_t bytes_of_forms(int device);

/// Drops packed forms of resident matrices, least recently used first, until they amount to `bytes` or no more can be
/// dropped. Waits until their memory is free. Returns the dropped bytes. Thread-safe.
int64_t drop_forms(int device, int64_t bytes);

}  // namespace mpmml::cuda
