# SPDX-License-Identifier: Apache-2.0
# The libraries that a build for Windows links, built once from the system's own source packages
# into the user's cache folder. Sourced after common.sh and packages.sh.

# As installer/windows/mingw64.cmake has it.
windows_libraries() { echo "${XDG_CACHE_HOME:-$HOME/.cache}/hokku/windows"; }

# ensure_windows_libraries: builds them unless they are there as this recipe and compiler
# make them.
ensure_windows_libraries() {
    local folder log=$HOKKU_ROOT/build/windows-libraries.log made_by
    folder=$(windows_libraries)
    made_by=$(x86_64-w64-mingw32-g++-posix -dumpfullversion &&
        cat "$HOKKU_ROOT"/installer/windows/{build-libraries,mingw64.cmake} | sha256sum)
    mkdir -p "$HOKKU_ROOT/build" "$(dirname "$folder")"
    exec 8>"$folder.lock"  # Two checkouts may be tested at once.
    flock 8
    if [ "$(cat "$folder/made-by" 2>/dev/null)" != "$made_by" ]; then
        say "Building the libraries for Windows from the system's source packages"
        rm -rf "$folder" "$folder.new"
        "$HOKKU_ROOT/installer/windows/build-libraries" "$folder.new" >"$log" 2>&1 || {
            tail -n 40 "$log" >&2
            die "the libraries for Windows cannot be built (all of it is in $log)"
        }
        echo "$made_by" >"$folder.new/made-by"
        mv "$folder.new" "$folder"
    fi
    exec 8>&-
}
