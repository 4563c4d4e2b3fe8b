// Products that the library computes for itself, before it first takes a family of kernels on a device, to see whether the
// device computes them right.
#pragma once
#include <map>
#include <mutex>
#include <string>

#include "cuda/launch/kernel.h"

namespace mpmml::cuda {

/// The product of a trial, in host memory: A of m × k row by row, B of k × n column by column, C row by row.
struct Trial {
  int64_t m, n, k;
  const void* a;
  const void* b;
  void* c;
  ValueRange range_a{}, range_b{};  ///< if the kernel depends on them
};

/// Computes C by the kernel of `row`, on the cheapest of its paths.
void try_product(const KernelVariant& row, const Trial& trial, int device);

/// What a check finds wrong with each device; empty if nothing. A device is checked once, unless the check throws.
class OncePerDevice {
 public:
  explicit OncePerDevice(std::string (*check)(int device)) : check_(check) {}
  const std::string& operator()(int device);

 private:
  std::string (*const check_)(int);
  std::mutex mutex_;
  std::map<int, std::string> known_;
};

}  // namespace mpmml::cuda
