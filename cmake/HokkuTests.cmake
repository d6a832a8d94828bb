# SPDX-License-Identifier: Apache-2.0
# hokku_add_test(NAME SOURCES...): one Catch2 executable whose test cases are registered with ctest
# one by one. The tags of a test case choose its labels:
#   [quick]    the inner loop          (label quick)
#   [model]    needs a downloaded model (label model; runs alone, as it uses every core)
#   neither    (label slow)
#   [threads]  also run under ThreadSanitizer (label threads, besides the other)
#   [serial]   measures time: never beside another test
#   [lanes]    seconds of threads that wait for each other: beside another test, which takes their
#              processors, each waits until the others run again. Counts as two, and comes first
#              in a fresh build folder; later ctest goes by the times that it knows.
# A variable HOKKU_TEST_LABEL in the folder's CMakeLists.txt is a label of all of its tests.
function(hokku_add_test name)
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE hokku_test_support)
    if(HOKKU_PRECOMPILES_TESTS)
        target_precompile_headers(${name} REUSE_FROM hokku_test_support)
    endif()
    hokku_register_tests(${name})
endfunction()

# For sanitizers: what nearly every test includes is compiled once, as hokku_test_support's. Only
# headers of the system, whose paths are the same for every checkout, so that a compiler cache serves
# them all. Not where the compiler optimises more: it then warns of what these headers do.
set(HOKKU_PRECOMPILES_TESTS OFF)
if(HOKKU_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(HOKKU_PRECOMPILES_TESTS ON)
endif()
function(hokku_precompile_test_headers)
    if(HOKKU_PRECOMPILES_TESTS)
        set(catch catch.hpp)
        if(Catch2_VERSION VERSION_GREATER_EQUAL 3)
            set(catch catch_all.hpp)
        endif()
        target_precompile_headers(hokku_test_support PRIVATE
            <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <memory> <optional>
            <span> <string> <string_view> <vector> <catch2/${catch}>)
        target_compile_options(hokku_test_support PUBLIC -fpch-preprocess)  # for compiler caches
    endif()
endfunction()

# As catch_discover_tests, which cannot give labels by tag without one noisy pass for each tag.
function(hokku_register_tests name)
    if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
        return()  # Built, but nothing here can run it.
    endif()
    set(quick_timeout 120)
    set(num_lanes 2)
    if(HOKKU_SANITIZE)
        set(num_lanes 1)  # There computing takes so much longer that waiting does not count.
        set(quick_timeout 400)  # Several times slower, and so are some processors.
    endif()
    if(CMAKE_CROSSCOMPILING AND HOKKU_CPU_FAMILY STREQUAL "arm")
        set(quick_timeout 600)  # An emulated processor is ten to fifty times slower.
        set(num_lanes 1)
    endif()
    set(list ${CMAKE_CURRENT_BINARY_DIR}/${name}_tests.cmake)
    set(include ${CMAKE_CURRENT_BINARY_DIR}/${name}_include.cmake)
    add_custom_command(TARGET ${name} POST_BUILD BYPRODUCTS ${list} VERBATIM
        COMMAND ${CMAKE_COMMAND} -DTEST_EXECUTABLE=$<TARGET_FILE:${name}> -DTEST_LIST=${list}
                "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}"
                -DQUICK_TIMEOUT=${quick_timeout} -DNUM_LANES=${num_lanes}
                -DCATCH_VERSION=${Catch2_VERSION} -DEXTRA_LABEL=${HOKKU_TEST_LABEL}
                -P ${PROJECT_SOURCE_DIR}/cmake/ListTests.cmake)
    file(WRITE ${include}
        "if(EXISTS \"${list}\")\n  include(\"${list}\")\n"
        "else()\n  add_test(${name}_is_not_built ${name}_is_not_built)\nendif()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()
