# SPDX-License-Identifier: Apache-2.0
# Flags that every target of the project shares, carried by one interface target, and the
# functions that add libraries and tests. No global flags.

find_package(Threads REQUIRED)

# What differs from system to system is in files *_posix.cpp and *_windows.cpp, one pair a concern.
if(WIN32)
    set(HOKKU_SYSTEM windows)
else()
    set(HOKKU_SYSTEM posix)
endif()

# The same for processors: *_x86.cpp, *_arm_SYSTEM.cpp and *_other.cpp.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    set(HOKKU_CPU_FAMILY x86)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
    set(HOKKU_CPU_FAMILY arm)
else()
    set(HOKKU_CPU_FAMILY other)
endif()

add_library(hokku_flags INTERFACE)
target_compile_features(hokku_flags INTERFACE cxx_std_20)
target_compile_options(hokku_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
    -Wold-style-cast -Wimplicit-fallthrough -fno-math-errno -ffp-contract=off
    # GCC 12 sees overlaps in "text" + std::string that are not there (GCC bugs 105329, 105651).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    $<$<BOOL:${HOKKU_WARNINGS_AS_ERRORS}>:-Werror>)
if(HOKKU_CPU_FAMILY STREQUAL "arm")
    # char as on x86-64, and nothing of what compilers before GCC 10 passed otherwise.
    target_compile_options(hokku_flags INTERFACE -fsigned-char $<$<CXX_COMPILER_ID:GNU>:-Wno-psabi>)
endif()
if(WIN32)
    target_compile_definitions(hokku_flags INTERFACE WIN32_LEAN_AND_MEAN NOMINMAX)
endif()

# For executables without Qt. On Windows: one file that runs by itself, with as much stack in each
# thread as Linux gives.
add_library(hokku_program INTERFACE)
if(WIN32)
    target_link_options(hokku_program INTERFACE -static -Wl,--stack,8388608)
endif()

# For libraries that are opened at run time: on Windows, too, one file that needs no other.
add_library(hokku_plugin INTERFACE)
if(WIN32)
    target_link_options(hokku_plugin INTERFACE -static)
endif()

if(HOKKU_SANITIZE)
    list(JOIN HOKKU_SANITIZE "," _hokku_sanitizers)
    # GCC documents -Wmaybe-uninitialized as unreliable beside -fsanitize: it warns of the standard
    # library's own variants and functions.
    target_compile_options(hokku_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_compile_options(hokku_flags INTERFACE
        -fsanitize=${_hokku_sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(hokku_flags INTERFACE -fsanitize=${_hokku_sanitizers})
    if("address" IN_LIST HOKKU_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # At a fixed address the half million places that name their checks need no relocation, which
        # took half of the time of a short program; tests start thousands of them.
        target_link_options(hokku_program INTERFACE -no-pie)
    endif()
endif()
if(HOKKU_FUZZ)
    # Counts what is reached; the targets themselves link libFuzzer.
    target_compile_options(hokku_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(HOKKU_CCACHE ccache)
if(HOKKU_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # What one folder has compiled serves a copy of the sources in another one, too.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
        CCACHE_SLOPPINESS=pch_defines,time_macros  # for precompiled headers
        ${HOKKU_CCACHE})
endif()

# hokku_join_sources(TARGET FOLDERS..): where HOKKU_UNITY is on, compiles the sources of each folder
# as one. Headers and what several files make of them cost several times more than the code does.
# Such files must not differ in what a name outside of functions means.
option(HOKKU_UNITY "Compile related sources as one: quicker as a whole, slower after a change" OFF)
function(hokku_join_sources target)
    if(NOT HOKKU_UNITY)
        return()
    endif()
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
        cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
        cmake_path(GET path PARENT_PATH folder)
        cmake_path(RELATIVE_PATH folder)
        if(folder STREQUAL "")
            set(folder .)
        endif()
        if(folder IN_LIST ARGN)
            string(MAKE_C_IDENTIFIER "${folder}" group)
            set_source_files_properties(${source} PROPERTIES UNITY_GROUP "hokku_${group}")
        endif()
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
