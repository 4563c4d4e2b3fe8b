#include "addon/choices.h"

#include "addon/fields.h"
#if defined(MPMML_WITH_CUDA)
#include "cuda/plan/choices.h"
#endif

namespace mpmml::addon {

Napi::Value set_measured_choices(const Napi::CallbackInfo& info) {
#if defined(MPMML_WITH_CUDA)
  std::vector<cuda::MeasuredChoice> choices;
  const auto list = info[1].As<Napi::Array>();
  for (uint32_t index = 0; index < list.Length(); ++index) {
    const Fields fields(list.Get(index));
    choices.push_back({&fields.variant(), static_cast<RangePath>(fields.integer("path", 0, kRangePaths - 1)),
                       fields.integer<int64_t>("m", 1), fields.integer<int64_t>("n", 1),
                       fields.integer<int64_t>("k", 1), fields.integer<int64_t>("batch", 1)});
  }
  cuda::set_measured_choices(info[0].As<Napi::String>(), choices);
#endif
  return info.Env().Undefined();
}

}  // namespace mpmml::addon
