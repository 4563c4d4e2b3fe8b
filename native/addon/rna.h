// Folding and interaction of RNA.
#pragma once
#include <napi.h>

namespace mpmml::addon {

/// rnaFold and rnaInteract: lib/native.ts has their types.
void export_rna(Napi::Env env, Napi::Object exports);

}  // namespace mpmml::addon
