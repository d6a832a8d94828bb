# SPDX-License-Identifier: Apache-2.0
# Run as a test: checks the objects that are compiled with extra instruction set flags.
#   cmake -DNM=nm -DOBJECT_LIST=FILE [-DOBJDUMP=objdump] -P CheckIsaObjects.cmake
# OBJECT_LIST names one object a line; those in a folder avx2, avxvnni, avx512, amx or neon are checked.
# Each must export exactly one function and hold no weak symbol: of several weak copies the linker
# keeps any, and code for old CPUs would then run the one built for new CPUs. With OBJDUMP (on
# Windows), none may move wide vectors to or from memory that must be aligned, as the stack there is
# not.
cmake_minimum_required(VERSION 3.25)
file(STRINGS ${OBJECT_LIST} objects)
list(FILTER objects INCLUDE REGEX "/(avx(2|vnni|512)|amx|neon)/[^/]*$")
list(LENGTH objects num_objects)
if(num_objects EQUAL 0)
    message(FATAL_ERROR "no objects to check in ${OBJECT_LIST}")
endif()
set(faults "")
foreach(object IN LISTS objects)
    execute_process(COMMAND ${NM} --defined-only ${object} OUTPUT_VARIABLE symbols
                    COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[0-9a-f]* [A-Za-z] [^\n]+" lines "${symbols}")
    set(num_exported 0)
    foreach(line IN LISTS lines)
        if(line MATCHES " [WwVvu] " AND NOT line MATCHES " (DW.ref.|__asan|__ubsan|__tsan|.*san_)")
            string(APPEND faults "\n  ${object}: weak symbol: ${line}")
        elseif(line MATCHES " [TDBRSG] " AND NOT line MATCHES " \\.refptr\\.")  # an import's address
            math(EXPR num_exported "${num_exported} + 1")
        endif()
    endforeach()
    if(OBJDUMP)
        execute_process(COMMAND ${OBJDUMP} -d --no-show-raw-insn ${object} OUTPUT_VARIABLE code
                        COMMAND_ERROR_IS_FATAL ANY)
        string(REGEX MATCHALL "vmov(ap|dqa)[a-z0-9]* [^\n]*" moves "${code}")
        list(FILTER moves INCLUDE REGEX "[yz]mm.*\\(|\\(.*[yz]mm")
        foreach(move IN LISTS moves)
            string(APPEND faults "\n  ${object}: aligned move: ${move}")
        endforeach()
    endif()
    if(NOT num_exported EQUAL 1)
        string(APPEND faults "\n  ${object}: exports ${num_exported} symbols instead of one")
    endif()
endforeach()
if(faults)
    message(FATAL_ERROR "objects with extra instruction set flags:${faults}")
endif()
message(STATUS "${num_objects} objects are clean")
