# Builds for 64-bit ARM with Debian's cross compiler (g++-aarch64-linux-gnu). CMake reads this file if CMAKE_TOOLCHAIN_FILE
# names it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
