#include "lab/cpu/peak_benchmarks.h"

#include <algorithm>

#include "core/host/clock.h"
#include "core/host/joining_threads.h"
#include "core/status.h"
#include "cpu/machine.h"

namespace mpmml::cpu {
namespace {

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

const PeakBenchmark& find_peak_benchmark(const std::string& isa) {
  const std::string wanted = isa.empty() ? chosen_instruction_set() : isa;
  const std::vector<std::string> supported = supported_instruction_sets();
  if (std::find(supported.begin(), supported.end(), wanted) != supported.end()) {
    for (const PeakBenchmark& benchmark : peak_benchmarks()) {
      if (benchmark.isa == wanted) return benchmark;
    }
  }
  throw Error(ErrorCode::kVariant, "this processor or this build doesn't have the instruction set \"" + wanted + "\"");
}

const PeakBenchmark::Steps& find_steps(const PeakBenchmark& benchmark, const std::string& name) {
  for (const PeakBenchmark::Steps& steps : benchmark.steps) {
    if (steps.name == name) return steps;
  }
  throw Error(ErrorCode::kVariant, "there is no ceiling of \"" + name + "\"");
}

std::vector<double> measure_ceiling(const PeakBenchmark::Steps& steps, int threads, int samples, double milliseconds) {
  // Meanwhile the clock rises under the load.
  int64_t rounds = 1 << 12;
  for (;;) {
    const Clock::time_point start = Clock::now();
    steps.run(rounds);
    const double ms = 1e3 * seconds_since(start);
    if (ms >= milliseconds / 2) {
      rounds = std::max<int64_t>(static_cast<int64_t>(static_cast<double>(rounds) * milliseconds / ms), 1);
      break;
    }
    rounds *= 2;
  }
  std::vector<double> rates;
  for (int sample = 0; sample < samples; ++sample) {
    double seconds = 0;
    // The clock of a WebAssembly module may stand still for 0.1 ms.
    for (;; rounds *= 2) {
      const Clock::time_point start = Clock::now();
      JoiningThreads others("measure with");
      for (int i = 1; i < threads; ++i) others.start([&] { steps.run(rounds); });
      steps.run(rounds);
      others.join();
      seconds = seconds_since(start);
      if (seconds > 0) break;
    }
    rates.push_back(static_cast<double>(threads) * static_cast<double>(rounds) * steps.steps_of_round / seconds);
  }
  return rates;
}

std::vector<double> measure_naive_loop(const PeakBenchmark& benchmark, int64_t m, int64_t n, int64_t k,
                                       int repetitions) {
  std::vector<int32_t> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n)), c(static_cast<size_t>(m * n));
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int32_t>(i * 7919 % 2001) - 1000;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<int32_t>(i * 104729 % 2001) - 1000;
  std::vector<double> times;
  for (int repetition = -1; repetition < repetitions; ++repetition) {
    const Clock::time_point start = Clock::now();
    benchmark.multiply_by_rows(a.data(), b.data(), c.data(), m, n, k);
    if (repetition >= 0) times.push_back(1e3 * seconds_since(start));
  }
  return times;
}

}  // namespace mpmml::cpu
