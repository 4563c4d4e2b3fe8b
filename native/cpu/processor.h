// Instruction sets of the processor. Header-only, because the build runs it (probe/main.cpp) before it compiles the
// library.
#pragma once
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace mpmml::cpu {

#if defined(__x86_64__)
struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// Returns the registers of the CPUID instruction for a leaf; all 0 if the processor doesn't support the leaf.
inline Registers cpuid(unsigned leaf) {
  Registers it;
  if (!__get_cpuid_count(leaf, 0, &it.eax, &it.ebx, &it.ecx, &it.edx)) return {};
  return it;
}

/// The registers that the system saves when it changes threads, one bit per kind.
inline unsigned saved_registers() {
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

constexpr bool has(unsigned word, unsigned bits) { return (word & bits) == bits; }
#endif

/// The instruction sets that this processor has, by their names in native/variants/table.mjs; best first.
inline std::vector<std::string> processor_instruction_sets() {
  std::vector<std::string> names;
#if defined(__x86_64__)
  // __builtin_cpu_supports isn't used: it needs Clang's run-time library, which Zig's and Visual Studio's linkers don't
  // link.
  constexpr unsigned kYmm = 0x6, kZmm = 0xe6;
  const Registers base = cpuid(1), extended = cpuid(7);
  const unsigned saved = has(base.ecx, bit_OSXSAVE) ? saved_registers() : 0;
  if (has(saved, kZmm) && has(extended.ebx, bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ)) {
    names.push_back("avx512");
  }
  if (has(saved, kYmm) && has(extended.ebx, bit_AVX2) && has(base.ecx, bit_FMA)) names.push_back("avx2");
  if (has(base.ecx, bit_SSE4_1)) names.push_back("sse41");
#elif defined(__aarch64__)
  names.push_back("neon");
#elif defined(__wasm_simd128__)
  names.push_back("simd128");
#endif
  names.push_back("portable");
  return names;
}

}  // namespace mpmml::cpu
