#include "addon/settings.h"

#include "addon/engine.h"
#include "addon/fields.h"
#include "cpu/machine.h"

namespace mpmml::addon {

Napi::Value configure_cpu(const Napi::CallbackInfo& info) {
  const Fields fields(info[0]);
  cpu::configure(
      {fields.integer("threads", 0, cpu::kMostThreads), fields.text("instructionSet"), fields.text("wrong")});
  return info.Env().Undefined();
}

Napi::Value explain_without_cuda(const Napi::CallbackInfo& info) {
  engine().explain_without_cuda(info[0].As<Napi::String>());
  return info.Env().Undefined();
}

}  // namespace mpmml::addon
