# The four wasm artifacts.
#
# Exports are the functions that linnet.h marks LN_API, by the attribute. The artifacts import no function (see
# web/wasm_env.c). Those with shared memory import it as env.memory, and export what a worker needs to start on it:
# the stack pointer to set, and the initialiser of thread-local data with its size and alignment.

# The main thread's stack; each worker brings one of its own. The reader recurses up to a fixed depth of nesting.
set(LN_STACK_BYTES 524288)
set(LN_INITIAL_BYTES 2097152)
set(LN_WASM_FLAGS -O3 -msimd128 -mnontrapping-fptoint -mbulk-memory -msign-ext -fno-exceptions)

ln_objects(ln_core SOURCES ${LN_CORE_SOURCES} "${CMAKE_CURRENT_SOURCE_DIR}/web/wasm_env.c" FLAGS ${LN_WASM_FLAGS} -matomics)
# What runs once a load counts by its size.
file(GLOB LN_LOAD_SOURCES CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/compile/*.c")
set_source_files_properties(${LN_LOAD_SOURCES} PROPERTIES COMPILE_OPTIONS -Os)
ln_objects(ln_proto FOREIGN SOURCES ${LN_PROTO_SOURCES} FLAGS ${LN_WASM_FLAGS} -Os -matomics)
ln_objects(ln_kernels_simd SOURCES ${LN_SIMD_SOURCES} FLAGS ${LN_WASM_FLAGS} -matomics)
ln_objects(ln_kernels_relaxed SOURCES ${LN_SIMD_SOURCES} FLAGS ${LN_WASM_FLAGS} -matomics -mrelaxed-simd)
ln_objects(ln_pool_single SOURCES ${LN_POOL_SOURCES} FLAGS ${LN_WASM_FLAGS})
ln_objects(ln_pool_threads SOURCES ${LN_POOL_SOURCES} FLAGS ${LN_WASM_FLAGS} -matomics)

set(LN_LINK_FLAGS
    -O3
    -sSTANDALONE_WASM=1
    --no-entry
    -sDEFAULT_TO_CXX=0
    -sAUTO_NATIVE_LIBRARIES=0
    -sMALLOC=dlmalloc
    -sALLOW_MEMORY_GROWTH=1
    -sMAXIMUM_MEMORY=4GB
    -sINITIAL_MEMORY=${LN_INITIAL_BYTES}
    -sSTACK_SIZE=${LN_STACK_BYTES})
set(LN_SHARED_LINK_FLAGS
    -sSHARED_MEMORY=1
    -sIMPORTED_MEMORY=1
    -Wl,--export=__stack_pointer,--export=__wasm_init_tls,--export=__tls_size,--export=__tls_align,--export=__tls_base)

# The flags of features are repeated when linking, because emcc passes them on to wasm-opt.
function(ln_artifact name kernels pool)
    add_executable(${name}
        $<TARGET_OBJECTS:ln_core> $<TARGET_OBJECTS:ln_proto> $<TARGET_OBJECTS:ln_kernels_${kernels}>
        $<TARGET_OBJECTS:ln_pool_${pool}>)
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C SUFFIX .wasm)
    set(flags ${LN_LINK_FLAGS} -msimd128 -mnontrapping-fptoint -mbulk-memory -msign-ext)
    if(kernels STREQUAL "relaxed")
        list(APPEND flags -mrelaxed-simd)
    endif()
    if(pool STREQUAL "threads")
        list(APPEND flags -matomics ${LN_SHARED_LINK_FLAGS})
    endif()
    target_link_options(${name} PRIVATE ${flags} "-Wl,-Map=${CMAKE_CURRENT_BINARY_DIR}/${name}.map")
endfunction()

ln_artifact(linnet.simd simd single)
ln_artifact(linnet.relaxed relaxed single)
ln_artifact(linnet.simd.threads simd threads)
ln_artifact(linnet.relaxed.threads relaxed threads)

# The kernel bench (npm run bench:kernels): the kernels of both builds under a table of cases. Built when asked for by name.
file(GLOB LN_BENCH_SOURCES CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/bench/kernels/*.c")
foreach(kernels simd relaxed)
    set(features -msimd128 -mnontrapping-fptoint -mbulk-memory -msign-ext $<$<STREQUAL:${kernels},relaxed>:-mrelaxed-simd>)
    ln_objects(ln_bench_${kernels} SOURCES ${LN_BENCH_SOURCES} FLAGS -O3 ${features})
    add_executable(bench.${kernels} $<TARGET_OBJECTS:ln_bench_${kernels}> $<TARGET_OBJECTS:ln_kernels_${kernels}>)
    set_target_properties(bench.${kernels} PROPERTIES LINKER_LANGUAGE C SUFFIX .wasm)
    set_target_properties(ln_bench_${kernels} bench.${kernels} PROPERTIES EXCLUDE_FROM_ALL ON)
    target_link_options(bench.${kernels} PRIVATE ${LN_LINK_FLAGS} ${features})
endforeach()
