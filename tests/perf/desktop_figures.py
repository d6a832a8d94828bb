# SPDX-License-Identifier: Apache-2.0
"""Prints how quick the desktop app is: start, idling, long replies, long conversations.

Runs the app on a screen of its own (Xvfb), in a folder of its own. Called by ./bench ui. As root
it asks for the processors before other programs.
"""

import argparse
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
        time.sleep(SETTLE_SECONDS)
        before = processor_seconds(process.pid)
        time.sleep(IDLE_SECONDS)
        return (processor_seconds(process.pid) - before) / IDLE_SECONDS
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
    try:
        os.nice(-15)
    except OSError:
        pass  # not root
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
        print(f"{'idle, model loaded':<28} {100 * share:.3f} % of a processor "
              f"over {IDLE_SECONDS} s", flush=True)
        view = [str(options.bin / "chat_view_bench")]
        if options.all:
            view += ["50000", "all"]
        subprocess.run(view, env=environment(home, screen), check=True)


if __name__ == "__main__":
    main()
