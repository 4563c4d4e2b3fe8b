// The host side of the ranked family.
#pragma once
#include <utility>

#include "cuda/device/error.h"
#include "cuda/kernels/ranked.cuh"
#include "cuda/launch/function.h"
#include "cuda/launch/kernel.h"
#include "cuda/launch/packing.cuh"
#include "cuda/launch/ranked_sample.cuh"

namespace mpmml::cuda {

/// Hands out parts of an operand's packed memory.
class RankedParts {
 public:
  explicit RankedParts(void* memory) : memory_(static_cast<char*>(memory)) {}
  template <class T>
  T* take(int64_t count) {
    T* const part = reinterpret_cast<T*>(memory_ + used_);
    used_ += round_up(count * int64_t{sizeof(T)}, kMatrixAlignment);
    return part;
  }
  int64_t used() const { return used_; }

 private:
  char* memory_;
  int64_t used_ = 0;
};

template <int... parameters>
struct Family<Ranked<parameters...>> {
  using Config = Ranked<parameters...>;

  template <class Arithmetic>
  static constexpr Kernel kernel() {
    Kernel kernel{};
    kernel.paths = paths_of<Arithmetic>();
    kernel.takes_int16 = false;
    kernel.launch = &launch<Arithmetic>;
    kernel.function = &function<Arithmetic>;
    kernel.packed_bytes = &packed_bytes;
    kernel.pack = &pack_operand<Arithmetic>;
    // Not among the packed operands, because launches in several streams may share these.
    kernel.scratch_bytes = sizeof(RankedSample);
    // How long it takes depends on the values. They are sampled before it is taken: see runtime/ranked_choice.h.
    kernel.shape = {1, kMaxTile, 1, Config::kThreads, Config::kSharedBytes, 1.0, 70};
    return kernel;
  }

 private:
  static RankedLines lines_of(const Launch& launch, Side side) {
    const bool is_a = side == Side::kA;
    const MatrixView& view = is_a ? launch.a : launch.b;
    return {static_cast<const int32_t*>(view.data),
            is_a ? launch.m : launch.n,
            launch.k,
            is_a ? view.row_stride : view.col_stride,
            is_a ? view.col_stride : view.row_stride,
            view.batch_stride};
  }

  /// Lays the packed operands out. Returns the bytes of each.
  static std::pair<int64_t, int64_t> layout(const Launch& launch, RankedProblem& problem) {
    const int64_t items_a = items_of(launch.a, launch.batch), items_b = items_of(launch.b, launch.batch);
    const RankedLines a = lines_of(launch, Side::kA);
    RankedParts parts_a(launch.packed_a), parts_b(launch.packed_b);
    problem.reference_a = parts_a.take<int32_t>(items_a * launch.m);
    problem.rows = a.data;
    problem.row_stride = a.line_stride;
    problem.a_batch = a.batch_stride;
    if (a.k_stride != 1) {
      problem.rows = parts_a.take<int32_t>(items_a * launch.m * launch.k);
      problem.row_stride = launch.k;
      problem.a_batch = launch.m * launch.k;
    }
    problem.slices = ceil_div(launch.n, Config::BN);
    problem.width = problem.slices > 1 ? Config::BN : launch.n;
    const int64_t rows_b = items_b * problem.slices * launch.k;
    problem.reference_b = parts_b.take<int32_t>(items_b * launch.n);
    problem.tops = parts_b.take<int64_t>(rows_b);
    problem.counts = parts_b.take<uint16_t>(rows_b * kRankedLevels);
    problem.entries = parts_b.take<RankedEntry>(rows_b * problem.width);
    problem.a_is_shared = launch.a.batch_stride == 0;
    problem.b_is_shared = launch.b.batch_stride == 0;
    return {parts_a.used(), parts_b.used()};
  }

  static int64_t packed_bytes(const Launch& launch, Side side) {
    RankedProblem problem;
    const auto [a, b] = layout(launch, problem);
    return side == Side::kA ? a : b;
  }

