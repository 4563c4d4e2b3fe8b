// What the machine offers: instruction sets, cache sizes, processors.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace mpmml::cpu {

/// The instruction sets, by their names in native/variants/table.mjs, that both this build and this processor have;
/// best first.
std::vector<std::string> supported_instruction_sets();

/// The one that the automatic choice of a variant is restricted to: the best, or the one that MPMML_CPU_ISA names.
/// Throws Error(kVariant) where that can't be had.
std::string chosen_instruction_set();

/// The processor's name, where the system tells.
std::string processor_model();

/// Bytes of data cache that one core has at each level.
struct Caches {
  int64_t level1;
  int64_t level2;
};
const Caches& caches();

/// See thread_count() (threads.h); works it out anew.
int available_threads();

}  // namespace mpmml::cpu
