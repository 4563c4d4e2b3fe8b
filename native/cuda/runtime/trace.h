// NVTX ranges on the time line of a profiler such as Nsight Systems. Without a profiler a range costs one comparison.
#pragma once
#include <string>

#include "cuda/launch/kernel.h"

// NVTX 3 is part of CUDA toolkits since version 10.
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define MPMML_HAS_NVTX
#endif

namespace mpmml::cuda {

#if defined(MPMML_HAS_NVTX)

/// Range of packing and launch on this thread, named by variant, sizes and arithmetic.
class TraceRange {
 public:
  TraceRange(const Variant& variant, const Launch& launch) {
    if (!domain()) return;
    const std::string batch = launch.batch == 1 ? "" : std::to_string(launch.batch) + "x";
    const std::string name = std::string(variant.name) + " " + batch + std::to_string(launch.m) + "x" +
                             std::to_string(launch.k) + "x" + std::to_string(launch.n) + " " +
                             kRangePathNames[static_cast<int>(launch.path)];
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name.c_str();
    nvtxDomainRangePushEx(domain(), &attributes);
  }
  ~TraceRange() {
    if (domain()) nvtxDomainRangePop(domain());
  }
  TraceRange(const TraceRange&) = delete;

 private:
  /// Returns the NVTX domain; null without a profiler.
  static nvtxDomainHandle_t domain() {
    static const nvtxDomainHandle_t domain = nvtxDomainCreateA("mpmml");
    return domain;
  }
};

#else

class TraceRange {
 public:
  TraceRange(const Variant&, const Launch&) {}
};

#endif

}  // namespace mpmml::cuda
