# SPDX-License-Identifier: Apache-2.0
# Builds for 64-bit Windows 10 and later on Debian or Ubuntu, with mingw-w64. The libraries come from
# HOKKU_WINDOWS_LIBRARIES, which `./test windows` fills (installer/setup/windows.sh).
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_SYSTEM_VERSION 10)

# The -posix compilers are those with std::thread.
set(_target x86_64-w64-mingw32)
set(CMAKE_C_COMPILER ${_target}-gcc-posix)
set(CMAKE_CXX_COMPILER ${_target}-g++-posix)
set(CMAKE_RC_COMPILER ${_target}-windres)
set(CMAKE_AR ${_target}-gcc-ar-posix)
set(CMAKE_RANLIB ${_target}-gcc-ranlib-posix)

if(DEFINED ENV{XDG_CACHE_HOME})
    set(_cache $ENV{XDG_CACHE_HOME})
else()
    set(_cache $ENV{HOME}/.cache)
endif()
set(HOKKU_WINDOWS_LIBRARIES ${_cache}/hokku/windows CACHE PATH "Libraries built for Windows")

set(CMAKE_FIND_ROOT_PATH ${HOKKU_WINDOWS_LIBRARIES} /usr/${_target})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/run-with-wine --check RESULT_VARIABLE _no_wine)
if(NOT _no_wine)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_CURRENT_LIST_DIR}/run-with-wine)
endif()
