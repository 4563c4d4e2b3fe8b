// Runs the reference measurements of products on the CPU (peak_benchmark.h).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace mpmml::cpu {

/// Peak benchmarks of an instruction set.
struct PeakBenchmark {
  /// Steps of a semiring on one type. `name` is 'int32', 'int16', 'int8' or 'int64' for integer sums of that width,
  /// 'float32' or 'float64' for max-plus, 'float32-fma' or 'float64-fma' for plus-times, and otherwise type and
  /// semiring, such as 'int32-min-max'.
  struct Steps {
    const char* name;
    void (*run)(int64_t rounds);
    int steps_of_round;
  };
  const char* isa;
  Steps steps[14];
  void (*multiply_by_rows)(const int32_t* a, const int32_t* b, int32_t* c, int64_t m, int64_t n, int64_t k);
};

/// Returns the peak benchmarks of this build, best instruction set first.
const std::vector<PeakBenchmark>& peak_benchmarks();

/// Returns the peak benchmark of an instruction set; an empty name selects the one that products use. Throws
/// Error(kVariant) if this processor or this build doesn't support it.
const PeakBenchmark& find_peak_benchmark(const std::string& isa);

/// Returns the steps with a name. Throws Error(kVariant) if they don't exist.
const PeakBenchmark::Steps& find_steps(const PeakBenchmark& benchmark, const std::string& name);

/// Returns steps per second with registers only, of `threads` threads together: `samples` measurements of
/// `milliseconds` each.
std::vector<double> measure_ceiling(const PeakBenchmark::Steps& steps, int threads, int samples, double milliseconds);

/// Returns the milliseconds of the naive product of row-major matrices for each repetition.
std::vector<double> measure_naive_loop(const PeakBenchmark& benchmark, int64_t m, int64_t n, int64_t k,
                                       int repetitions);

}  // namespace mpmml::cpu
