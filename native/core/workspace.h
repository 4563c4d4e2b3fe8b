// Host memory to work in, for packed operands and for results that aren't written to C at once. It is kept from product
// to product, because the system takes longer to hand out fresh pages than packing takes to fill them.
#pragma once
#include <cstddef>

namespace mpmml {

/// A block of uninitialized memory, aligned for vectors. Throws Error(kOutOfMemory).
class Workspace {
 public:
  explicit Workspace(size_t bytes);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void* data() const { return data_; }

 private:
  void* data_;
  size_t capacity_;
};

}  // namespace mpmml
