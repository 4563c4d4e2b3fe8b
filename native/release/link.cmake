# Links an addon as the published packages have it: on Linux with glibc it runs with old glibcs too (glibc.mjs says from which on),
# and it brings its own C++ library. It takes libgcc from the system, as Node.js does: to find handlers of exceptions, a
# newer one needs a newer glibc.

# The linker takes of each function the newest version that the system's glibc has. glibc 2.34 gave functions of
# libpthread and libdl, which had not changed, a version of their own; older systems don't have it. So the linker first
# sees libraries that are named as those of old systems and have the old versions (old-glibc.mjs), and nothing in them.
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
