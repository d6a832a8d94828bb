# SPDX-License-Identifier: Apache-2.0
# Fresh Debian 12 systems in folders, to try packages in. Sourced after common.sh by a script, which
# is started again as root where it is not. Nothing is ever mounted where another process sees it:
# what a system needs mounted is mounted in a namespace that ends with the command that runs there.
# So a folder can always be deleted whole.

if [ "$(id -u)" -ne 0 ]; then
    as_root bash "$0" "$@"
    exit
fi
roots_folder=$HOKKU_ROOT/build/package-roots
debian=bookworm

# apt_sources: "ADDRESS RELEASE COMPONENT" of each place that this system's apt gets Debian 12 from.
apt_sources() {
    # shellcheck disable=SC2016  # the fields are apt's
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(ARCHITECTURE)' \
        'Created-By: Packages' |
        awk -v debian=$debian -v here="$(dpkg --print-architecture)" \
            '$4 == here && $3 == "main" && ($2 == debian || index($2, debian "-") == 1) \
             { print $1, $2, $3 }' | sort -u
}

# in_root ROOT COMMAND..: runs a command in it as root.
in_root() {
    local root=$1
    shift
    unshare --mount --propagation private --pid --fork --kill-child bash -c '
        mount -t proc proc "$1/proc" && shift_from=$1 && shift && exec chroot "$shift_from" "$@"' \
        bash "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}

# start_in_root ROOT DISPLAY COMMAND..: as a user without rights there, without any network, with a
# display of its own: an X server (x11) or a Wayland compositor (wayland).
start_in_root() {
    local root=$1 display=$2
    shift 2
    unshare --mount --propagation private --net --pid --fork --kill-child \
        bash "$HOKKU_ROOT/tests/packages/start-with-display" "$root" "$display" "$@" </dev/null
}

remove_root() {
    if [ -e "$1" ]; then rm -rf --one-file-system "$1"; fi
}

# make_base_root: the smallest Debian 12, made once, in the archive $roots_folder/base.tar.
make_base_root() {
    local address release component folder=$roots_folder/base log=$roots_folder/base.log
    [ ! -f "$roots_folder/base.tar" ] || return 0
    mkdir -p "$roots_folder"
    remove_root "$folder"
    read -r address release component < <(apt_sources | awk -v debian=$debian '$2 == debian')
    [ -n "${address:-}" ] || die "apt knows no place to get Debian 12 ($debian) from"
    say "Making a fresh Debian 12 (once)"
    # In a namespace of its own, since it mounts within the folder and need not take that back.
    unshare --mount --propagation private \
        debootstrap --variant=minbase "$release" "$folder" "$address" >"$log" 2>&1 ||
        { tail -n 30 "$log" >&2 && die "debootstrap failed (all of it is in $log)"; }
    apt_sources | sed 's/^/deb /' >"$folder/etc/apt/sources.list"
    apt-config dump | grep -E '^Acquire::(http|https|Check)' >"$folder/etc/apt/apt.conf.d/99host" ||
        true
    cat >"$folder/etc/apt/apt.conf.d/99lean" <<'END'
APT::Install-Recommends "false";
Acquire::Languages "none";
END
    cp -L /etc/resolv.conf /etc/hosts "$folder/etc/"
    printf '#!/bin/sh\nexit 101\n' >"$folder/usr/sbin/policy-rc.d"  # No services here.
    chmod +x "$folder/usr/sbin/policy-rc.d"
    in_root "$folder" useradd --create-home --uid 1000 user
    in_root "$folder" apt-get -qq update
    tar -C "$folder" --one-file-system -cf "$roots_folder/base.tar.new" .
    mv "$roots_folder/base.tar.new" "$roots_folder/base.tar"
    remove_root "$folder"
}

# make_root NAME: sets root to the folder of a fresh system, which goes when the script ends.
make_root() {
    make_base_root
    root=$roots_folder/$1
    remove_root "$root"
    mkdir -p "$root"
    trap 'remove_root "$root"' EXIT
    tar -C "$root" -xf "$roots_folder/base.tar"
    in_root "$root" apt-get -qq update
}

# install_in_root PACKAGE..: by its apt, without recommended packages.
install_in_root() {
    local log=$roots_folder/apt.log
    in_root "$root" apt-get install -y -qq -o Dpkg::Use-Pty=0 "$@" >"$log" 2>&1 ||
        { tail -n 30 "$log" >&2 && die "apt cannot install $*"; }
}

# check_programs DESKTOP COMMAND_LINE: that both work in $root, with the model that came along.
check_programs() {
    local desktop=$1 command_line=$2 text
    say "Starting the desktop app"
    start_in_root "$root" x11 "$desktop" --selftest
    say "Starting the command line"
    text=$(start_in_root "$root" none "$command_line" run -p "Write a haiku about autumn rain." --seed 5)
    [ -n "$text" ] || die "hokku run wrote nothing"
    echo "$text"
}
