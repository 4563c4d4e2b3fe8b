// Searches in graphs.
#pragma once
#include <napi.h>

namespace mpmml::addon {

void export_graph(Napi::Env env, Napi::Object exports);

}  // namespace mpmml::addon
