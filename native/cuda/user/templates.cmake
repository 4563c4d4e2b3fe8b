# Compiles the kernel templates for custom semirings to PTX in a generated source file. The driver compiles it at run time.

# mpmml_compile_user_templates(result): sets `result` to the generated source file. A driver accepts PTX of an architecture
# on all newer ones, so the file has two versions: for the build's oldest architecture, and for the oldest one with
# asynchronous copies.
function(mpmml_compile_user_templates result)
  set(first_with_copies 80)
  set(oldest 1000)
  set(oldest_with_copies 1000)
  foreach(arch ${mpmml_architectures})
    string(REGEX MATCH "^[0-9]+" number ${arch})
    if(number LESS oldest)
      set(oldest ${number})
    endif()
    if(NOT number LESS first_with_copies AND number LESS oldest_with_copies)
      set(oldest_with_copies ${number})
    endif()
  endforeach()
  set(wanted ${oldest})
  if(oldest LESS first_with_copies AND oldest_with_copies LESS 1000)
    list(APPEND wanted ${oldest_with_copies})
  endif()

  set(folder ${CMAKE_SOURCE_DIR}/native/cuda/user/templates)
  set(headers ${folder}/holes.cuh ${folder}/launch.h ${folder}/table.h ${CMAKE_SOURCE_DIR}/native/core/problem/structure.h)
  set(texts "")
  set(inputs "")
  foreach(number ${wanted})
    set(ptx ${CMAKE_BINARY_DIR}/user_templates_${number}.ptx)
    add_custom_command(OUTPUT ${ptx}
      COMMAND ${CMAKE_CUDA_COMPILER} -ptx -std=c++17 -O3 -arch=compute_${number} -Wno-deprecated-gpu-targets
        -I${CMAKE_SOURCE_DIR}/native -I${mpmml_generated} ${folder}/product.cu -o ${ptx}
      DEPENDS ${folder}/product.cu ${headers} VERBATIM)
    list(APPEND texts ${ptx})
    list(APPEND inputs ${number}=${ptx})
  endforeach()
  set(source ${CMAKE_BINARY_DIR}/user_templates.cpp)
  add_custom_command(OUTPUT ${source}
    COMMAND ${MPMML_NODE} ${folder}/embed.mjs ${source} ${inputs}
    DEPENDS ${texts} ${folder}/embed.mjs VERBATIM)
  set(${result} ${source} PARENT_SCOPE)
endfunction()
