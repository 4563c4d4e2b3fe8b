#include "addon/guarded.h"

namespace mpmml::addon {

Napi::Error to_javascript(Napi::Env env, const Failure& failure) {
  Napi::Error error = Napi::Error::New(env, failure.message);
  if (!failure.code.empty()) error.Value().Set("code", failure.code);
  return error;
}

}  // namespace mpmml::addon
