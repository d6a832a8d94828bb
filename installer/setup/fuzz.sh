# SPDX-License-Identifier: Apache-2.0
# Runs the built fuzz targets and sums up. Sourced after common.sh and build.sh.

# What a search starts from is tests/fuzz/corpus and seeds made by code; what it adds stays in
# build/fuzz/corpus, and inputs that break something are written to build/fuzz/findings.
fuzz_folder=$HOKKU_ROOT/build/fuzz

# longest_input TARGET: in bytes; longer ones only make a search slower.
longest_input() {
    case $1 in
        gguf) echo 16384 ;;
        kv_file) echo 8192 ;;
        regex) echo 512 ;;
        *) echo 4096 ;;
    esac
}

# Where a target that needs a file on the disk writes it, thousands of times.
fast_folder() { if [ -w /dev/shm ]; then echo /dev/shm; else echo "${TMPDIR:-/tmp}"; fi; }

# fuzz_once TARGET SECONDS: appends to the target's log; 0 if it found nothing.
fuzz_once() {
    local target=$1 seconds=$2 folder options=()
    local tests=$HOKKU_ROOT/tests/fuzz
    for folder in "$tests/corpus/$target" "$fuzz_folder/seeds/$target"; do
        if [ -d "$folder" ]; then options+=("$folder"); fi
    done
    if [ -f "$tests/dictionaries/$target" ]; then
        options+=("-dict=$tests/dictionaries/$target")
    fi
    "$fuzz_folder/bin/fuzz_$target" "$fuzz_folder/corpus/$target" "${options[@]}" \
        -seed=1 -max_total_time="$seconds" -max_len="$(longest_input "$target")" \
        -timeout=20 -report_slow_units=20 -rss_limit_mb=1024 -malloc_limit_mb=256 \
        -print_final_stats=1 \
        -artifact_prefix="$fuzz_folder/findings/$target-" >>"$fuzz_folder/$target.log" 2>&1
}

# fuzz_target TARGET SECONDS: 0 if it found nothing. Ends with the first finding. What took too long
# is tried again, for the machine may have slept.
fuzz_target() {
    local target=$1 end=$((SECONDS + $2)) slow
    mkdir -p "$fuzz_folder/corpus/$target" "$fuzz_folder/findings"
    : >"$fuzz_folder/$target.log"
    while ! fuzz_once "$target" $((end - SECONDS)); do
        slow=$(sed -n 's/.*Test unit written to \(.*timeout-.*\)/\1/p' \
            "$fuzz_folder/$target.log" | tail -n 1)
        if [ ! -f "$slow" ] ||
            ! "$fuzz_folder/bin/fuzz_$target" -timeout=20 "$slow" >/dev/null 2>&1; then
            return 1
        fi
        echo "not slow after all: $slow" >>"$fuzz_folder/$target.log"
        rm "$slow"
        if [ $((end - SECONDS)) -lt 1 ]; then break; fi
    done
}

# fuzz_row TARGET: the line of the table, from the log.
fuzz_row() {
    local log=$fuzz_folder/$1.log
    awk -v target="$1" '
        /^#[0-9]+\t/ { for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1) }
        /^stat::number_of_executed_units:/ { runs += $NF }
        /Test unit written to / { findings++; file = $NF }
        /^not slow after all: / { findings--; file = "" }
        END { printf "%-12s %12d %9d %9d  %s\n", target, runs, cov, findings, file }' "$log"
}

# run_fuzz SECONDS TARGET..: each for that time, one after the other; 0 if nothing was found.
run_fuzz() {
    local seconds=$1 target status=0
    shift
    export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
    ASAN_SYMBOLIZER_PATH=$(command -v llvm-symbolizer-14)
    TMPDIR=$(fast_folder)
    export ASAN_SYMBOLIZER_PATH TMPDIR
    "$fuzz_folder/bin/fuzz_seeds" "$fuzz_folder/seeds" || die "the seeds cannot be written"
    for target in "$@"; do
        say "Fuzzing $target for $seconds s"
        if ! fuzz_target "$target" "$seconds"; then
            status=1
            tail -n 40 "$fuzz_folder/$target.log" >&2
        fi
    done
    printf '\n%-12s %12s %9s %9s\n' target executions edges findings
    for target in "$@"; do fuzz_row "$target"; done
    return $status
}
