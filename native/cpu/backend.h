// The CPU backend, and its properties on this machine.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/session/backend.h"

namespace mpmml::cpu {

std::unique_ptr<Backend> make_backend();

struct CpuInfo {
  std::string model;                          ///< the processor's name; empty if the system doesn't report it
  std::string instruction_set;                ///< the one that products run with
  std::vector<std::string> instruction_sets;  ///< those that the settings may name, best first
  int threads;
};

/// Throws Error(kOption) if the settings are wrong (machine.h).
CpuInfo info();

}  // namespace mpmml::cpu
