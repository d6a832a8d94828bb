# SPDX-License-Identifier: Apache-2.0
# Runs ctest on a built preset, deals with skipped tests and sums up. Sourced after common.sh.

# skipped_tests PRESET: "name: reason" for each test of the last run that skipped itself.
skipped_tests() {
    awk '/^[0-9]+\/[0-9]+ Test: / { sub(/^[0-9]+\/[0-9]+ Test: /, ""); name = $0 }
         /^hokku-skip: / { sub(/^hokku-skip: /, ""); print "  " name ": " $0 }' \
        "$HOKKU_ROOT/build/$1/Testing/Temporary/LastTest.log" 2>/dev/null | sort -u
}

# lean_progress LOG: keeps the whole of what ctest says in LOG and passes on what matters: failures
# with their output, slow tests, and how far it is.
lean_progress() {
    local log=$1 line step=0 is_told=0
    local result='^ *([0-9]+)/([0-9]+) Test +#[0-9]+: (.*[^ .]) ?[ .]*(Passed|\*\*\*.*[^ ]) +([0-9]+)\.[0-9]+ sec'
    while IFS= read -r line || [ -n "$line" ]; do
        printf '%s\n' "$line" >&3
        if [[ $line =~ $result ]]; then
            is_told=0
            if [ -t 1 ]; then
                printf '\r%s of %s tests\033[K' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
            elif [ $((10 * BASH_REMATCH[1] / BASH_REMATCH[2])) -gt $step ]; then
                step=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
                echo "${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} tests"
            fi
            case ${BASH_REMATCH[4]} in
                Passed) [ "${BASH_REMATCH[5]}" -lt 20 ] || is_told=2 ;;
                *Skipped*) ;;  # listed at the end, with the reasons
                *) is_told=1 ;;
            esac
            if [ $is_told -gt 0 ] && [ -t 1 ]; then echo; fi
            if [ $is_told -gt 0 ]; then printf '%s\n' "$line"; fi
        elif [[ $line =~ ^\ *Start\ +[0-9]+:\  ]]; then
            is_told=0
        elif [[ $line =~ ^[0-9]+%\ tests\ passed, ]]; then
            cat >&3  # the sums are told once, by print_summary
        elif [ $is_told -eq 1 ] || [[ $line =~ (Error|No\ tests\ were\ found) ]]; then
            printf '%s\n' "$line"
        fi
    done 3>"$log"
    if [ -t 1 ]; then echo; fi
}

# run_tests TIER PRESET [CTEST OPTION..]: 0 if all passed and no test was skipped that may not be.
# With the reference data beside the checkout (../shared), only missing hardware excuses a skip.
run_tests() {
    local tier=$1 preset=$2 status=0 log skipped excused=
    shift 2
    log=$HOKKU_ROOT/build/tests-$tier.log
    rm -f "$log"
    say "Testing ($tier)"
    # tsan's memory layout needs address randomisation off on kernels with many random bits.
    local wrapper=()
    if [ "$preset" = tsan ] && setarch "$(uname -m)" -R true 2>/dev/null; then
        wrapper=(setarch "$(uname -m)" -R)
    fi
    "${wrapper[@]}" ctest --test-dir "$HOKKU_ROOT/build/$preset" --parallel "$(num_jobs)" \
        --output-on-failure --no-tests=error "$@" </dev/null 2>&1 | lean_progress "$log" || status=1
    skipped=$(skipped_tests "$preset")
    if [ -n "$skipped" ]; then
        printf '\nSkipped, and why:\n%s\n' "$skipped"
        excused=$(grep -c ': hardware: ' <<<"$skipped" || true)
        if [ -d "$HOKKU_ROOT/../shared/golden" ] && [ "$(wc -l <<<"$skipped")" -ne "$excused" ]; then
            echo "error: the reference data is there, so only missing hardware may skip a test"
            status=1
        fi
    fi
    return $status
}

# print_summary TIER..: one summary over the last runs of these tiers, in ctest's words. A tier
# that failed otherwise than by its tests, such as in its build, counts as one failed test; which
# tiers failed is said by the array `failed`, where the caller has one.
print_summary() {
    local tier log logs=() num_other=0 is_other
    echo
    for tier in "$@"; do
        log=$HOKKU_ROOT/build/tests-$tier.log
        is_other=0
        if grep -q 'tests passed, .* failed out of' "$log" 2>/dev/null; then
            logs+=("$log")
            if [[ " ${failed[*]-} " = *" $tier "* ]] && grep -q ', 0 tests failed' "$log"; then
                is_other=1
            fi
        else
            is_other=1
        fi
        if [ $is_other -eq 1 ]; then
            echo "error: the tier $tier failed otherwise than by a test; this counts as one"
            num_other=$((num_other + 1))
        fi
    done
    # Failed tests by name, as ctest lists them, before the sums.
    awk '/^The following tests FAILED:/ { on = 1 } on && /^\t/ { print } on && /^$/ { on = 0 }' \
        /dev/null "${logs[@]}"
    awk -v failed="$num_other" -v total="$num_other" '
         /tests passed, .* tests? failed out of/ { failed += $4; total += $NF }
         /^Total Test time/ { time += $(NF - 1) }
         END { printf "%d%% tests passed, %d tests failed out of %d\n\nTotal Test time (real) = %8.2f sec\n",
                      total ? int(100 * (total - failed) / total) : 0, failed, total, time }' \
        /dev/null "${logs[@]}"
}
