# SPDX-License-Identifier: Apache-2.0
# Run after a test executable was linked: asks it for its test cases by tag and writes TEST_LIST,
# the file by which ctest knows them. Names are handled as text, never as CMake lists, for they may
# hold semicolons and brackets. EMULATOR, where given, runs the executables of another system.
# QUICK_TIMEOUT is in seconds.
cmake_minimum_required(VERSION 3.25)

if(CATCH_VERSION VERSION_GREATER_EQUAL 3.0)
    set(list_option --list-tests --verbosity quiet)
else()
    set(list_option --list-test-names-only)  # Exits with the number of tests.
endif()

set(emulator "")
if(EMULATOR)
    set(emulator "[==[${EMULATOR}]==]")
endif()

# The names of the test cases that match the tags, each between line ends.
function(list_cases tags result)
    execute_process(COMMAND ${EMULATOR} ${TEST_EXECUTABLE} ${tags} ${list_option}
                    OUTPUT_VARIABLE lines ERROR_VARIABLE errors RESULT_VARIABLE status)
    if(NOT status MATCHES "^[0-9]+$")
        message(FATAL_ERROR "${TEST_EXECUTABLE} cannot list its tests: ${status}\n${lines}${errors}")
    endif()
    string(REGEX REPLACE "[ \t\r]*\n[ \t\r]*" "\n" lines "\n${lines}")
    set(${result} "${lines}" PARENT_SCOPE)
endfunction()

# Is the case of this name in a list of list_cases?
function(has_case cases name result)
    string(FIND "${cases}" "\n${name}\n" place)
    if(place EQUAL -1)
        set(${result} OFF PARENT_SCOPE)
    else()
        set(${result} ON PARENT_SCOPE)
    endif()
endfunction()

# Adds every test case that matches the tags; its name begins with the tier, which is also its label.
# Without a ctest of earlier runs the costs order the tests: those that need every core come first,
# as they would starve behind others, then the slow ones, so that none of them ends alone.
function(add_cases tier tags properties cost)
    list_cases("${tags}" lines)
    string(FIND "${lines}" "\n" end)
    while(end GREATER -1)
        string(SUBSTRING "${lines}" 0 ${end} name)
        math(EXPR end "${end} + 1")
        string(SUBSTRING "${lines}" ${end} -1 lines)
        string(FIND "${lines}" "\n" end)
        if(name STREQUAL "")
            continue()
        endif()
        set(labels ${tier})
        set(more "COST ${cost}")
        has_case("${with_threads}" "${name}" is_in)
        if(is_in)
            list(APPEND labels threads)
        endif()
        has_case("${with_lanes}" "${name}" is_in)
        if(is_in)
            set(more "PROCESSORS ${NUM_LANES} COST 2")
        endif()
        has_case("${serial}" "${name}" is_in)
        if(is_in)
            string(APPEND more " RUN_SERIAL ON")
        endif()
        list(APPEND labels ${EXTRA_LABEL})
        # On the command line these characters have a meaning in Catch's test specifications.
        string(REGEX REPLACE "([\\,[])" "\\\\\\1" pattern "${name}")
        string(APPEND script "add_test([==[${tier}/${name}]==] ${emulator} [==[${TEST_EXECUTABLE}]==] "
               "[==[${pattern}]==])\nset_tests_properties([==[${tier}/${name}]==] PROPERTIES "
               "LABELS \"${labels}\" SKIP_REGULAR_EXPRESSION hokku-skip: ${properties} ${more})\n")
    endwhile()
    set(script "${script}" PARENT_SCOPE)
endfunction()

# [model] would take a test out of the quick tier without a word.
list_cases("[quick][model]" both)
if(NOT both MATCHES "^\n*$")
    message(FATAL_ERROR "${TEST_EXECUTABLE}: tests tagged both [quick] and [model]:${both}")
endif()

list_cases("[threads]" with_threads)
list_cases("[lanes]" with_lanes)
list_cases("[serial]" serial)
set(script "")
add_cases(quick "[quick]~[model]" "TIMEOUT ${QUICK_TIMEOUT}" 0)
add_cases(slow "~[quick]~[model]" "TIMEOUT 900" 1)
# A model uses every core.
add_cases(model "[model]" "TIMEOUT 900 RUN_SERIAL ON" 0)
file(WRITE ${TEST_LIST} "${script}")
