# SPDX-License-Identifier: Apache-2.0
"""Times whole processes from their start to the first token of a ten-token prompt, and, with
--cold, from a file that is not in the page cache, beside reading that file once. Prints one table.

Run it with a Python that has llama-cpp-python to compare: `PYTHON start_table.py HOKKU MODEL...`.
Hokku and the peer take turns. The peer's time is without its interpreter and its imports: from when
the library is loaded to when its first token is printed.
"""
import argparse
import importlib.util
import os
import pathlib
import statistics
import subprocess
import sys
import time

PROMPT = "The quick brown fox jumps over the lazy dog"

PEER = """
import sys, time, numpy
import llama_cpp
start = time.perf_counter()
engine = llama_cpp.Llama(model_path=sys.argv[1], n_ctx=4096, n_threads=int(sys.argv[2]),
                         n_threads_batch=int(sys.argv[2]), flash_attn=True, logits_all=False,
                         verbose=False)
engine.eval(engine.tokenize(sys.argv[3].encode()))
logits = llama_cpp.llama_get_logits(engine.ctx)
best = int(numpy.argmax(numpy.ctypeslib.as_array(logits, shape=(engine.n_vocab(),))))
engine.detokenize([best])
sys.stdout.write(str(time.perf_counter() - start))
"""


def time_hokku(hokku, model, threads):
    """Seconds to the first byte of the answer."""
    command = [hokku, "run", "-m", model, "--device", "cpu", "-t", str(threads), "--raw", "-p",
               PROMPT, "-n", "1", "--temp", "0"]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.read(1)
        seconds = time.perf_counter() - start
        process.stdout.read()
    if process.returncode != 0:
        sys.exit(f"{hokku} failed on {model}")
    return seconds


def time_peer(model, threads):
    done = subprocess.run([sys.executable, "-c", PEER, model, str(threads), PROMPT], check=True,
                          capture_output=True, text=True)
    return float(done.stdout)


def forget(model):
    """Drops the file from the page cache."""
    descriptor = os.open(model, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def read_once(model):
    start = time.perf_counter()
    buffer = bytearray(1 << 20)
    with open(model, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("hokku")
    parser.add_argument("models", nargs="+")
    parser.add_argument("-t", "--threads", type=int, default=os.cpu_count())
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("--cold", action="store_true", help="also with nothing in the page cache")
    options = parser.parse_args()
    has_peer = importlib.util.find_spec("llama_cpp") is not None
    for model in options.models:
        model = os.path.realpath(model)
        own, peer, cold, read = [], [], [], []
        time_hokku(options.hokku, model, options.threads)  # into the page cache
        for _ in range(options.rounds):
            own.append(time_hokku(options.hokku, model, options.threads))
            if has_peer:
                peer.append(time_peer(model, options.threads))
            if options.cold:
                forget(model)
                read.append(read_once(model))
                forget(model)
                cold.append(time_hokku(options.hokku, model, options.threads))
        row = f"{pathlib.Path(model).stem:36} hokku {1e3 * statistics.median(own):5.0f} ms"
        if peer:
            ratio = statistics.median(a / b for a, b in zip(own, peer))
            row += f"  llama.cpp {1e3 * statistics.median(peer):5.0f} ms  ratio {ratio:.2f}"
        if cold:
            row += (f"  cold {1e3 * statistics.median(cold):5.0f} ms, reading alone "
                    f"{1e3 * statistics.median(read):5.0f} ms")
        print(row, flush=True)


if __name__ == "__main__":
    main()
