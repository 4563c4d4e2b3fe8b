// Arrays in pinned memory, which a GPU can copy directly.
#pragma once
#include <napi.h>

namespace mpmml::addon {

/// pinnedBuffer(bytes): a promise of an ArrayBuffer of zeros in pinned memory, or of null if CUDA can't be used.
/// pinnedBufferSync(bytes): the same at once, which takes as long.
void export_pinned(Napi::Env env, Napi::Object exports);

}  // namespace mpmml::addon
