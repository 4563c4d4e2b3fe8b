# Chooses the instruction sets that the CPU's kernels are compiled for.

# mpmml_choose_instruction_sets(result asked)
#
#   asked  MPMML_CPU_ISAS: native for the best one of this machine, all, or names such as avx2;sse41. The portable one is
#          always added
#
# The result is the argument of native/variants/generate.mjs. A cross build has all, because it can't run code on its target.
function(mpmml_choose_instruction_sets result asked)
  if(NOT asked STREQUAL "native")
    string(REPLACE ";" "," chosen "${asked}")
  elseif(CMAKE_CROSSCOMPILING)
    set(chosen all)
  else()
    # CMake would keep the result of an earlier configuration on another machine.
    unset(mpmml_probe_runs CACHE)
    unset(mpmml_probe_compiles CACHE)
    try_run(mpmml_probe_runs mpmml_probe_compiles ${CMAKE_BINARY_DIR}/probe ${CMAKE_SOURCE_DIR}/native/cpu/probe/main.cpp
      CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${CMAKE_SOURCE_DIR}/native
      COMPILE_OUTPUT_VARIABLE compiler RUN_OUTPUT_VARIABLE printed)
    if(NOT mpmml_probe_compiles OR NOT mpmml_probe_runs EQUAL 0)
      message(FATAL_ERROR "mpmml: native/cpu/probe can't be compiled or run, which asks this machine for its instruction sets; MPMML_CPU_ISAS=all doesn't need it\n${compiler}")
    endif()
    string(REGEX MATCH "[a-z0-9]+" chosen "${printed}")
    message(STATUS "mpmml: CPU kernels for ${chosen}, which is the best of this machine, and portable ones (MPMML_CPU_ISAS=all builds them for other processors too)")
  endif()
  set(${result} ${chosen} PARENT_SCOPE)
endfunction()
