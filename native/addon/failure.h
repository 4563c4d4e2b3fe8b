// From C++ exceptions to JavaScript errors. node-addon-api translates only Napi::Error, so every export is guarded.
#pragma once
#include <napi.h>

#include <optional>
#include <string>

namespace mpmml::addon {

/// What went wrong, to be carried to the JavaScript thread.
struct Failure {
  std::string code;  ///< ERR_MPMML_…, empty for an unexpected error
  std::string message;
  std::optional<size_t> product{};  ///< which of several products it is of, if that is known
};

/// The exception that is being handled, which may be a Failure.
Failure current_failure();

Napi::Error to_javascript(Napi::Env env, const Failure& failure);

/// `function` as an export: its exceptions become JavaScript errors.
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
