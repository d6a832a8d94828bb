# SPDX-License-Identifier: Apache-2.0
"""Runs `hokku bench` and, where installed, other engines on model files; prints one table.

Every engine gets the same token ids for prompt and decode, computes full logits at each step and
samples nothing. A figure is the median over the rounds after one warm-up. Engines run one after
another, each in a process of its own.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

PEERS = {"llama_cpp": "llama.cpp", "ik_llama_cpp": "ik_llama.cpp"}


class LlamaCpp:
    """llama.cpp through llama-cpp-python."""

    def __init__(self, model, threads, context):
        import llama_cpp
        self.engine = llama_cpp.Llama(model_path=model, n_ctx=context, n_threads=threads,
                                      n_threads_batch=threads, n_batch=512, flash_attn=True,
                                      verbose=False)
        self.num_vocab = self.engine.n_vocab()

    def reset(self):
        self.engine.reset()

    def evaluate(self, tokens):
        self.engine.eval(tokens)


class IkLlamaCpp:
    """ik_llama.cpp through ik-llama-cpp-python."""

    def __init__(self, model, threads, context):
        from ik_llama_cpp import _ctypes_api
        from ik_llama_cpp.llama import IkContext, IkModel, make_batch_range
        self.api, self.make_batch = _ctypes_api, make_batch_range
        self.model = IkModel(model, use_mmap=True, use_mlock=False, n_gpu_layers=0)
        self.context = IkContext(self.model, n_ctx=context, n_threads=threads, flash_attn=True)
        self.num_vocab = self.model.n_vocab
        self.position = 0

    def reset(self):
        self.context.kv_cache_clear()
        self.position = 0

    def evaluate(self, tokens):
        batch = self.make_batch(tokens, pos_start=self.position, logits_last=True)
        if self.context.decode(batch) != 0:
            raise RuntimeError("decode failed")
        self.context.get_logits(-1)
        self.api.llama_batch_free(batch)
        self.position += len(tokens)


def time_peer(package, model, sizes):
    """One JSON object on stdout; called in a process of its own."""
    kind = {"llama_cpp": LlamaCpp, "ik_llama_cpp": IkLlamaCpp}[package]
    start = time.perf_counter()
    peer = kind(model, sizes.threads, sizes.prompt + sizes.decode + 64)
    load_s = time.perf_counter() - start
    span = min(peer.num_vocab, 30000) - 200
    prompt = [i * 7919 % span + 100 for i in range(sizes.prompt)]
    decode = [i * 104729 % span + 100 for i in range(sizes.decode)]
    prefill_s, decode_s = [], []
    for _ in range(sizes.rounds + 1):
        peer.reset()
        begin = time.perf_counter()
        peer.evaluate(prompt)
        middle = time.perf_counter()
        for token in decode:
            peer.evaluate([token])
        end = time.perf_counter()
        prefill_s.append(middle - begin)
        decode_s.append(end - middle)
    print(json.dumps({"prefill_tok_s": len(prompt) / statistics.median(prefill_s[1:]),
                      "decode_tok_s": len(decode) / statistics.median(decode_s[1:]),
                      "load_s": load_s}))


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if done.returncode == 0 and lines else None


def row(cells, widths=(34, 14, 12, 12, 9, 11, 10)):
    print("".join(str(c).ljust(w) if i < 2 else str(c).rjust(w)
                  for i, (c, w) in enumerate(zip(cells, widths))), flush=True)


def main():
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.splitlines()[0])
    parser.add_argument("--hokku", help=argparse.SUPPRESS)
    parser.add_argument("--models", nargs="+", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("-p", "--prompt", type=int, default=512, help="tokens of the prompt")
    parser.add_argument("-n", "--decode", type=int, default=64, help="tokens decoded after it")
    parser.add_argument("-t", "--threads", type=int, default=0, help="0: as hokku chooses")
    parser.add_argument("-r", "--rounds", type=int, default=3, help="rounds after the warm-up")
    arguments = [a for a in sys.argv[1:] if a != "--"]
    options = parser.parse_args(arguments)
    if options.peer:
        time_peer(options.peer, options.models[0], options)
        return 0
    peers = [p for p in PEERS if importlib.util.find_spec(p)]
    row(("model", "engine", "prefill t/s", "decode t/s", "load s", "memory MB", "of memory"))
    status = 0
    for model in options.models:
        name = pathlib.Path(model).name
        ours = run([options.hokku, "bench", "-m", model, "--json", "-p", str(options.prompt), "-n",
                    str(options.decode), "-t", str(options.threads), "-r", str(options.rounds)])
        if ours is None:
            row((name, "hokku", "failed"))
            status = 1
            continue
        row((name[:33], "hokku", f"{ours['prefill_tok_s']:.1f}", f"{ours['decode_tok_s']:.2f}",
             f"{ours['load_s']:.3f}", f"{ours['peak_memory_mb']:.0f}",
             f"{100 * ours['share_of_bandwidth']:.0f} %"))
        for peer in peers:
            theirs = run([sys.executable, os.path.abspath(__file__), "--peer", peer, "--models",
                          model, "-p", str(options.prompt), "-n", str(options.decode), "-t",
                          str(ours["threads"]), "-r", str(options.rounds)])
            if theirs is None:
                row(("", PEERS[peer], "failed"))
                continue
            row(("", PEERS[peer], f"{theirs['prefill_tok_s']:.1f}",
                 f"{theirs['decode_tok_s']:.2f}", f"{theirs['load_s']:.3f}"))
    return status


if __name__ == "__main__":
    sys.exit(main())
