// CUDA's driver interface, through which code is compiled and loaded while the program runs. It is found through the runtime library, so
// that nothing is linked with the driver's.
#pragma once
#include <cuda.h>

#include <string>

namespace mpmml::cuda {

struct Driver {
  decltype(&cuLinkCreate) link_create;
  decltype(&cuLinkAddData) link_add_data;
  decltype(&cuLinkComplete) link_complete;
  decltype(&cuLinkDestroy) link_destroy;
  decltype(&cuModuleLoadData) module_load_data;
  decltype(&cuModuleUnload) module_unload;
  decltype(&cuModuleGetFunction) module_get_function;
  decltype(&cuFuncGetAttribute) function_attribute;
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) blocks_per_multiprocessor;
  decltype(&cuLaunchKernel) launch;
  decltype(&cuGetErrorName) error_name;
  decltype(&cuGetErrorString) error_string;

  /// "CUDA_ERROR_INVALID_PTX (a PTX JIT compilation failed)"
  std::string describe(CUresult status) const;
};

/// Throws Error(kCuda) if the driver lacks any of it.
const Driver& driver();

}  // namespace mpmml::cuda
