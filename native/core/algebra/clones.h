// Support for loops that compilers vectorize. MPMML_CLONES marks functions that are compiled for AVX2 too, because the
// baseline has no 32-bit minimum and maximum; the version is chosen when the addon is loaded. The choice uses an
// indirect function of glibc. musl has none, and ThreadSanitizer isn't ready yet when it runs.
#pragma once
#include <cstdint>

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define MPMML_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define MPMML_CLONES
#endif

namespace mpmml {

/// Returns all bits or none, for code without branches.
constexpr int32_t mask(bool condition) { return -static_cast<int32_t>(condition); }
constexpr int32_t choose(int32_t mask, int32_t x, int32_t otherwise) { return (x & mask) | (otherwise & ~mask); }

}  // namespace mpmml
