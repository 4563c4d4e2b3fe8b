// Kernels of custom semirings: templates whose placeholders are filled with a semiring, compiled by the driver, and
// cached in memory and on disk.
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

/// A kernel loaded on a device.
class UserKernel {
 public:
  enum class Origin { kCompiled, kDisk };

  /// Loads the machine code `image`. Throws Error(kCuda).
  UserKernel(const UserTemplate& shape, int device, const std::string& image, Origin origin, double milliseconds);
  ~UserKernel();
  UserKernel(const UserKernel&) = delete;

  const UserTemplate& shape() const { return shape_; }
  Origin origin() const { return origin_; }
  /// Duration of compiling or loading in milliseconds.
  double milliseconds() const { return milliseconds_; }
  CUfunction function() const { return function_; }
  int registers() const;
  /// Returns the number of resident blocks per multiprocessor.
  int blocks_per_multiprocessor() const;

 private:
  const UserTemplate& shape_;
  const int device_;
  const Origin origin_;
  double milliseconds_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

/// Sets the folder of the disk cache and its limit in bytes; an empty folder disables it. Applies to kernels that are
/// requested from now on.
void keep_user_kernels(const std::string& folder, int64_t bytes);

/// The kernel for a semiring on `device`, which is current. Compiles the kernel unless it is cached. The semiring must
/// have the template's number of lanes. Throws Error(kCuda).
std::shared_ptr<const UserKernel> user_kernel(const UserSemiring& semiring, const UserTemplate& shape, int device);

/// Returns the names and the PTX of all kernels that are applicable to a semiring, for the oldest architecture.
std::vector<std::pair<std::string, std::string>> user_kernel_texts(const UserSemiring& semiring);

/// Returns whether this build has templates for a device of this compute capability.
bool has_user_templates(int capability);

}  // namespace mpmml::cuda
