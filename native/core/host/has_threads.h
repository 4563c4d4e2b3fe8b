// Availability of threads in this process.
#pragma once

namespace mpmml {

/// A WebAssembly module without shared memory has only JavaScript's thread, and computes everything on it.
#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
constexpr bool kHasThreads = false;
#else
constexpr bool kHasThreads = true;
#endif

}  // namespace mpmml
