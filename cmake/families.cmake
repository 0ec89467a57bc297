# The list of operator families of a build. src/ops/families.h lists them all, a line LN_FAMILY(name) each; with
# LN_OP_FAMILIES a header of the same form is written that has only the families named, and registry.c reads that one.
# All files are compiled all the same: nothing refers to the tables of the families left out, so the linker drops them
# and every function that only they use.
set(LN_OP_FAMILIES "" CACHE STRING "Operator families to build, separated by semicolons; empty for all")
set(LN_FAMILY_DEFINITIONS "")

if(LN_OP_FAMILIES)
    file(STRINGS "${CMAKE_CURRENT_SOURCE_DIR}/src/ops/families.h" lines REGEX "^LN_FAMILY\\(")
    set(known "")
    foreach(line IN LISTS lines)
        string(REGEX REPLACE "^LN_FAMILY\\(([a-z0-9_]+)\\).*" "\\1" family "${line}")
        list(APPEND known "${family}")
    endforeach()
    set(header "")
    foreach(family IN LISTS LN_OP_FAMILIES)
        if(NOT family IN_LIST known)
            string(REPLACE ";" ", " all "${known}")
            message(FATAL_ERROR "LN_OP_FAMILIES: there is no family '${family}'; the families are ${all}")
        endif()
        string(APPEND header "LN_FAMILY(${family})\n")
    endforeach()
    file(CONFIGURE OUTPUT "${LN_GENERATED_DIR}/chosen_families.h" CONTENT "${header}" @ONLY)
    set(LN_FAMILY_DEFINITIONS "LN_FAMILIES_HEADER=\"chosen_families.h\"")
endif()
