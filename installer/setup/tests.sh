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

# print_summary TIER..: one summary over the last runs of these tiers, in ctest's words.
print_summary() {
    local tier logs=()
    for tier in "$@"; do
        if [ -f "$HOKKU_ROOT/build/tests-$tier.log" ]; then
            logs+=("$HOKKU_ROOT/build/tests-$tier.log")
        fi
    done
    [ ${#logs[@]} -gt 0 ] || return 0
    echo
    # Failed tests by name, as ctest lists them, before the sums.
    awk '/^The following tests FAILED:/ { on = 1 } on && /^\t/ { print } on && /^$/ { on = 0 }' "${logs[@]}"
    awk '/tests passed, .* tests? failed out of/ { failed += $4; total += $NF }
         /^Total Test time/ { time += $(NF - 1) }
         END { printf "%d%% tests passed, %d tests failed out of %d\n\nTotal Test time (real) = %8.2f sec\n",
                      total ? int(100 * (total - failed) / total) : 0, failed, total, time }' "${logs[@]}"
}
