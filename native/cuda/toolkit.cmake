# Finds the CUDA toolkit and selects what is built with it. Sets
#   MPMML_CUDA_FOUND               whether the CUDA backend is built
#   MPMML_CUDA_STATUS              one line: what is built, or the reason why CUDA isn't
#   MPMML_CUDA_STATUS_OF_CPU       one line: the status of the CPU-only addon
#   MPMML_CUDA_NOTE                an additional line for the user, or empty
#   MPMML_CUDA_TOOLKIT             the toolkit's version
#   MPMML_CUDA_ARCHITECTURE_NAMES  for example "sm_80 sm_90 compute_90"
#   MPMML_CUDA_HOPPER_ARCHITECTURES  CMake's list for the kernels with instructions of Hopper only
#   MPMML_CUDA_REORDERS            whether main loops are reordered (native/reorder)
#   MPMML_CUDA_LAB_ARCHITECTURES   CMake's list for the kernels of the laboratory
#   MPMML_CUDA_LAB_ARCHITECTURE_NAMES
#
# Unless requested explicitly, CUDA is built only if this machine has a GPU.
#
# nvcc is searched in CUDACXX, then on the PATH, then under CUDA_PATH, CUDA_HOME and /usr/local/cuda. It must be of
# CUDA 12.0 or newer: older toolkits lack the three-operand maxima (__viaddmax_s32, __vimax3_s32) and __grid_constant__. CMake's own
# check_language(CUDA) isn't used, because it only returns "no" even if only the architectures are wrong.

include(${CMAKE_CURRENT_LIST_DIR}/architectures.cmake)

macro(mpmml_find_cuda_toolkit)
  set(MPMML_CUDA_FOUND FALSE)
  set(MPMML_CUDA_TOOLKIT "")
  set(MPMML_CUDA_NOTE "")
  set(MPMML_CUDA_REORDERS FALSE)
  set(MPMML_CUDA_ARCHITECTURE_NAMES "")
  set(MPMML_CUDA_LAB_ARCHITECTURE_NAMES "")
  # Architectures are named by those who want CUDA.
  set(mpmml_cuda_asked FALSE)
  if(MPMML_CUDA STREQUAL "ON" OR MPMML_LAB STREQUAL "ON" OR NOT MPMML_CUDA_ARCHS STREQUAL "")
    set(mpmml_cuda_asked TRUE)
  endif()
  mpmml_find_driver(mpmml_driver)
  if(MPMML_CUDA STREQUAL "OFF" AND MPMML_LAB STREQUAL "ON")
    message(FATAL_ERROR "mpmml: the laboratory's kernels are for GPUs, but MPMML_CUDA=OFF leaves CUDA out: leave that out")
  elseif(MPMML_CUDA STREQUAL "OFF")
    set(MPMML_CUDA_STATUS "built without CUDA, as MPMML_CUDA=OFF asked")
  elseif(NOT mpmml_cuda_asked AND NOT mpmml_driver)
    set(MPMML_CUDA_STATUS "built without CUDA, because no NVIDIA driver was found (MPMML_CUDA=ON builds it in any case)")
  else()
    find_program(MPMML_NVCC nvcc PATHS ENV CUDA_PATH ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES bin)
    if(DEFINED ENV{CUDACXX})
      # A name instead of a path is looked up on the PATH.
      unset(mpmml_named_nvcc CACHE)
      find_program(mpmml_named_nvcc NAMES "$ENV{CUDACXX}")
      if(NOT mpmml_named_nvcc)
        message(FATAL_ERROR "mpmml: CUDACXX must be the path of an nvcc, but $ENV{CUDACXX} doesn't exist: correct it or leave it out")
      endif()
      set(MPMML_NVCC "${mpmml_named_nvcc}")
    endif()
    if(MPMML_NVCC)
      mpmml_enable_cuda()
    elseif(MPMML_CUDA STREQUAL "ON" OR MPMML_LAB STREQUAL "ON")
      message(FATAL_ERROR "mpmml: CUDA is asked for, but nvcc was not found: install the CUDA toolkit, or name its nvcc in CUDACXX")
    else()
      set(MPMML_CUDA_STATUS "built without CUDA, because nvcc was not found")
    endif()
  endif()
  if(MPMML_CUDA_FOUND OR MPMML_RELEASE)
    set(MPMML_CUDA_STATUS_OF_CPU "built without CUDA: this is the addon for the CPU")
  else()
    set(MPMML_CUDA_STATUS_OF_CPU "${MPMML_CUDA_STATUS}")
  endif()
  message(STATUS "mpmml: ${MPMML_CUDA_STATUS}")
  if(MPMML_CUDA_NOTE)
    message(STATUS "mpmml: ${MPMML_CUDA_NOTE}")
  endif()
