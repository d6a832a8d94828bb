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
PATIENCE_SECONDS = 60
STARTS = 7
IDLE_ROUNDS = 3


class Screen:
    """An X server without a screen to look at."""

    def __enter__(self):
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", "1", "-nolisten", "tcp", "-screen", "0", "1280x900x24"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.display = ":" + self.server.stdout.readline().strip()
        return self

    def __exit__(self, *_):
        end(self.server)


class Focus:
    """Given to the largest window, as a window manager does: its caret blinks from then on.

    Windows that are not shown yet, or gone already, are errors to X; Xlib's own handler would end
    this process and leave the app behind.
    """

    def __init__(self, display):
        self.x11 = ctypes.CDLL("libX11.so.6")
        self.x11.XOpenDisplay.restype = ctypes.c_void_p
        self.x11.XDefaultRootWindow.restype = ctypes.c_ulong
        handler = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self.ignore_errors = handler(lambda connection, error: 0)  # kept: Xlib holds no reference
        self.x11.XSetErrorHandler(self.ignore_errors)
        # Open as long as it is needed: a server without clients begins anew.
        self.connection = ctypes.c_void_p(self.x11.XOpenDisplay(display.encode()))
        if not self.connection:
            raise SystemExit("there is no X server at " + display)

    def windows(self):
        unused = ctypes.c_ulong()
        children = ctypes.POINTER(ctypes.c_ulong)()
        count = ctypes.c_uint()
        self.x11.XQueryTree(
            self.connection, ctypes.c_ulong(self.x11.XDefaultRootWindow(self.connection)),
            ctypes.byref(unused), ctypes.byref(unused), ctypes.byref(children),
            ctypes.byref(count))
        return [children[i] for i in range(count.value)]

    def area(self, window):
        unused = ctypes.c_ulong()
        x, y, width, height, border, depth = (ctypes.c_uint() for _ in range(6))
        self.x11.XGetGeometry(self.connection, ctypes.c_ulong(window), ctypes.byref(unused),
                              *map(ctypes.byref, (x, y, width, height, border, depth)))
        return width.value * height.value

    def owner(self):
        window, revert = ctypes.c_ulong(), ctypes.c_int()
        self.x11.XGetInputFocus(self.connection, ctypes.byref(window), ctypes.byref(revert))
        return window.value

    def give(self):
        """Whether the largest window has it now."""
        largest = max(self.windows(), key=self.area, default=None)
        if largest is None:
            return False
        revert_to_parent, now = 2, 0
        self.x11.XSetInputFocus(self.connection, ctypes.c_ulong(largest), revert_to_parent,
                                ctypes.c_ulong(now))
        self.x11.XSync(self.connection, 0)
        return self.owner() == largest

    def close(self):
        self.x11.XCloseDisplay(self.connection)


def environment(home, screen):
    return dict(os.environ, HOKKU_HOME=str(home), DISPLAY=screen.display, QT_QPA_PLATFORM="xcb")


def start_times(app, home, screen):
    """Milliseconds from the start of the process to the window, and to the loaded model."""
    run = subprocess.run([app, "--selftest"], env=environment(home, screen), text=True,
                         capture_output=True, check=False, timeout=PATIENCE_SECONDS)
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


def wait_for(what, is_there):
    until = time.monotonic() + PATIENCE_SECONDS
    while not is_there():
        if time.monotonic() > until:
            raise SystemExit(f"waited {PATIENCE_SECONDS} s in vain: {what}")
        time.sleep(0.1)


def end(process):
    process.terminate()
    try:
        process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def idle_share(app, home, screen, model):
    """The share of one processor that the app uses when nobody does anything."""
    # What it says is not ours: whoever reads our output would wait for an app that stayed behind.
    process = subprocess.Popen([app], env=environment(home, screen), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        focus = Focus(screen.display)
        maps = pathlib.Path(f"/proc/{process.pid}/maps")
        wait_for("the app loads the model", lambda: model.resolve().name in maps.read_text())
        wait_for("the window takes the focus", focus.give)
        time.sleep(SETTLE_SECONDS)
        before = processor_seconds(process.pid)
        time.sleep(IDLE_SECONDS)
        used = processor_seconds(process.pid) - before
        if process.poll() is not None:
            raise SystemExit("the app ended while it was watched")
        focus.close()
        return used / IDLE_SECONDS
    finally:
        end(process)


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
        shares = [idle_share(app, home, screen, options.model) for _ in range(IDLE_ROUNDS)]
        print(f"{'idle, model loaded, focus':<28} {100 * min(shares):.3f} % of a processor "
              f"(best of {IDLE_ROUNDS}, most {100 * max(shares):.3f}) over {IDLE_SECONDS} s",
              flush=True)
        view = [str(options.bin / "chat_view_bench")]
        if options.all:
            view += ["50000", "all"]
        subprocess.run(view, env=environment(home, screen), check=True)


if __name__ == "__main__":
    main()
