# Links an addon for the published packages. On Linux with glibc it also runs with old versions of glibc (oldestGlibc in glibc.mjs)
# and contains its own C++ library. It takes libgcc from the system, like Node.js: the exception handling of a newer libgcc needs a
# newer glibc.

# The linker selects the newest version of each function in the system's glibc. glibc 2.34 gave unchanged functions of libpthread
# and libdl a new version, which older systems don't have. So the linker first reads stub libraries with the names and versions of
# old systems (old-glibc.mjs).
function(mpmml_old_glibc result)
  set(folder ${CMAKE_BINARY_DIR}/old-glibc)
  set(files "")
  foreach(library c m)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${library}.so.6 OUTPUT_VARIABLE file
      OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND files ${file})
  endforeach()
  execute_process(
    COMMAND ${MPMML_NODE} ${CMAKE_SOURCE_DIR}/native/release/old-glibc.mjs
      --compiler ${CMAKE_CXX_COMPILER} --readelf ${CMAKE_READELF} --to ${folder} ${files}
    OUTPUT_VARIABLE libraries OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${result} ${libraries} PARENT_SCOPE)
endfunction()

include(CheckCXXSymbolExists)
check_cxx_symbol_exists(__GLIBC__ "cstdlib" MPMML_HAS_GLIBC)

if(MPMML_RELEASE AND MPMML_HAS_GLIBC)
  mpmml_old_glibc(mpmml_old_libraries)
  mpmml_layer(mpmml_glibc native/release/glibc.cpp)
endif()

function(mpmml_link_for_release target)
  if(UNIX AND NOT APPLE)
    target_link_options(${target} PRIVATE -static-libstdc++ -Wl,--gc-sections -Wl,--no-as-needed -s)
  endif()
  if(MPMML_HAS_GLIBC)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:mpmml_glibc>)
    target_link_libraries(${target} PRIVATE ${mpmml_old_libraries})
  endif()
endfunction()
