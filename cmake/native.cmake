# Toolchain file of the native builds: the unpacked clang, unless CC or CMAKE_C_COMPILER asks for another compiler.
include("${CMAKE_CURRENT_LIST_DIR}/toolchain.cmake")
if(NOT DEFINED ENV{CC} AND NOT CMAKE_C_COMPILER AND EXISTS "${LN_TOOLCHAIN_BIN}/clang")
    set(CMAKE_C_COMPILER "${LN_TOOLCHAIN_BIN}/clang")
    set(CMAKE_AR "${LN_TOOLCHAIN_BIN}/llvm-ar" CACHE FILEPATH "")
    set(CMAKE_RANLIB "${LN_TOOLCHAIN_BIN}/llvm-ranlib" CACHE FILEPATH "")
endif()
