// The addon's exports. lib/native.ts has their types in TypeScript.
#include <napi.h>

#include "addon/background.h"
#include "addon/choices.h"
#include "addon/closure.h"
#include "addon/copies.h"
#include "addon/cpu_lab.h"
#include "addon/describe.h"
#include "addon/device.h"
#include "addon/graph.h"
#include "addon/guarded.h"
#include "addon/lab.h"
#include "addon/multiply.h"
#include "addon/pinned.h"
#include "addon/request.h"
#include "addon/rna.h"
#include "addon/settings.h"
#include "core/execute.h"

namespace mpmml::addon {
namespace {

template <size_t count>
Napi::Array names(Napi::Env env, const char* const (&list)[count]) {
  Napi::Array array = Napi::Array::New(env, count);
  for (uint32_t index = 0; index < count; ++index) array.Set(index, list[index]);
  return array;
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  Background::open(env);
  exports.Set("semirings", semirings(env));
  exports.Set("variants", variants(env));
  exports.Set("refusedVariants", refused_variants(env));
  exports.Set("dataTypes", names(env, kDataTypeNames));
  exports.Set("paths", names(env, kRangePathNames));
  exports.Set("overflowPolicies", names(env, kOverflowPolicyNames));
  exports.Set("backendChoices", names(env, kBackendChoiceNames));
  exports.Set("backends", names(env, kBackendNames));
  exports.Set("requestFields", request_field_names(env));
  exports.Set("reportFields", report_field_names(env));
  exports.Set("describe", Napi::Function::New<guarded<describe>>(env, "describe"));
  exports.Set("explain", Napi::Function::New<guarded<explain>>(env, "explain"));
  exports.Set("tensorCores", Napi::Function::New<guarded<tensor_cores>>(env, "tensorCores"));
  exports.Set("deviceName", Napi::Function::New<guarded<device_name>>(env, "deviceName"));
  exports.Set("configureCpu", Napi::Function::New<guarded<configure_cpu>>(env, "configureCpu"));
  exports.Set("explainWithoutCuda", Napi::Function::New<guarded<explain_without_cuda>>(env, "explainWithoutCuda"));
  exports.Set("setMeasuredChoices", Napi::Function::New<guarded<set_measured_choices>>(env, "setMeasuredChoices"));
  export_multiply(env, exports);
  export_device(env, exports);
  export_copies(env, exports);
  export_closure(env, exports);
  export_pinned(env, exports);
  export_rna(env, exports);
  export_graph(env, exports);
  export_lab(env, exports);
  export_cpu_lab(env, exports);
  return exports;
}

}  // namespace

NODE_API_MODULE(mpmml, init)

}  // namespace mpmml::addon
