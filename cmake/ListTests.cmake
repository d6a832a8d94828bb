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

# Adds every test case that matches the tags, with these ctest labels and further properties.
# EXTRA_LABEL, if given, is a label of all of them.
function(add_cases tags labels properties)
    execute_process(COMMAND ${EMULATOR} ${TEST_EXECUTABLE} ${tags} ${list_option}
                    OUTPUT_VARIABLE lines ERROR_VARIABLE errors RESULT_VARIABLE status)
    if(NOT status MATCHES "^[0-9]+$")
        message(FATAL_ERROR "${TEST_EXECUTABLE} cannot list its tests: ${status}\n${lines}${errors}")
    endif()
    list(GET labels 0 tier)
    list(APPEND labels ${EXTRA_LABEL})
    string(FIND "${lines}" "\n" end)
    while(end GREATER -1)
        string(SUBSTRING "${lines}" 0 ${end} name)
        math(EXPR end "${end} + 1")
        string(SUBSTRING "${lines}" ${end} -1 lines)
        string(FIND "${lines}" "\n" end)
        string(STRIP "${name}" name)
        if(name STREQUAL "")
            continue()
        endif()
        # On the command line these characters have a meaning in Catch's test specifications.
        string(REGEX REPLACE "([\\,[])" "\\\\\\1" pattern "${name}")
        string(APPEND script "add_test([==[${tier}/${name}]==] ${emulator} [==[${TEST_EXECUTABLE}]==] "
               "[==[${pattern}]==])\nset_tests_properties([==[${tier}/${name}]==] PROPERTIES "
               "LABELS \"${labels}\" SKIP_REGULAR_EXPRESSION hokku-skip: ${properties})\n")
    endwhile()
    set(script "${script}" PARENT_SCOPE)
endfunction()

# [model] would take a test out of the quick tier without a word.
set(script "")
add_cases("[quick][model]" both "")
if(NOT script STREQUAL "")
    message(FATAL_ERROR "${TEST_EXECUTABLE}: tests tagged both [quick] and [model]:\n${script}")
endif()

set(script "")
foreach(tier quick slow model)
    set(properties TIMEOUT 900)
    if(tier STREQUAL quick)
        set(tags "[quick]~[model]")
        set(properties TIMEOUT ${QUICK_TIMEOUT})
    elseif(tier STREQUAL model)
        set(tags "[model]")
        list(APPEND properties RUN_SERIAL ON)  # A model uses every core.
    else()
        set(tags "~[quick]~[model]")
    endif()
    list(JOIN properties " " properties)
    add_cases("${tags}~[threads]~[serial]" ${tier} "${properties}")
    add_cases("${tags}[threads]~[serial]" "${tier};threads" "${properties}")
    add_cases("${tags}~[threads][serial]" ${tier} "${properties} RUN_SERIAL ON")
    add_cases("${tags}[threads][serial]" "${tier};threads" "${properties} RUN_SERIAL ON")
endforeach()
file(WRITE ${TEST_LIST} "${script}")
