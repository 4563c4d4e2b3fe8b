// What products on the CPU are measured against (cpu/yardsticks.h), off the event loop.
#include "addon/computation.h"
#include "cpu/yardsticks.h"
#include "generated/addon.h"

namespace mpmml::addon {

Napi::Value cpu_ceiling(const Napi::CallbackInfo& info, const CpuCeilingRequest& request) {
  const cpu::Yardstick& yardstick = cpu::find_yardstick(request.isa);
  const cpu::Yardstick::Steps& steps = cpu::find_steps(yardstick, request.steps);
  return in_background(info, [=, &yardstick, &steps] {
    return CpuCeilingSamples{yardstick.isa,
                             cpu::measure_ceiling(steps, request.threads, request.samples, request.milliseconds)};
  });
}

Napi::Value cpu_naive_loop(const Napi::CallbackInfo& info, const CpuNaiveLoopRequest& request) {
  const cpu::Yardstick& yardstick = cpu::find_yardstick(request.isa);
  return in_background(info, [=, &yardstick] {
    return CpuNaiveLoopSamples{
        yardstick.isa, cpu::measure_naive_loop(yardstick, request.m, request.n, request.k, request.repetitions)};
  });
}

}  // namespace mpmml::addon
