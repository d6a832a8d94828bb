# SPDX-License-Identifier: Apache-2.0
# Run after a test executable was linked: asks it for its test cases by tag and writes TEST_LIST,
# the file by which ctest knows them. Names are handled as text, never as CMake lists, for they may
# hold semicolons and brackets.
cmake_minimum_required(VERSION 3.25)

if(CATCH_VERSION VERSION_GREATER_EQUAL 3.0)
    set(list_option --list-tests --verbosity quiet)
else()
    set(list_option --list-test-names-only)  # Exits with the number of tests.
endif()

# Calls handle(name) for every test case that matches the tags.
function(for_each_test tags handle)
    execute_process(COMMAND ${TEST_EXECUTABLE} ${tags} ${list_option}
                    OUTPUT_VARIABLE lines ERROR_VARIABLE errors RESULT_VARIABLE status)
    if(NOT status MATCHES "^[0-9]+$")
        message(FATAL_ERROR "${TEST_EXECUTABLE} cannot list its tests: ${status}\n${lines}${errors}")
    endif()
    string(FIND "${lines}" "\n" end)
    while(end GREATER -1)
        string(SUBSTRING "${lines}" 0 ${end} name)
        math(EXPR end "${end} + 1")
        string(SUBSTRING "${lines}" ${end} -1 lines)
        string(STRIP "${name}" name)
        if(NOT name STREQUAL "")
            cmake_language(CALL ${handle} "${name}")
        endif()
        string(FIND "${lines}" "\n" end)
    endwhile()
    set(script "${script}" PARENT_SCOPE)
endfunction()

macro(append text)
    string(APPEND script "${text}")
    set(script "${script}" PARENT_SCOPE)
endmacro()

function(add_case name)
    # On the command line these characters have a meaning in Catch's test specifications.
    string(REGEX REPLACE "([\\\\,[])" "\\\\\\1" pattern "${name}")
    append("add_test([==[${tier}/${name}]==] [==[${TEST_EXECUTABLE}]==] [==[${pattern}]==])
set_tests_properties([==[${tier}/${name}]==] PROPERTIES LABELS ${tier} TIMEOUT ${timeout}
    SKIP_REGULAR_EXPRESSION hokku-skip: ${properties})\n")
endfunction()

function(add_threads_label name)
    append("set_property(TEST [==[${tier}/${name}]==] APPEND PROPERTY LABELS threads)\n")
endfunction()

function(add_serial name)
    append("set_property(TEST [==[${tier}/${name}]==] PROPERTY RUN_SERIAL ON)\n")
endfunction()

set(script "")
foreach(tier quick slow model)
    set(timeout 900)
    set(properties "")
    if(tier STREQUAL quick)
        set(tags "[quick]~[model]")
        set(timeout 120)
    elseif(tier STREQUAL model)
        set(tags "[model]")
        set(properties "PROCESSORS 2")
    else()
        set(tags "~[quick]~[model]")
    endif()
    for_each_test("${tags}" add_case)
    for_each_test("${tags}[threads]" add_threads_label)
    for_each_test("${tags}[serial]" add_serial)
endforeach()
file(WRITE ${TEST_LIST} "${script}")
