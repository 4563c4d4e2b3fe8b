// Host memory to work in, for packed operands and for results that aren't written to C at once. It is kept from product
// to product, because the system takes longer to hand out fresh pages than packing takes to fill them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mpmml {

/// How long a block is used.
enum class Use : uint8_t {
  kProduct,  ///< until the product ends: any kept block that is large enough serves
  kMatrix    ///< as long as a matrix stays: the block isn't much larger than that
};

/// A block of uninitialized memory, aligned for vectors. Throws Error(kOutOfMemory).
class Workspace {
 public:
  explicit Workspace(int64_t bytes, Use use = Use::kProduct);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void* data() const { return data_; }

  /// The bytes that are kept for the next block.
  static int64_t kept_bytes();

 private:
  void* data_;
  size_t capacity_;
};

}  // namespace mpmml
