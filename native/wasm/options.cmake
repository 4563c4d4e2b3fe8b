# The addon as a WebAssembly module, by Emscripten and emnapi, which is Node-API for it. native/wasm/build.mjs configures it.

set(MPMML_EMNAPI "" CACHE PATH "The folder of the npm package emnapi")
option(MPMML_WASM_THREADS "Threads: workers that share the module's memory" ON)

# C++ exceptions use WebAssembly's exceptions. Exceptions through JavaScript would leave the module for each call that may throw.
set(mpmml_wasm_options -fwasm-exceptions -msimd128)
if(MPMML_WASM_THREADS)
  list(APPEND mpmml_wasm_options -pthread)
endif()
add_compile_options(${mpmml_wasm_options})
# Pages load the module over a network. So loops with unknown counts are unrolled only where the source requests it, and code that
# takes little time is compiled for size.
add_compile_options("SHELL:-mllvm -unroll-runtime=0" "SHELL:-mllvm -unroll-allow-partial=0")
set(mpmml_small_cpu session)
list(TRANSFORM mpmml_small_cpu REPLACE "(.+)" "native/cpu/\\1.cpp")
file(GLOB mpmml_small_sources native/core/graph/*.cpp native/core/graph/*/*.cpp native/lab/cpu/*.cpp)
list(FILTER mpmml_small_sources EXCLUDE REGEX "/(lanes|search|path_algebra)[.]cpp$")
set_source_files_properties(${mpmml_small_sources} ${mpmml_small_cpu} PROPERTIES COMPILE_OPTIONS -Os)

# Compiles kernels of the variant table, which have separate options, for size.
function(mpmml_shrink_kernels)
  foreach(source ${MPMML_GENERATED_CPU})
    if(source MATCHES "/(naive|thin)_[^/]*$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -Os)
    elseif(source MATCHES "/pivots_[^/]*$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -fno-unroll-loops -fno-slp-vectorize)
    endif()
  endforeach()
endfunction()

if(NOT MPMML_WASM_THREADS)
  # Enables thread-safe functions in node-addon-api, by which work is settled.
  add_compile_definitions(NAPI_HAS_THREADS=1)
endif()
add_link_options(${mpmml_wasm_options})
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
# emnapi's headers replace Node's: they declare the functions of JavaScript as imports of the module.
set(CMAKE_JS_INC ${MPMML_EMNAPI}/include/node ${MPMML_NODE_ADDON_API})

# emnapi is compiled from source, because its libraries are built with a newer compiler, whose features older linkers refuse.
enable_language(C)
file(GLOB mpmml_emnapi_sources ${MPMML_EMNAPI}/src/js_native_api.c ${MPMML_EMNAPI}/src/node_api.c
  ${MPMML_EMNAPI}/src/async_c*.c)
if(MPMML_WASM_THREADS)
  # Without threads, emnapi's JavaScript implements these parts.
  file(GLOB mpmml_emnapi_threads ${MPMML_EMNAPI}/src/async_work.c ${MPMML_EMNAPI}/src/threadsafe_function.c
    ${MPMML_EMNAPI}/src/uv/*.c ${MPMML_EMNAPI}/src/uv/unix/*.c)
  list(APPEND mpmml_emnapi_sources ${mpmml_emnapi_threads})
endif()
add_library(mpmml_emnapi OBJECT ${mpmml_emnapi_sources})
target_include_directories(mpmml_emnapi PRIVATE ${MPMML_EMNAPI}/include/node)
target_compile_definitions(mpmml_emnapi PRIVATE BUILDING_NODE_EXTENSION
  "NAPI_EXTERN=__attribute__((__import_module__(\"env\")))")

# Adds mpmml-threads.wasm or mpmml-single.wasm, and the JavaScript that starts it.
function(mpmml_add_wasm_module)
  mpmml_shrink_kernels()
  set(objects $<TARGET_OBJECTS:mpmml_emnapi>)
  foreach(layer mpmml_core mpmml_cool mpmml_cpu mpmml_addon mpmml_addon_cpu)
    list(APPEND objects $<TARGET_OBJECTS:${layer}>)
  endforeach()
  add_executable(mpmml_wasm ${objects})
  set(methods emnapiInit,emnapiExternalMemory,wasmMemory,HEAPU8)
  set(hooks instantiateWasm,locateFile,print,printErr,noExitRuntime)
  if(MPMML_WASM_THREADS)
    string(APPEND methods ,PThread)
    string(APPEND hooks ,mainScriptUrlOrBlob,threads)
    set_target_properties(mpmml_wasm PROPERTIES OUTPUT_NAME mpmml-threads)
    target_link_options(mpmml_wasm PRIVATE
      -sPTHREAD_POOL_SIZE=Module.threads -sPTHREAD_POOL_DELAY_LOAD=1 -sDEFAULT_PTHREAD_STACK_SIZE=4MB
      -Wno-pthreads-mem-growth)
  else()
    set_target_properties(mpmml_wasm PROPERTIES OUTPUT_NAME mpmml-single)
  endif()
  target_link_options(mpmml_wasm PRIVATE
    -Os --no-entry
    # Sorting functions by name makes instantiations of one template adjacent, in reach of the 32 KiB window of compression.
    --emit-symbol-map -sBINARYEN_EXTRA_PASSES=--reorder-functions-by-name
    -sMODULARIZE=1 -sEXPORT_NAME=mpmmlModule -sENVIRONMENT=node,web,worker
    # Modules with threads reserve the address space of the maximum, and allocate memory on demand.
    -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB -sINITIAL_MEMORY=16MB -sSTACK_SIZE=4MB
    # Without BigInts emnapi's napi_adjust_external_memory fails.
    -sFILESYSTEM=0 -sWASM_BIGINT=1
    # For pages whose policy forbids eval.
    -sDYNAMIC_EXECUTION=0
    --js-library=${MPMML_EMNAPI}/dist/library_napi.js
    -sEXPORTED_FUNCTIONS=_malloc,_free,_napi_register_wasm_v1,_node_api_module_get_api_version_v1)
  target_link_options(mpmml_wasm PRIVATE -sEXPORTED_RUNTIME_METHODS=${methods} -sINCOMING_MODULE_JS_API=${hooks})
endfunction()
