// Measures what products on the CPU are compared with: see peak_benchmark.h.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace mpmml::cpu {

/// The benchmarks of an instruction set.
struct PeakBenchmark {
  /// The steps of a semiring on one type. name is 'int32', 'int16', 'int8' or 'int64' for sums in so many bits, 'float32' or
  /// 'float64' for max-plus, 'float32-fma' or 'float64-fma' for plus-times, and otherwise the type and a semiring that has
  /// such steps, such as 'int32-min-max'.
  struct Steps {
    const char* name;
    void (*run)(int64_t rounds);
    int steps_of_round;
  };
  const char* isa;
  Steps steps[14];
  void (*multiply_by_rows)(const int32_t* a, const int32_t* b, int32_t* c, int64_t m, int64_t n, int64_t k);
};

/// Those of this build, best first.
const std::vector<PeakBenchmark>& peak_benchmarks();

/// The one for an instruction set; if the name is empty, for the one that products use. Throws Error(kVariant) if this
/// processor or this build doesn't have it.
const PeakBenchmark& find_peak_benchmark(const std::string& isa);

/// Throws Error(kVariant) if there are no such steps.
const PeakBenchmark::Steps& find_steps(const PeakBenchmark& benchmark, const std::string& name);

/// Steps per second with registers only: `samples` measurements of `milliseconds` each, by `threads` threads together.
std::vector<double> measure_ceiling(const PeakBenchmark::Steps& steps, int threads, int samples, double milliseconds);

/// Milliseconds of the naive product of row-major matrices, for each repetition.
std::vector<double> measure_naive_loop(const PeakBenchmark& benchmark, int64_t m, int64_t n, int64_t k,
                                       int repetitions);

}  // namespace mpmml::cpu
