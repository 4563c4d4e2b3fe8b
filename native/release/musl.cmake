# Builds for Linux x64 with musl by Zig, which includes a C++ compiler, musl and libc++. CMake reads this file if
# CMAKE_TOOLCHAIN_FILE names it; `zig` is on the PATH.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_CXX_COMPILER zig c++)
set(CMAKE_CXX_COMPILER_TARGET x86_64-linux-musl)
# CMake's checks only compile: Zig refuses -fPIE, with which CMake links programs.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
