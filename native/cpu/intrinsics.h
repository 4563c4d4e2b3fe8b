// The processor's intrinsics, as far as the instruction set that is compiled for has them: all of x86's take most of a second to
// read.
#pragma once
#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__SSE4_1__)
#include <smmintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
