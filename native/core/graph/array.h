// Arrays whose elements are not initialized, for the edges of large graphs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "core/host/fault_injection.h"
#include "core/status.h"

namespace mpmml::graph {

template <class T>
class Array {
 public:
  Array() = default;

  /// Allocates `size` uninitialized elements. Throws Error(kOutOfMemory).
  explicit Array(int64_t size) : size_(size) {
    before_allocation();
    data_.reset(new (std::nothrow) T[static_cast<size_t>(size)]);
    if (!data_) {
      throw Error(ErrorCode::kOutOfMemory,
                  "the host has no memory for " + in_mebibytes(size * static_cast<int64_t>(sizeof(T))) +
                      " of a search in a graph: ask for fewer nodes at a time, or give the process more memory");
    }
  }
  Array(int64_t size, T value) : Array(size) { fill(value); }

  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T* begin() { return data_.get(); }
  T* end() { return data_.get() + size_; }
  const T* begin() const { return data_.get(); }
  const T* end() const { return data_.get() + size_; }
  T& operator[](int64_t at) { return data_[at]; }
  const T& operator[](int64_t at) const { return data_[at]; }

  void fill(T value) {
    for (T& element : *this) element = value;
  }

  /// Drops the elements from `size` on.
  void shrink(int64_t size) { size_ = size; }

 private:
  int64_t size_ = 0;
  std::unique_ptr<T[]> data_;
};

}  // namespace mpmml::graph
