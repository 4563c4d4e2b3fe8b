#include "cuda/runtime/exponent_check.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "core/algebra/range.h"
#include "cuda/device/device.h"
#include "cuda/launch/kernel.h"
#include "cuda/runtime/trial.h"

namespace mpmml::cuda {
namespace {

constexpr int kSize = 128, kDepth = 192;  ///< a tile of C, three of K
constexpr int32_t kZero = MaxPlus<int32_t>::zero;

/// Lines whose sums are at the limits: equal elements, which touch the next power of two; one best element among others
/// that are one level or `most` levels below; one element by itself; and any.
std::vector<int32_t> lines(int count, int most, bool has_zero) {
  std::vector<int32_t> elements;
  uint32_t random = 1;
  for (int line = 0; line < count; ++line) {
    for (int k = 0; k < kDepth; ++k) {
      random = random * 1664525u + 1013904223u;
      const bool is_best = k == line * 7 % kDepth;
      const int any = -static_cast<int>((random >> 8) % static_cast<uint32_t>(most + 1));
      const int kinds[] = {0, is_best ? 0 : -1, is_best ? 0 : -most, any, is_best ? 0 : kZero, kZero};
      elements.push_back(kinds[line % (has_zero ? 6 : 4)]);
    }
  }
  return elements;
}

bool is_right(const std::vector<int32_t>& a, const std::vector<int32_t>& b, const std::vector<int32_t>& c) {
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) {
      int32_t best = kZero;
      for (int k = 0; k < kDepth; ++k) {
        const int32_t x = a[i * kDepth + k], y = b[j * kDepth + k];
        if (x != kZero && y != kZero) best = std::max(best, x + y);
      }
      if (c[i * kSize + j] != best) return false;
    }
  }
  return true;
}

bool computes(const KernelVariant& row, int device) {
  const RangePath path = row.kernel->paths.cheapest();
  const int most = static_cast<int>(exponent_scale_of(path).most);
  const std::vector<int32_t> a = lines(kSize, most, true), b = lines(kSize, most, false);
  std::vector<int32_t> c(kSize * kSize);
  ValueRange range_b;
  range_b.minimum = -most;
  range_b.maximum = 0;
  ValueRange range_a = range_b;
  range_a.has_zero = true;
  try_product(row, {kSize, kSize, kDepth, a.data(), b.data(), c.data(), range_a, range_b}, device);
  return is_right(a, b, c);
}

/// Why the device doesn't compute exponents by the kernels of this family; empty if it does.
std::string check(const char* family, int device) {
  for (const KernelVariant& row : kernel_variants()) {
    const bool is_asked = std::strcmp(row.variant.family, family) == 0 &&
                          row.variant.semiring == SemiringId::max_plus && row.variant.dtype == DataType::kInt32;
    if (is_asked && !computes(row, device)) {
      return std::string("sums at the limits of ") + row.variant.name +
             " were wrong, as they are if the build has no code for this GPU";
    }
  }
  return {};
}

/// Hopper's own instructions.
const std::string& checked(int device) {
  static auto& answers = *new OncePerDevice([](int device) -> std::string {
    if (device_limits(device).capability != 90) return "they need compute capability 9.0";
    return check("exponent", device);
  });
  return answers(device);
}

/// Instructions of single warps.
const std::string& warps_checked(int device) {
  static auto& answers = *new OncePerDevice([](int device) -> std::string {
    if (device_limits(device).capability < 80) return "they need compute capability 8.0 or more";
    return check("warpexponent", device);
  });
  return answers(device);
}

}  // namespace

bool computes_exponents(int device) { return checked(device).empty(); }
bool computes_warp_exponents(int device) { return warps_checked(device).empty(); }

std::string describe_exponents(int device) {
  try {
    const bool is_hopper = device_limits(device).capability == 90;
    const std::string& reason = is_hopper ? checked(device) : warps_checked(device);
    return reason.empty() ? "exact exponents (checked)" : "no exponents: " + reason;
  } catch (const std::exception& error) {
    return std::string("not checked: ") + error.what();
  }
}

}  // namespace mpmml::cuda
