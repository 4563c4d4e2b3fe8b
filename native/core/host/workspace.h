// Host memory for packed operands and for results that aren't written to C directly. It is cached between products,
// because the system takes longer to provide fresh pages than packing takes to fill them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mpmml {

/// Lifetime of a block.
enum class Use : uint8_t {
  kProduct,  ///< until the product ends: any cached block that is large enough is used
  kMatrix    ///< as long as a matrix exists: the block isn't much larger than the matrix
};

/// Block of uninitialized memory, aligned for vectors. The constructor throws Error(kOutOfMemory).
class Workspace {
 public:
  explicit Workspace(int64_t bytes, Use use = Use::kProduct);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void* data() const { return data_; }

  /// Returns the number of cached bytes.
  static int64_t kept_bytes();

 private:
  void* data_;
  size_t capacity_;
};

}  // namespace mpmml