  template <class Arithmetic>
  static void pack_operand(const Launch& launch, Side side) {
    using S = typename Arithmetic::Semiring;
    RankedProblem problem;
    layout(launch, problem);
    RankedLines lines = lines_of(launch, side);
    const int64_t items = items_of(side == Side::kA ? launch.a : launch.b, launch.batch);
    for_runs(items, [&](Span run) {
      const int64_t first = run.first;
      const auto count = static_cast<unsigned>(run.size());
      RankedLines part = lines;
      part.data += first * lines.batch_stride;
      if (side == Side::kA) {
        if (lines.k_stride != 1) {
          auto* const copy = const_cast<int32_t*>(problem.rows) + first * problem.a_batch;
          // The steps of K take the part of the lines that packing puts side by side.
          const PackSource source{part.data,         launch.k,           launch.m,         lines.k_stride,
                                  lines.line_stride, lines.batch_stride, Storage::kElement};
          const PackTarget target{copy, count, launch.k, launch.m};
          if (launch.k > 0) pack_stored<int32_t>(source, target, CopyElements<S>{S::zero}, launch.stream);
          part = {copy, launch.m, launch.k, launch.k, 1, problem.a_batch};
        }
        find_references<S>(part, count, const_cast<int32_t*>(problem.reference_a) + first * launch.m, launch.stream);
        return;
      }
      auto* const references = const_cast<int32_t*>(problem.reference_b) + first * launch.n;
      find_references<S>(part, count, references, launch.stream);
      if (launch.k == 0) return;
      const int64_t row = first * problem.slices * launch.k;
      const dim3 grid(static_cast<unsigned>(launch.k), static_cast<unsigned>(problem.slices), count);
      ranked_list_kernel<S, Config::BN><<<grid, kRankedListThreads, 0, launch.stream>>>(
          part, references, const_cast<int64_t*>(problem.tops) + row,
          const_cast<uint16_t*>(problem.counts) + row * kRankedLevels,
          const_cast<RankedEntry*>(problem.entries) + row * problem.width, problem.width);
    });
    MPMML_CUDA(cudaGetLastError());
  }

  template <class Arithmetic>
  static void launch(const Launch& launch) {
    using S = typename Arithmetic::Semiring;
    RankedProblem operands;
    layout(launch, operands);
    allow_shared_bytes(function<Arithmetic>(launch.path), Config::kSharedBytes);
    // Sums that wrap have no order.
    const ValueRange &a = launch.range_a, &b = launch.range_b;
    const bool wraps = a.has_finite() && b.has_finite() &&
                       (a.minimum + b.minimum < FiniteRange<S>::least || a.maximum + b.maximum > FiniteRange<S>::most);
    auto* const sample = static_cast<RankedSample*>(launch.scratch);
    if (!wraps) {
      sample_product<S>({operands.rows, launch.m, launch.k, operands.row_stride, 1, operands.a_batch},
                        lines_of(launch, Side::kB), sample, launch.stream);
    }
    for_arithmetic<Arithmetic>(launch, [&](const Arithmetic& arithmetic) {
      for_instances(launch, [&](const Launch& part) {
        const dim3 grid(static_cast<unsigned>(launch.m), static_cast<unsigned>(operands.slices),
                        static_cast<unsigned>(part.batch));
        const int shared_bytes = static_cast<int>(round_up(operands.width, 4)) * int{sizeof(int32_t)};
        ranked_kernel<Config, Arithmetic><<<grid, Config::kThreads, shared_bytes, part.stream>>>(
            part, operands, wraps ? nullptr : &sample->known, arithmetic);
      });
    });
    MPMML_CUDA(cudaGetLastError());
  }

  template <class Arithmetic>
  static const void* function(ArithmeticKind) {
    return reinterpret_cast<const void*>(&ranked_kernel<Config, Arithmetic>);
  }
};

}  // namespace mpmml::cuda
