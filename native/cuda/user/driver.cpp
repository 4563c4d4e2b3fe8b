#include "cuda/user/driver.h"

#include <cuda_runtime_api.h>

#include "core/status.h"
#include "cuda/device/error.h"

namespace mpmml::cuda {
namespace {

template <class Function>
void find(const char* name, Function& function) {
  void* found = nullptr;
#if CUDART_VERSION >= 12050
  // Versions of the function later than CUDA 11.3 aren't needed.
  MPMML_CUDA(cudaGetDriverEntryPointByVersion(name, &found, 11030, cudaEnableDefault));
#elif CUDART_VERSION >= 11030
  MPMML_CUDA(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault));
#endif
  if (!found) {
    throw Error(ErrorCode::kCuda, std::string("the NVIDIA driver has no ") + name +
                                      ", with which semirings of one's own are compiled: update the driver, or choose "
                                      "backend 'cpu'");
  }
  function = reinterpret_cast<Function>(found);
}

Driver find_driver() {
  Driver driver;
  find("cuLinkCreate", driver.link_create);
  find("cuLinkAddData", driver.link_add_data);
  find("cuLinkComplete", driver.link_complete);
  find("cuLinkDestroy", driver.link_destroy);
  find("cuModuleLoadData", driver.module_load_data);
  find("cuModuleUnload", driver.module_unload);
  find("cuModuleGetFunction", driver.module_get_function);
  find("cuFuncGetAttribute", driver.function_attribute);
  find("cuOccupancyMaxActiveBlocksPerMultiprocessor", driver.blocks_per_multiprocessor);
  find("cuLaunchKernel", driver.launch);
  find("cuGetErrorName", driver.error_name);
  find("cuGetErrorString", driver.error_string);
  return driver;
}

}  // namespace

std::string Driver::describe(CUresult status) const {
  const char *name = nullptr, *text = nullptr;
  error_name(status, &name);
  error_string(status, &text);
  return std::string(name ? name : "an error without a name") + " (" + (text ? text : std::to_string(status)) + ")";
}

const Driver& driver() {
  static const Driver found = find_driver();
  return found;
}

}  // namespace mpmml::cuda
