#include "cuda/runtime/self_test.h"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/algebra/dispatch.h"
#include "core/algebra/range.h"
#include "cuda/device/device.h"
#include "cuda/device/error.h"
#include "cuda/runtime/memory.h"

namespace mpmml::cuda {
namespace {

class Stream {
 public:
  Stream() { MPMML_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A test product with `lines` rows of A and columns of B, each of `depth` contiguous elements.
template <class Element>
struct SelfTestCase {
  int64_t lines, depth;
  std::vector<Element> a, b;
  ValueRange range_a{}, range_b{};  ///< if the kernel needs ranges

  /// Returns the results of the kernel of `row`, with the cheapest of its arithmetics.
  std::vector<Element> compute(const KernelVariant& row, int device) const {
    MPMML_CUDA(cudaSetDevice(device));
    const Stream stream;
    const Kernel& kernel = *row.kernel;
    const auto copied = [&](const std::vector<Element>& elements) {
      const auto bytes = static_cast<int64_t>(elements.size() * sizeof(Element));
      DeviceBuffer buffer(bytes, device, stream);
      MPMML_CUDA(cudaMemcpyAsync(buffer.get(), elements.data(), bytes, cudaMemcpyHostToDevice, stream));
      return buffer;
    };
    // The initial value of C detects kernels without code, which store nothing.
    std::vector<Element> results(static_cast<size_t>(lines * lines), Element{2});
    const DeviceBuffer on_device_a = copied(a), on_device_b = copied(b), on_device_c = copied(results);
    Problem problem;
    problem.operation.semiring = row.variant.semiring;
    problem.operation.dtype = row.variant.dtype;
    problem.a = row_major<const void*>(on_device_a.get(), lines, depth);
    problem.b = transposed(row_major<const void*>(on_device_b.get(), lines, depth));
    problem.c = row_major(on_device_c.get(), lines, lines);
    Launch launch = launch_of(problem, {&row.variant, kernel.paths.cheapest()});
    launch.c = problem.c;
    launch.range_a = range_a;
    launch.range_b = range_b;
    launch.stream = stream;
    const DeviceBuffer packed_a(kernel.packed_bytes(launch, Side::kA), device, stream),
        packed_b(kernel.packed_bytes(launch, Side::kB), device, stream);
    launch.packed_a = packed_a.get();
    launch.packed_b = packed_b.get();
    kernel.pack(launch, Side::kA);
    kernel.pack(launch, Side::kB);
    kernel.launch(launch);
    MPMML_CUDA(cudaMemcpyAsync(results.data(), on_device_c.get(), results.size() * sizeof(Element),
                               cudaMemcpyDeviceToHost, stream));
    MPMML_CUDA(cudaStreamSynchronize(stream));
    return results;
  }

  /// Returns whether the kernel's results equal those of `accumulate`, starting from `zero`.
  template <class Accumulate>
  bool is_right(const KernelVariant& row, int device, Element zero, Accumulate&& accumulate) const {
    const std::vector<Element> results = compute(row, device);
    for (int64_t i = 0; i < lines; ++i) {
      for (int64_t j = 0; j < lines; ++j) {
        Element expected = zero;
        for (int64_t k = 0; k < depth; ++k) expected = accumulate(expected, a[i * depth + k], b[j * depth + k]);
        if (results[i * lines + j] != expected) return false;
      }
    }
    return true;
  }
};

uint32_t next(uint32_t random) { return random * 1664525u + 1013904223u; }

constexpr int32_t kZero = MaxPlus<int32_t>::zero;

/// Returns lines whose sums are at the limits: equal elements, whose sum touches the next power of two; one best
/// element among others that are one level or `most` levels below; a single element; and random elements.
std::vector<int32_t> lines_of_levels(int count, int depth, int most, bool has_zero) {
  std::vector<int32_t> elements;
  uint32_t random = 1;
  for (int line = 0; line < count; ++line) {
    for (int k = 0; k < depth; ++k) {
      random = next(random);
      const bool is_best = k == line * 7 % depth;
      const int any = -static_cast<int>((random >> 8) % static_cast<uint32_t>(most + 1));
      const int kinds[] = {0, is_best ? 0 : -1, is_best ? 0 : -most, any, is_best ? 0 : kZero, kZero};
      elements.push_back(kinds[line % (has_zero ? 6 : 4)]);
    }
  }
  return elements;
}

bool computes_levels(const KernelVariant& row, int device) {
  // Other semirings and types use the same instructions.
  if (row.variant.semiring != SemiringId::max_plus || row.variant.dtype != DataType::kInt32) return true;
  constexpr int kLines = 128, kDepth = 192;  // a tile of C, three of K
  const int most = static_cast<int>(exponent_scale_of(row.kernel->paths.cheapest()).most);
  SelfTestCase<int32_t> trial{kLines, kDepth, lines_of_levels(kLines, kDepth, most, true),
                              lines_of_levels(kLines, kDepth, most, false)};
  trial.range_b.minimum = -most;
  trial.range_b.maximum = 0;
  trial.range_a = trial.range_b;
  trial.range_a.has_zero = true;
  return trial.is_right(row, device, kZero, [](int32_t best, int32_t a, int32_t b) {
    return a == kZero || b == kZero ? best : std::max(best, a + b);
  });
}

/// Returns lines of truth values: all true, none true, and then alternately a single true value and random values.
std::vector<uint8_t> lines_of_truth(int count, int depth, uint32_t random) {
  std::vector<uint8_t> elements;
  for (int line = 0; line < count; ++line) {
    for (int k = 0; k < depth; ++k) {
      random = next(random);
      const bool is_true = line < 2 ? line == 0 : line % 2 == 0 ? k == line * 97 % depth : (random >> 24) < 8;
      elements.push_back(is_true);
    }
  }
  return elements;
}

bool counts_pairs(const KernelVariant& row, int device) {
  constexpr int kLines = 64, kDepth = 1500;  // two tiles of K
  const SelfTestCase<uint8_t> trial{kLines, kDepth, lines_of_truth(kLines, kDepth, 1),
                                    lines_of_truth(kLines, kDepth, 2)};
  return with_semiring_that<IsBoolean>(row.variant.semiring, row.variant.dtype, [&](auto semiring) {
    using S = decltype(semiring);
    return trial.is_right(row, device, S::zero,
                          [](uint8_t sum, uint8_t a, uint8_t b) { return S::accumulate(sum, a, b); });
  });
}

/// Returns the reason why the device lacks a feature; empty if the device has it.
std::string check(int device, DeviceFeature ability) {
  const int capability = device_limits(device).capability;
  if (ability == DeviceFeature::kWarpExponents) {
    if (capability < 80) return "they need compute capability 8.0 or more";
  } else if (capability != kHopper) {
    return "they need compute capability 9.0";
  }
  for (const KernelVariant& row : kernel_variants()) {
    if (row.kernel->needs != ability) continue;
    const bool is_right = ability == DeviceFeature::kPairs ? counts_pairs(row, device) : computes_levels(row, device);
    if (!is_right) {
      return std::string("sums at the limits of ") + row.variant.name +
             " were wrong, as they are if the build has no code for this GPU";
    }
  }
  return {};
}

/// Returns the result of check(), cached unless the check throws.
const std::string& missing(int device, DeviceFeature ability) {
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::map<std::pair<int, DeviceFeature>, std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = known.find({device, ability});
  if (found != known.end()) return found->second;
  return known.emplace(std::pair(device, ability), check(device, ability)).first->second;
}

}  // namespace

bool has_ability(int device, DeviceFeature ability) {
  return ability == DeviceFeature::kNone || missing(device, ability).empty();
}

std::string describe_exponents(int device) {
  try {
    const bool is_hopper = device_limits(device).capability == kHopper;
    const std::string& reason = missing(device, is_hopper ? DeviceFeature::kExponents : DeviceFeature::kWarpExponents);
    return reason.empty() ? "exact exponents (checked)" : "no exponents: " + reason;
  } catch (const std::exception& error) {
    return std::string("not checked: ") + error.what();
  }
}

}  // namespace mpmml::cuda
