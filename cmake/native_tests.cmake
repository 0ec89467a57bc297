# Native builds: the core as object libraries, and the test programs under ctest.
#
# tests/native tests the core, tests/kernels the kernels against their scalar twins, twice: as the simd128 build computes
# and as the relaxed one does. In each folder a file with a main is one program, and the files without are linked into
# every program of the folder. tests/fuzz has the entries for libFuzzer.

find_package(Threads REQUIRED)
enable_testing()

set(LN_FUZZ_SECONDS 60 CACHE STRING "How long ctest runs each fuzz target at most")
# With the fixed seed a run repeats itself, so a gate is as strict on a fast machine as on a slow one. -1: no bound.
set(LN_FUZZ_RUNS 650000 CACHE STRING "How many inputs ctest gives each fuzz target at most")
set(native_flags -fno-omit-frame-pointer)
if(LN_SANITIZE)
    list(APPEND native_flags -fsanitize=${LN_SANITIZE} -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${LN_SANITIZE})
endif()
# Checked kernels are optimised all the same, and do not report coverage to the fuzzer: their tests would take minutes.
set(kernel_flags ${native_flags})
if(LN_SANITIZE)
    list(APPEND kernel_flags -O2)
endif()
set(can_fuzz OFF)
if(LN_FUZZ AND CMAKE_C_COMPILER_ID STREQUAL "Clang")
    set(can_fuzz ON)
    list(APPEND native_flags -fsanitize=fuzzer-no-link)
endif()
if(LN_SIMDE_DIR AND NOT CMAKE_C_COMPILER STREQUAL "${LN_TOOLCHAIN_BIN}/clang")
    include_directories(SYSTEM "${LN_SIMDE_DIR}")
endif()
# The relaxed form fuses multiplications and additions, for which x86 needs to be told that it may.
set(relaxed_flags -DLN_NATIVE_RELAXED)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND relaxed_flags -mfma)
endif()

ln_objects(ln_core SOURCES ${LN_CORE_SOURCES} ${LN_POOL_SOURCES} FLAGS ${native_flags})
# protobuf-c shifts into the sign bit and calls generated functions through a pointer to a function of the base message:
# harmless on our compilers, but undefined, so that sanitizer is off there. The others watch it.
set(proto_flags ${native_flags})
if(LN_SANITIZE)
    list(APPEND proto_flags -fno-sanitize=undefined)
    if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
        list(APPEND proto_flags -fno-sanitize=function)
    endif()
endif()
ln_objects(ln_proto FOREIGN SOURCES ${LN_PROTO_SOURCES} FLAGS ${proto_flags})
ln_objects(ln_kernels_simd SOURCES ${LN_SIMD_SOURCES} ${LN_REFERENCE_SOURCES} FLAGS ${kernel_flags})
ln_objects(ln_kernels_relaxed SOURCES ${LN_SIMD_SOURCES} ${LN_REFERENCE_SOURCES} FLAGS ${kernel_flags} ${relaxed_flags})

# Test programs of one folder over some object libraries. FLAGS also says how the programs themselves are compiled.
function(ln_tests folder suffix)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "OBJECTS;FLAGS")
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/tests/${folder}/*.c")
    set(programs "")
    set(helpers "")
    foreach(source IN LISTS sources)
        file(STRINGS "${source}" entry REGEX "^int main\\(")
        if(entry)
            list(APPEND programs "${source}")
        else()
            list(APPEND helpers "${source}")
        endif()
    endforeach()
    foreach(source IN LISTS programs)
        get_filename_component(name "${source}" NAME_WE)
        ln_objects(${name}${suffix}_objects SOURCES ${source} ${helpers} FLAGS ${arg_FLAGS})
        set(objects $<TARGET_OBJECTS:${name}${suffix}_objects>)
        foreach(library IN LISTS arg_OBJECTS)
            list(APPEND objects $<TARGET_OBJECTS:${library}>)
        endforeach()
        add_executable(${name}${suffix} ${objects})
        set_target_properties(${name}${suffix} PROPERTIES LINKER_LANGUAGE C)
        target_link_libraries(${name}${suffix} PRIVATE m Threads::Threads)
        add_test(NAME ${folder}/${name}${suffix} COMMAND ${name}${suffix} WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
        set_tests_properties(${folder}/${name}${suffix} PROPERTIES LABELS ${folder} TIMEOUT 900)
        ln_test_environment(${folder}/${name}${suffix})
    endforeach()
endfunction()

function(ln_test_environment test)
    set_tests_properties(${test} PROPERTIES ENVIRONMENT
        "ASAN_SYMBOLIZER_PATH=${LN_TOOLCHAIN_BIN}/llvm-symbolizer;UBSAN_OPTIONS=print_stacktrace=1;ASAN_OPTIONS=detect_stack_use_after_return=1;TSAN_OPTIONS=external_symbolizer_path=${LN_TOOLCHAIN_BIN}/llvm-symbolizer")
endfunction()

ln_tests(kernels "" OBJECTS ln_kernels_simd FLAGS ${kernel_flags})
ln_tests(kernels _relaxed OBJECTS ln_kernels_relaxed FLAGS ${kernel_flags} ${relaxed_flags})
ln_tests(native "" OBJECTS ln_core ln_proto ln_kernels_simd FLAGS ${native_flags})

if(can_fuzz)
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/*.c")
    foreach(source IN LISTS sources)
        get_filename_component(name "${source}" NAME_WE)
        ln_objects(${name}_objects SOURCES ${source} FLAGS ${native_flags})
        add_executable(${name} $<TARGET_OBJECTS:${name}_objects> $<TARGET_OBJECTS:ln_core> $<TARGET_OBJECTS:ln_proto>
            $<TARGET_OBJECTS:ln_kernels_simd>)
        set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        target_link_libraries(${name} PRIVATE m Threads::Threads)
        set(corpus "${CMAKE_CURRENT_BINARY_DIR}/corpus/${name}")
        file(MAKE_DIRECTORY "${corpus}")
        set(seeds "${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/seeds/${name}")
        if(NOT EXISTS "${seeds}")
            set(seeds "")
        endif()
        # The operators' small cases are models that load; the fixed seed makes what a run finds repeatable.
        file(GLOB models CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/tests/data/cases/*/model.onnx")
        list(JOIN models "," models)
        file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/fuzz_seeds.txt" "${models}")
        add_test(NAME fuzz/${name} COMMAND ${name} -max_total_time=${LN_FUZZ_SECONDS} -runs=${LN_FUZZ_RUNS} -seed=1 -timeout=20 -rss_limit_mb=3000
            -max_len=20000 -print_final_stats=1 -seed_inputs=@${CMAKE_CURRENT_BINARY_DIR}/fuzz_seeds.txt ${corpus} ${seeds}
            WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
        set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz)
        ln_test_environment(fuzz/${name})
    endforeach()
endif()
