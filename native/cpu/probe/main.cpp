// Prints the instruction sets that this processor has, best first: the build compiles for the best of them
// (instruction_sets.cmake).
#include <cstdio>

#include "cpu/processor.h"

int main() {
  for (const std::string& name : mpmml::cpu::processor_instruction_sets()) std::printf("%s ", name.c_str());
}
