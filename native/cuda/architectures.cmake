# Chooses the GPU architectures that the kernels are compiled for, and finds out if there is a GPU at all.

# The architectures that the kernels are made for. `all` means those of them that the toolkit knows; others have to be
# named.
set(mpmml_supported_archs 52 61 70 75 80 86 89 90 100 120)

# mpmml_choose_architectures(asked known)
#
#   asked  MPMML_CUDA_ARCHS: a list such as 61;90 or sm_61;sm_90, or all, or nothing: then the GPUs of this machine. Without a
#          GPU it is the oldest architecture, because the driver of every newer GPU can compile its PTX. A machine whose GPUs are
#          all too old for the toolkit is an error
#   known  the architectures of the toolkit
#
# Sets, as CMake writes CUDA_ARCHITECTURES (90-real is machine code, 90-virtual PTX, 90 both):
#
#   mpmml_architectures      for the kernels that products take. The newest comes with its PTX, for still newer GPUs
#   mpmml_lab_architectures  for the kernels of the laboratory, of which there are ten times as many: with `all` they
#                            would take most of an hour. The driver compiles PTX when a kernel is first used
#   mpmml_architectures_note what the user should know about the choice, or nothing
function(mpmml_choose_architectures asked known)
  set(note "")
  set(offered "")
  foreach(arch ${mpmml_supported_archs})
    if(arch IN_LIST known)
      list(APPEND offered ${arch})
    endif()
  endforeach()
  mpmml_machine_architectures(machine "${known}" missing)
  list(GET offered 0 oldest)
  if(asked STREQUAL "all")
    mpmml_with_ptx(chosen ${offered})
    if(machine)
      mpmml_with_ptx(lab ${machine})
    else()
      set(lab ${oldest}-virtual)
      if(90 IN_LIST offered)
        list(APPEND lab 90-virtual)
      endif()
    endif()
  elseif(NOT asked STREQUAL "")
    string(REGEX MATCHALL "[^;, ]+" archs "${asked}")
    # As NVIDIA writes them.
    list(TRANSFORM archs REPLACE "^(sm|compute)_" "")
    foreach(arch ${archs})
      if(NOT arch IN_LIST known)
        message(FATAL_ERROR "mpmml: MPMML_CUDA_ARCHS names ${arch}, which this CUDA toolkit doesn't have; it has ${known}, and `all` means all of them that MPMML supports")
      endif()
    endforeach()
    mpmml_with_ptx(chosen ${archs})
    set(lab ${chosen})
  elseif(machine)
    mpmml_with_ptx(chosen ${machine})
    set(lab ${chosen})
  elseif(missing)
    message(FATAL_ERROR "mpmml: this CUDA toolkit has no code for sm_${missing}, the GPU of this machine: name the nvcc of CUDA 12.0 to 12.9, for example CUDACXX=/usr/local/cuda-12.9/bin/nvcc npm run build, or build for the CPU with MPMML_CUDA=OFF")
  else()
    set(chosen ${oldest})
    set(lab ${oldest}-virtual)
    set(note "no GPU was found; other GPUs than sm_${oldest} have to compile the kernels when they are first used, so name yours in MPMML_CUDA_ARCHS (for example MPMML_CUDA_ARCHS=90)")
  endif()
  if(missing)
    set(note "this CUDA toolkit has no code for sm_${missing}, a GPU of this machine: CUDA 12.0 to 12.9 have it")
  endif()
  set(mpmml_architectures "${chosen}" PARENT_SCOPE)
  set(mpmml_lab_architectures "${lab}" PARENT_SCOPE)
  set(mpmml_architectures_note "${note}" PARENT_SCOPE)
endfunction()

# Whether this machine has an NVIDIA driver. On Linux and in the Windows Subsystem for Linux files show it (lib/load.ts looks for
# the same), elsewhere the driver's program.
function(mpmml_find_driver result)
  set(${result} FALSE PARENT_SCOPE)
  foreach(file /proc/driver/nvidia/version /dev/nvidiactl /usr/lib/wsl/lib/libcuda.so.1)
    if(EXISTS ${file})
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endforeach()
  mpmml_machine_capabilities(capabilities)
  if(capabilities)
    set(${result} TRUE PARENT_SCOPE)
  endif()
endfunction()

# The compute capabilities of this machine's GPUs, for example 8.6;9.0, by the driver's program; nothing if there is none.
function(mpmml_machine_capabilities result)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE printed RESULT_VARIABLE status ERROR_QUIET)
  set(capabilities "")
  if(status EQUAL 0)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]" capabilities "${printed}")
  endif()
  set(${result} "${capabilities}" PARENT_SCOPE)
endfunction()

# The architectures of this machine's GPUs. For a GPU that the toolkit doesn't know it is the newest older one that the
# toolkit knows; if there is none, `missing` is set to the GPU's architecture.
function(mpmml_machine_architectures result known missing)
  set(found "")
  set(${missing} "" PARENT_SCOPE)
  mpmml_machine_capabilities(capabilities)
  foreach(capability ${capabilities})
    string(REPLACE "." "" own "${capability}")
    set(best 0)
    foreach(arch ${known})
      if(NOT arch GREATER own AND arch GREATER best)
        set(best ${arch})
      endif()
    endforeach()
    if(best GREATER 0)
      list(APPEND found ${best})
    else()
      set(${missing} ${own} PARENT_SCOPE)
    endif()
  endforeach()
  list(REMOVE_DUPLICATES found)
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# Machine code for each architecture, and PTX for the newest. Both are one option, so that the compiler makes the PTX
# only once.
function(mpmml_with_ptx result)
  set(newest 0)
  foreach(arch ${ARGN})
    if(arch GREATER newest)
      set(newest ${arch})
    endif()
  endforeach()
  set(all "")
  foreach(arch ${ARGN})
    if(arch EQUAL newest)
      list(APPEND all ${arch})
    else()
      list(APPEND all ${arch}-real)
    endif()
  endforeach()
  set(${result} "${all}" PARENT_SCOPE)
endfunction()

# CMake's list as people write it: sm_80 sm_90 compute_90.
function(mpmml_name_architectures result)
  set(names "")
  foreach(arch ${ARGN})
    string(REGEX MATCH "^[0-9]+" number ${arch})
    if(NOT arch MATCHES "virtual")
      list(APPEND names sm_${number})
    endif()
  endforeach()
  foreach(arch ${ARGN})
    string(REGEX MATCH "^[0-9]+" number ${arch})
    if(NOT arch MATCHES "real")
      list(APPEND names compute_${number})
    endif()
  endforeach()
  string(REPLACE ";" " " names "${names}")
  set(${result} "${names}" PARENT_SCOPE)
endfunction()
