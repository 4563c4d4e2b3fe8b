// Host side of the ranked family.
#pragma once
#include <utility>

#include "cuda/device/error.h"
#include "cuda/kernels/ranked.cuh"
#include "cuda/launch/function.h"
#include "cuda/launch/kernel.h"
#include "cuda/launch/packing.cuh"
#include "cuda/launch/ranked_sample.cuh"

namespace mpmml::cuda {

/// Allocates the arrays of an operand's packed form consecutively.
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
    // The sample is in scratch memory, because launches in several streams may share the packed operands.
    kernel.scratch_bytes = sizeof(RankedSample);
    // The time depends on the values, which are sampled before the family is selected (runtime/ranked_choice.h).
    kernel.shape = {1, kMaxTile, 1, Config::kThreads, Config::kSharedBytes, 1.0, 70};
    return kernel;
  }

 private:
  /// Lays out the packed operands, and returns the bytes of each.
  static std::pair<int64_t, int64_t> layout(const Launch& launch, RankedProblem& problem) {
    const int64_t items_a = items_of(launch.a, launch.batch), items_b = items_of(launch.b, launch.batch);
    const RankedLines a = ranked_lines(pack_source(launch, Side::kA));
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
    const PackSource source = pack_source(launch, side);
    const int64_t items = items_of(side == Side::kA ? launch.a : launch.b, launch.batch);
    for_runs(items, [&](Span run) {
      const int64_t first = run.first;
      const auto count = static_cast<unsigned>(run.size());
      RankedLines part = ranked_lines(source);
      part.data += first * source.batch_stride;
      if (side == Side::kA) {
        if (source.k_stride != 1) {
          auto* const copy = const_cast<int32_t*>(problem.rows) + first * problem.a_batch;
          PackSource rows = along_k(source);
          rows.data = part.data;
          const PackTarget target{copy, count, launch.k, launch.m};
          if (launch.k > 0) pack_stored<int32_t>(rows, target, CopyElements<S>{S::zero}, launch.stream);
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
    // Wrapping sums can't be pruned, because their order isn't that of the leads.
    const ValueRange &a = launch.range_a, &b = launch.range_b;
    const bool wraps = a.has_finite() && b.has_finite() &&
                       (a.minimum + b.minimum < FiniteRange<S>::least || a.maximum + b.maximum > FiniteRange<S>::most);
    auto* const sample = static_cast<RankedSample*>(launch.scratch);
    if (!wraps) {
      sample_product<S>({operands.rows, launch.m, launch.k, operands.row_stride, 1, operands.a_batch},
                        ranked_lines(pack_source(launch, Side::kB)), sample, launch.stream);
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
