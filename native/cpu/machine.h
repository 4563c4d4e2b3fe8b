// Properties of the machine: instruction sets, cache sizes, number of processors.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace mpmml::cpu {

/// Maximum number of threads of a product.
constexpr int kMaxThreads = 1024;

/// User settings of the CPU backend, for the whole process.
struct Settings {
  int threads = 0;              ///< 0: as many as this process may use
  std::string instruction_set;  ///< empty: the best
  std::string wrong;            ///< error of the settings; empty if they are valid
};

/// Fixes the settings for the rest of the process. Has no effect after the first call, or after the first use of the
/// settings, which then have their defaults.
void configure(const Settings& settings);

/// The instruction sets that both this build and this processor have, by their names in native/variants/table.mjs; best
/// first.
std::vector<std::string> supported_instruction_sets();

/// The instruction set whose variants the planner takes: the best one, or the one that the settings name.
/// Throws Error(kOption) if the settings are wrong.
std::string chosen_instruction_set();

/// Returns the element of `all` for the chosen instruction set. `all` has one element for each instruction set of the
/// build.
template <class Kernels>
const Kernels& chosen_among(const std::vector<Kernels>& all) {
  const std::string isa = chosen_instruction_set();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Kernels& kernels) { return kernels.isa == isa; });
  return found == all.end() ? all.back() : *found;
}

/// The processor's name; empty if the system doesn't report it.
std::string processor_model();

/// Bytes of data cache that one core has at each level.
struct Caches {
  int64_t level1;
  int64_t level2;
};
const Caches& caches();

/// See thread_count() (threads.h), which calls this only once.
int available_threads();

}  // namespace mpmml::cpu
