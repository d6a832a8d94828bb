# SPDX-License-Identifier: Apache-2.0
# Configures and builds one preset. Sourced after common.sh.

# build_preset PRESET "CMAKE OPTIONS" [TARGET..]: quiet when nothing has changed. One at a time for
# each preset: ./run and ./test share a folder.
build_preset() {
    local lock=$HOKKU_ROOT/build/$1.lock
    mkdir -p "$HOKKU_ROOT/build"
    # In a shell of its own, with which the lock goes.
    (
        exec 9>"$lock"
        if ! flock --nonblock 9; then
            say "Waiting for another build in build/$1 to end"
            flock 9
        fi
        build_unlocked "$@" 9>&-
    )
}

build_unlocked() {
    local preset=$1 options=$2
    shift 2
    local folder=$HOKKU_ROOT/build/$preset log=$HOKKU_ROOT/build/$preset-setup.log

    # A configured folder is left alone unless it was configured with other options.
    if [ ! -f "$folder/build.ninja" ] ||
        { [ -n "$options" ] && [ "$(cat "$folder/setup-options" 2>/dev/null)" != "$options" ]; }; then
        say "Configuring ($preset)"
        # shellcheck disable=SC2086  # options are words by design
        (cd "$HOKKU_ROOT" && cmake --preset "$preset" $options) >"$log" 2>&1 || {
            cat "$log" >&2
            die "configuring failed (the text above is in $log)"
        }
        echo "$options" >"$folder/setup-options"
    fi

    local build=(cmake --build "$folder" --parallel "$(num_jobs)")
    if [ $# -gt 0 ]; then build+=(--target "$@"); fi
    # -n: says what would be built, builds nothing.
    local plan notes=
    plan=$("${build[@]}" -- -n 2>/dev/null || true)
    if grep -a -q 'no work to do' <<<"$plan"; then return 0; fi
    if [ "$(grep -a -c '^\[' <<<"$plan")" -gt 50 ]; then notes="; this takes some minutes"; fi
    if [ ! -t 2 ]; then notes+=" (progress is in $log)"; fi
    say "Building ($preset)$notes"
    if [ -t 2 ]; then
        "${build[@]}" >&2 || die "the build failed"
    else
        "${build[@]}" >"$log" 2>&1 || {
            grep -a -v '^\[[0-9]*/[0-9]*\] [A-Z]' "$log" | tail -n 200 >&2
            die "the build failed (all of it is in $log)"
        }
    fi
}
