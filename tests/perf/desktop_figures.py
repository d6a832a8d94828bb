# SPDX-License-Identifier: Apache-2.0
"""Prints how quick the desktop app is: start, idling, long replies, long conversations.

Runs the app on a screen of its own (Xvfb), in a folder of its own. Called by ./bench ui.
"""

import argparse
import ctypes
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

IDLE_SECONDS = 20
SETTLE_SECONDS = 5
STARTS = 7


class Screen:
    """An X server without a screen to look at."""

    def __enter__(self):
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", "1", "-nolisten", "tcp", "-screen", "0", "1280x900x24"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.display = ":" + self.server.stdout.readline().strip()
        return self

    def __exit__(self, *_):
        self.server.terminate()
        self.server.wait()


def give_focus(display):
    """To the largest window, as a window manager does: its caret blinks from then on."""
    x11 = ctypes.CDLL("libX11.so.6")
    x11.XOpenDisplay.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(x11.XOpenDisplay(display.encode()))
    x11.XDefaultRootWindow.restype = ctypes.c_ulong
    unused = ctypes.c_ulong()
    children = ctypes.POINTER(ctypes.c_ulong)()
    count = ctypes.c_uint()
    x11.XQueryTree(connection, ctypes.c_ulong(x11.XDefaultRootWindow(connection)),
                   ctypes.byref(unused), ctypes.byref(unused), ctypes.byref(children),
                   ctypes.byref(count))

    def area(window):
        x, y, width, height, border, depth = (ctypes.c_uint() for _ in range(6))
        x11.XGetGeometry(connection, ctypes.c_ulong(window), ctypes.byref(unused),
                         *map(ctypes.byref, (x, y, width, height, border, depth)))
        return width.value * height.value

    largest = max((children[i] for i in range(count.value)), key=area)
    revert_to_parent, now = 2, 0
    x11.XSetInputFocus(connection, ctypes.c_ulong(largest), revert_to_parent, ctypes.c_ulong(now))
    x11.XSync(connection, 0)
    return connection  # open: a server without clients begins anew


def environment(home, screen):
    return dict(os.environ, HOKKU_HOME=str(home), DISPLAY=screen.display, QT_QPA_PLATFORM="xcb")


def start_times(app, home, screen):
    """Milliseconds from the start of the process to the window, and to the loaded model."""
    run = subprocess.run([app, "--selftest"], env=environment(home, screen), text=True,
                         capture_output=True, check=False)
    found = re.search(r"window after (\d+) ms, model after (\d+) ms", run.stderr)
    if run.returncode != 0 or not found:
        raise SystemExit("the self test of the app failed:\n" + run.stderr)
    return int(found[1]), int(found[2])


def may_drop_caches():
    try:
        os.sync()
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3\n")
        return True
    except OSError:
        return False


def processor_seconds(pid):
    """Of all threads, to the nanosecond."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def idle_share(app, home, screen, model):
    """The share of one processor that the app uses when nobody does anything."""
    process = subprocess.Popen([app], env=environment(home, screen), stderr=subprocess.DEVNULL)
    try:
        maps = pathlib.Path(f"/proc/{process.pid}/maps")
        until = time.monotonic() + 60
        while model.name not in maps.read_text():
            if time.monotonic() > until:
                raise SystemExit("the app did not load the model")
            time.sleep(0.1)
        connection = give_focus(screen.display)
        time.sleep(SETTLE_SECONDS)
        before = processor_seconds(process.pid)
        time.sleep(IDLE_SECONDS)
        used = processor_seconds(process.pid) - before
        ctypes.CDLL("libX11.so.6").XCloseDisplay(connection)
        return used / IDLE_SECONDS
    finally:
        process.terminate()
        process.wait()


def print_starts(name, times):
    windows, models = zip(*times)
    print(f"{name:<28} window {statistics.median(windows):5.0f} ms (most {max(windows)}), "
          f"model loaded {statistics.median(models):5.0f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    parser.add_argument("--model", type=pathlib.Path, required=True, help="the starter model")
    parser.add_argument("--all", action="store_true", help="every kind of long text")
    options = parser.parse_args()
    app = str(options.bin / "hokku-desktop")
    with tempfile.TemporaryDirectory() as folder, Screen() as screen:
        home = pathlib.Path(folder)
        (home / "models").mkdir()
        (home / "models" / options.model.name).symlink_to(options.model.resolve())
        start_times(app, home, screen)
        print_starts("start", [start_times(app, home, screen) for _ in range(STARTS)])
        if may_drop_caches():
            cold = []
            for _ in range(3):
                may_drop_caches()
                cold.append(start_times(app, home, screen))
            print_starts("start, nothing in the cache", cold)
        share = idle_share(app, home, screen, options.model)
        print(f"{'idle, model loaded, focus':<28} {100 * share:.3f} % of a processor "
              f"over {IDLE_SECONDS} s", flush=True)
        view = [str(options.bin / "chat_view_bench")]
        if options.all:
            view += ["50000", "all"]
        subprocess.run(view, env=environment(home, screen), check=True)


if __name__ == "__main__":
    main()
