# What the set-up found, as variables; each may be given on the command line of CMake instead:
#   LN_TOOLCHAIN_BIN   folder of clang, clang-format, protoc-c and wasm-opt
#   LN_EMCC            Emscripten's compiler driver, 6 or newer
#   LN_PROTOBUF_C_DIR  protobuf-c's source: the folder that holds protobuf-c/protobuf-c.c
#   LN_SIMDE_DIR       the folder that holds simde/wasm/simd128.h (native builds)
#   LN_PROTOC_C        protobuf-c's compiler
include("${CMAKE_CURRENT_LIST_DIR}/../.toolchain/toolchain.cmake" OPTIONAL)
if(NOT LN_PROTOC_C)
    find_program(LN_PROTOC_C protoc-c HINTS "${LN_TOOLCHAIN_BIN}")
endif()
