# SPDX-License-Identifier: Apache-2.0
# Builds for 64-bit ARM on Debian, with its cross compiler. The libraries come from
# HOKKU_ARM64_LIBRARIES, which `./test arm64` fills (installer/setup/arm64.sh).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

set(_target aarch64-linux-gnu)
set(CMAKE_C_COMPILER ${_target}-gcc)
set(CMAKE_CXX_COMPILER ${_target}-g++)

if(DEFINED ENV{XDG_CACHE_HOME})
    set(_cache $ENV{XDG_CACHE_HOME})
else()
    set(_cache $ENV{HOME}/.cache)
endif()
set(HOKKU_ARM64_LIBRARIES ${_cache}/hokku/arm64 CACHE PATH "Libraries for 64-bit ARM")

set(CMAKE_FIND_ROOT_PATH ${HOKKU_ARM64_LIBRARIES} /usr/${_target})
set(CMAKE_LIBRARY_ARCHITECTURE ${_target})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(_run ${CMAKE_CURRENT_LIST_DIR}/../installer/arm64/run-with-qemu)
execute_process(COMMAND ${_run} --check RESULT_VARIABLE _no_qemu)
if(NOT _no_qemu)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${_run})
endif()
