// From C++ exceptions to JavaScript errors. node-addon-api translates only Napi::Error, so every export is guarded.
#pragma once
#include <napi.h>

#include "addon/failure.h"

namespace mpmml::addon {

Napi::Error to_javascript(Napi::Env env, const Failure& failure);

/// Exports `function`, with its exceptions converted to JavaScript errors.
template <Napi::Value (*function)(const Napi::CallbackInfo&)>
Napi::Value guarded(const Napi::CallbackInfo& info) {
  try {
    return function(info);
  } catch (const Napi::Error&) {
    throw;
  } catch (...) {
    throw to_javascript(info.Env(), current_failure());
  }
}

}  // namespace mpmml::addon
