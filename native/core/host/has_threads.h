// Whether a process can have threads.
#pragma once

namespace mpmml {

/// A WebAssembly module that shares no memory has only JavaScript's thread, and computes everything there.
#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
constexpr bool kHasThreads = false;
#else
constexpr bool kHasThreads = true;
#endif

}  // namespace mpmml
