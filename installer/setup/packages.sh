# SPDX-License-Identifier: Apache-2.0
# Finds and installs the Debian and Ubuntu packages that a purpose needs. Sourced after common.sh.

# Lines "what it is told by" + "package": a command (cmd:), a Python module (py:) or, for libraries,
# the package itself (pkg:).
packages_for() {
    case $1 in
        build)
            echo "cmd:g++ g++
cmd:cmake cmake
cmd:ninja ninja-build
cmd:ccache ccache
pkg:libc6-dev libc6-dev
pkg:libfmt-dev libfmt-dev
pkg:libsentencepiece-dev libsentencepiece-dev
pkg:libpcre2-dev libpcre2-dev
pkg:libutf8proc-dev libutf8proc-dev
pkg:nlohmann-json3-dev nlohmann-json3-dev
pkg:libcli11-dev libcli11-dev"
            ;;
        desktop)
            echo "pkg:qt6-base-dev qt6-base-dev
pkg:qt6-svg-dev qt6-svg-dev
pkg:qt6-l10n-tools qt6-l10n-tools
pkg:libqt6sql6-sqlite libqt6sql6-sqlite
pkg:libmd4c-dev libmd4c-dev
pkg:fonts-dejavu-core fonts-dejavu-core"
            ;;
        fetch)
            echo "cmd:python3 python3
py:pip python3-pip
pkg:ca-certificates ca-certificates"
            ;;
        test)
            echo "pkg:catch2 catch2
cmd:python3 python3
pkg:python3-jsonschema python3-jsonschema
cmd:setarch util-linux
cmd:strace strace"
            ;;
        # A screen, and what a screen reader talks to the app by.
        screen)
            echo "cmd:Xvfb xvfb
cmd:dbus-run-session dbus
pkg:at-spi2-core at-spi2-core
pkg:python3-pyatspi python3-pyatspi"
            ;;
        # What the desktop files are checked with, and a package made of a build.
        check)
            echo "cmd:desktop-file-validate desktop-file-utils
cmd:appstreamcli appstream
cmd:update-mime-database shared-mime-info
cmd:xmllint libxml2-utils
cmd:lintian lintian
cmd:dpkg-shlibdeps dpkg-dev
cmd:file file"
            ;;
        package)
            echo "cmd:dpkg-shlibdeps dpkg-dev
cmd:file file
cmd:patchelf patchelf
pkg:qt6-wayland qt6-wayland"
            ;;
        # Fresh systems to try packages in, and a display for them.
        roots)
            echo "cmd:debootstrap debootstrap
cmd:Xvfb xvfb
cmd:weston weston
cmd:unshare util-linux"
            ;;
        windows)
            echo "cmd:x86_64-w64-mingw32-g++-posix g++-mingw-w64-x86-64-posix
cmd:dpkg-source dpkg-dev
cmd:xz xz-utils
cmd:patch patch"
            ;;
        wine)
            echo "pkg:wine wine
pkg:wine64 wine64"
            ;;
        arm64)
            echo "cmd:aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
cmd:dpkg-deb dpkg"
            ;;
        qemu) echo "cmd:qemu-aarch64-static qemu-user-static" ;;
        format) echo "cmd:clang-format-14 clang-format-14" ;;
        fuzz)
            echo "cmd:clang++-14 clang-14
pkg:libclang-rt-14-dev libclang-rt-14-dev
cmd:llvm-symbolizer-14 llvm-14"
            ;;
        *) die "no such group of packages: $1" ;;
    esac
}

is_there() {
    case $1 in
        cmd:*) command -v "${1#cmd:}" >/dev/null ;;
        py:*) [ -n "$(python_with_pip)" ] ;;
        pkg:*) dpkg-query -W -f '${Status}' "${1#pkg:}" 2>/dev/null | grep -q '^install ok' ;;
    esac
}

# Whether the system can install this package, as far as its lists know (none at all: perhaps).
has_package() {
    ! command -v apt-cache >/dev/null || [ -z "$(apt-cache pkgnames libc6)" ] ||
        [ -n "$(apt-cache search --names-only "^$1\$")" ]
}

# A Python 3 that can run pip: the one on the path, else the system's.
python_with_pip() {
    local candidate
    for candidate in python3 /usr/bin/python3; do
        if "$candidate" -m pip --version >/dev/null 2>&1; then
            echo "$candidate"
            return
        fi
    done
}

# ensure_packages GROUP..: installs what is missing, after saying what. Silent if nothing is.
ensure_packages() {
    local group test package missing=()
    for group in "$@"; do
        while read -r test package; do
            if ! command -v dpkg-query >/dev/null && [ "${test%%:*}" = pkg ]; then
                continue  # Another system: CMake will name the library that it does not find.
            fi
            if ! is_there "$test" && [[ " ${missing[*]} " != *" $package "* ]]; then
                missing+=("$package")
            fi
        done < <(packages_for "$group")
    done
    [ ${#missing[@]} -gt 0 ] || return 0

    command -v apt-get >/dev/null ||
        die "this is not Debian or Ubuntu; please install what these packages hold: ${missing[*]}"
    say "Installing ${#missing[@]} missing system packages: ${missing[*]}"
    local install=(env DEBIAN_FRONTEND=noninteractive
        apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}")
    # The lists of available packages may be absent or too old: refresh them then, not always.
    if ! as_root "${install[@]}" >/dev/null 2>&1; then
        say "Refreshing the list of available packages"
        as_root apt-get update -qq >&2 || say "apt-get update reported a problem; trying anyway"
        as_root "${install[@]}" >&2 || die "could not install: ${missing[*]}"
    fi
}
