// Templates whose holes are filled with a semiring, as the driver has compiled them: kept in memory, and in a folder for later
// processes.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/user/semiring.h"
#include "cuda/user/driver.h"
#include "cuda/user/templates.h"

namespace mpmml::cuda {

/// Machine code on a device.
class UserKernel {
 public:
  enum class Origin { kCompiled, kDisk };

  /// `image` is machine code. Throws Error(kCuda).
  UserKernel(const UserTemplate& shape, int device, const std::string& image, Origin origin, double milliseconds);
  ~UserKernel();
  UserKernel(const UserKernel&) = delete;

  const UserTemplate& shape() const { return shape_; }
  Origin origin() const { return origin_; }
  /// How long it took to have it.
  double milliseconds() const { return milliseconds_; }
  CUfunction function() const { return function_; }
  int registers() const;
  /// How many blocks a multiprocessor runs at once.
  int blocks_per_multiprocessor() const;

 private:
  const UserTemplate& shape_;
  const int device_;
  const Origin origin_;
  double milliseconds_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

/// Where compiled kernels are kept for later processes, and how many bytes they may take; no folder: nowhere. Counts for kernels that are
/// had from now on.
void keep_user_kernels(const std::string& folder, int64_t bytes);

/// The kernel for a semiring on `device`, which is current. Compiles it if nobody has. The semiring has as many lanes. Throws Error(kCuda).
std::shared_ptr<const UserKernel> user_kernel(const UserSemiring& semiring, const UserTemplate& shape, int device);

/// The names and the PTX of all kernels that products over a semiring may take, for the oldest architecture.
std::vector<std::pair<std::string, std::string>> user_kernel_texts(const UserSemiring& semiring);

/// Whether this build has templates for a device of this capability.
bool has_user_templates(int capability);

}  // namespace mpmml::cuda
