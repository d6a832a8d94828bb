# SPDX-License-Identifier: Apache-2.0
# Runs ctest on a built preset, deals with skipped tests and sums up. Sourced after common.sh.

# skipped_tests PRESET: "name: reason" for each test of the last run that skipped itself.
skipped_tests() {
    awk '/^[0-9]+\/[0-9]+ Test: / { sub(/^[0-9]+\/[0-9]+ Test: /, ""); name = $0 }
         /^hokku-skip: / { sub(/^hokku-skip: /, ""); print "  " name ": " $0 }' \
        "$HOKKU_ROOT/build/$1/Testing/Temporary/LastTest.log" 2>/dev/null | sort -u
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
        --output-on-failure --no-tests=error "$@" </dev/null 2>&1 | tee "$log" || status=1
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
