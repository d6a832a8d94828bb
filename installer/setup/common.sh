# SPDX-License-Identifier: Apache-2.0
# Shared by every step: where the checkout is, how to say something, how to become root.
# Sourced, never run. Everything is said on stderr, so that stdout stays free for results.

HOKKU_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Plain text where nobody watches.
if [ ! -t 2 ]; then
    say() { printf '==> %s\n' "$*" >&2; }
fi

# as_root COMMAND..: runs it as root, through sudo only if need be.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif ! command -v sudo >/dev/null; then
        die "this needs root and there is no sudo; as root, run: $*"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

# The number of things to do at once.
num_jobs() { echo "${HOKKU_JOBS:-$(nproc 2>/dev/null || echo 2)}"; }

# The user's data folder and the cache of test downloads.
data_dir() { echo "${HOKKU_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/hokku}"; }

# Path of nvcc; fails where there is none.
find_nvcc() { command -v nvcc || { [ -x /usr/local/cuda/bin/nvcc ] && echo /usr/local/cuda/bin/nvcc; }; }
