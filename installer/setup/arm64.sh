# SPDX-License-Identifier: Apache-2.0
# The libraries that a build for 64-bit ARM links, unpacked once from the system's own packages for
# it into the user's cache folder. Sourced after common.sh and packages.sh.

# As cmake/arm64.cmake has it.
arm64_libraries() { echo "${XDG_CACHE_HOME:-$HOME/.cache}/hokku/arm64"; }

# ensure_arm64_libraries: fetches them unless they are there as this recipe fetches them.
ensure_arm64_libraries() {
    local folder log=$HOKKU_ROOT/build/arm64-libraries.log made_by
    folder=$(arm64_libraries)
    made_by=$(sha256sum <"$HOKKU_ROOT/installer/arm64/fetch-libraries")
    mkdir -p "$HOKKU_ROOT/build" "$(dirname "$folder")"
    exec 8>"$folder.lock"  # Two checkouts may be tested at once.
    flock 8
    if [ "$(cat "$folder/made-by" 2>/dev/null)" != "$made_by" ]; then
        say "Fetching the libraries for 64-bit ARM from the system's packages"
        rm -rf "$folder" "$folder.new"
        "$HOKKU_ROOT/installer/arm64/fetch-libraries" "$folder.new" >"$log" 2>&1 || {
            tail -n 40 "$log" >&2
            die "the libraries for 64-bit ARM cannot be fetched (all of it is in $log)"
        }
        echo "$made_by" >"$folder.new/made-by"
        mv "$folder.new" "$folder"
    fi
    exec 8>&-
}