endmacro()

macro(mpmml_enable_cuda)
  execute_process(COMMAND ${MPMML_NVCC} --list-gpu-arch OUTPUT_VARIABLE mpmml_nvcc_archs RESULT_VARIABLE mpmml_nvcc_result)
  if(NOT mpmml_nvcc_result EQUAL 0)
    message(FATAL_ERROR "mpmml: ${MPMML_NVCC} --list-gpu-arch failed: CUDACXX must be the nvcc of CUDA 12.0 or newer")
  endif()
  string(REGEX MATCHALL "[0-9]+" mpmml_nvcc_archs "${mpmml_nvcc_archs}")
  mpmml_choose_architectures("${MPMML_CUDA_ARCHS}" "${mpmml_nvcc_archs}")
  if(MPMML_CUDA_LAB_ARCHS)
    set(mpmml_lab_architectures ${MPMML_CUDA_LAB_ARCHS})
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${mpmml_architectures})
  set(MPMML_CUDA_LAB_ARCHITECTURES ${mpmml_lab_architectures})
  set(MPMML_CUDA_NOTE "${mpmml_architectures_note}")
  mpmml_name_architectures(MPMML_CUDA_ARCHITECTURE_NAMES ${mpmml_architectures})
  mpmml_name_architectures(MPMML_CUDA_LAB_ARCHITECTURE_NAMES ${mpmml_lab_architectures})
  set(CMAKE_CUDA_COMPILER ${MPMML_NVCC})
  set(CMAKE_CUDA_STANDARD 17)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  enable_language(CUDA)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.0)
    message(FATAL_ERROR "mpmml: CUDA must be of version 12.0 or newer, but ${MPMML_NVCC} is of ${CMAKE_CUDA_COMPILER_VERSION}: install a newer toolkit, or name its nvcc in CUDACXX")
  endif()
  find_package(CUDAToolkit REQUIRED)
  set(MPMML_CUDA_FOUND TRUE)
  set(MPMML_CUDA_TOOLKIT ${CMAKE_CUDA_COMPILER_VERSION})
  # Hopper's own instructions need 90a. Elsewhere these kernels are empty.
  string(REGEX REPLACE "(^|;)90(-real|)($|;)" "\\190a-real\\3" MPMML_CUDA_HOPPER_ARCHITECTURES "${mpmml_architectures}")
  if(MPMML_REORDER AND UNIX AND CMAKE_CUDA_COMPILER_VERSION MATCHES "^13\\.0\\." AND ";${mpmml_architectures};" MATCHES ";90(-real)?;")
    set(MPMML_CUDA_REORDERS TRUE)
  endif()
  set(MPMML_CUDA_STATUS "built with CUDA ${MPMML_CUDA_TOOLKIT} for ${MPMML_CUDA_ARCHITECTURE_NAMES}")
endmacro()

# Sets the compile options of a target with CUDA code.
function(mpmml_set_cuda_options target)
  target_link_libraries(${target} PRIVATE CUDA::cudart_static)
  set(options -Wno-deprecated-gpu-targets)
  if(MPMML_CUDA_COMPRESS)
    list(APPEND options --compress-mode=${MPMML_CUDA_COMPRESS})
  endif()
  foreach(option ${mpmml_host_options})
    # One -Xcompiler per option, because nvcc splits at commas, and the sanitizers' options have commas.
    list(APPEND options "SHELL:-Xcompiler=${option}")
  endforeach()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${options}>")
endfunction()
