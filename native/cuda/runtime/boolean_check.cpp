#include "cuda/runtime/boolean_check.h"

#include <cstring>
#include <string>
#include <vector>

#include "core/algebra/dispatch.h"
#include "cuda/device/device.h"
#include "cuda/launch/kernel.h"
#include "cuda/runtime/trial.h"

namespace mpmml::cuda {
namespace {

constexpr int kSize = 64, kDepth = 1500;  ///< two tiles of K

/// Lines of truth values: all true, none, and then in turn one that is true and any.
std::vector<uint8_t> lines(uint32_t random) {
  std::vector<uint8_t> elements;
  for (int line = 0; line < kSize; ++line) {
    for (int k = 0; k < kDepth; ++k) {
      random = random * 1664525u + 1013904223u;
      const bool is_true = line < 2 ? line == 0 : line % 2 == 0 ? k == line * 97 % kDepth : (random >> 24) < 8;
      elements.push_back(is_true);
    }
  }
  return elements;
}

template <class S>
bool is_right(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, const std::vector<uint8_t>& c) {
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) {
      uint8_t expected = S::zero;
      for (int k = 0; k < kDepth; ++k) expected = S::accumulate(expected, a[i * kDepth + k], b[j * kDepth + k]);
      if (c[i * kSize + j] != expected) return false;
    }
  }
  return true;
}

/// Why the device doesn't compute them; empty if it does.
std::string check(int device) {
  if (device_limits(device).capability != kPairsCapability) return "they need compute capability 9.0";
  const std::vector<uint8_t> a = lines(1), b = lines(2);
  for (const KernelVariant& row : kernel_variants()) {
    if (std::strcmp(row.variant.family, "boolean") != 0) continue;
    std::vector<uint8_t> c(kSize * kSize, 2);
    try_product(row, {kSize, kSize, kDepth, a.data(), b.data(), c.data()}, device);
    const bool right = with_semiring_that<IsBoolean>(
        row.variant.semiring, row.variant.dtype, [&](auto semiring) { return is_right<decltype(semiring)>(a, b, c); });
    if (!right) return std::string("results of ") + row.variant.name + " were wrong";
  }
  return {};
}

}  // namespace

bool counts_pairs(int device) {
  static auto& answers = *new OncePerDevice(check);
  return answers(device).empty();
}

}  // namespace mpmml::cuda
