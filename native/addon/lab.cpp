#include "addon/lab.h"

#include "addon/engine.h"
#include "addon/failure.h"
#include "core/status.h"

namespace mpmml::addon {
namespace {

/// Throws where the request's device can't be used.
void require_device(const Napi::CallbackInfo& info) {
  const Napi::Value device = info[0].IsObject() ? info[0].As<Napi::Object>().Get("device") : info.Env().Undefined();
  const std::string reason = engine().cuda_unusable(device.IsNumber() ? device.As<Napi::Number>().Int32Value() : 0);
  if (!reason.empty())
    throw Error(ErrorCode::kNoCuda, "the laboratory measures on a GPU, and none can be used: " + reason);
}

Napi::Value refused(const Napi::CallbackInfo& info) {
  auto deferred = Napi::Promise::Deferred::New(info.Env());
  try {
    require_device(info);
    throw Error(ErrorCode::kCuda, "this build has no laboratory");
  } catch (const Error&) {
    deferred.Reject(to_javascript(info.Env(), current_failure()).Value());
  }
  return deferred.Promise();
}

Napi::Value nothing(const Napi::CallbackInfo& info) { return Napi::Array::New(info.Env()); }

}  // namespace

void export_lab(Napi::Env env, Napi::Object exports) {
  exports.Set("labMeasure", Napi::Function::New<guarded<refused>>(env, "labMeasure"));
  exports.Set("labMicrobenches", Napi::Function::New<guarded<nothing>>(env, "labMicrobenches"));
  exports.Set("labMicrobench", Napi::Function::New<guarded<refused>>(env, "labMicrobench"));
  exports.Set("labOccupancy", Napi::Function::New<guarded<refused>>(env, "labOccupancy"));
  exports.Set("labPeaks", Napi::Function::New<guarded<nothing>>(env, "labPeaks"));
  exports.Set("refusedVariants", Napi::Array::New(env));
}

}  // namespace mpmml::addon
