// The CUDA driver API for compiling and loading code at run time. Its entry points are queried from the runtime
// library, so that the addon isn't linked with the driver's library.
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

  /// Returns a description such as "CUDA_ERROR_INVALID_PTX (a PTX JIT compilation failed)".
  std::string describe(CUresult status) const;
};

/// Returns the driver API. Throws Error(kCuda) if the driver lacks an entry point.
const Driver& driver();

}  // namespace mpmml::cuda
