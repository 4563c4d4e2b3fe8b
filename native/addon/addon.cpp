// Entry point of the addon. native/variants/addon.mjs lists its exports.
#include <napi.h>

#include "addon/background.h"
#include "core/engine/execute.h"
#include "generated/exports.h"

namespace mpmml::addon {
namespace {

Napi::Object init(Napi::Env env, Napi::Object exports) {
  Background::open(env);
  export_all(env, exports);
  return exports;
}

}  // namespace

NODE_API_MODULE(mpmml, init)

}  // namespace mpmml::addon
