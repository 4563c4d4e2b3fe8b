#include "addon/settings.h"

#include "addon/fields.h"
#include "cpu/machine.h"

namespace mpmml::addon {

Napi::Value configure_cpu(const Napi::CallbackInfo& info) {
  const Fields fields(info[0]);
  cpu::configure(
      {fields.integer("threads", 0, cpu::kMostThreads), fields.text("instructionSet"), fields.text("wrong")});
  return info.Env().Undefined();
}

}  // namespace mpmml::addon
