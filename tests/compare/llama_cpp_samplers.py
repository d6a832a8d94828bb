#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random chains of llama.cpp's samplers on random logits: `hokku sample` against the library.

  python3 llama_cpp_samplers.py HOKKU [--cases N] [--seed S]   compares; exit code 1 on a difference
  python3 llama_cpp_samplers.py --write FILE [--cases N]       writes cases with what llama.cpp draws

Needs llama-cpp-python (0.3.36 was used). DRY needs a vocabulary there: --model FILE, any GGUF file
with a larger vocabulary than the cases; without it DRY is left out. Arguments that leave nothing
but forbidden tokens (typical below 0, xtc with a threshold of 0) are not tried: llama.cpp picks one
of them then, hokku says so.
"""
import argparse
import ctypes
import json
import random
import subprocess
import sys

import llama_cpp as L

SEEDS = [0, 1, 42, 4294967294]


class Reference:
    def __init__(self, model):
        L.llama_backend_init()
        self.vocab = None
        if model:
            parameters = L.llama_model_default_params()
            parameters.vocab_only = True
            self.model = L.llama_model_load_from_file(model.encode(), parameters)
            self.vocab = L.llama_model_get_vocab(self.model)

    def sampler(self, entry, seed, num_vocab):
        name, arguments = entry[0], entry[1:]
        make = getattr(L, "llama_sampler_init_" + name)
        if name in ("dist",):
            return make(seed)
        if name == "xtc":
            return make(*arguments, seed)
        if name == "mirostat":
            return make(num_vocab, seed, *arguments)
        if name == "mirostat_v2":
            return make(seed, *arguments)
        if name == "penalties":
            return make(num_vocab, *arguments)
        if name == "dry":
            return make(self.vocab, *arguments[:4], None, 0)
        if name == "logit_bias":
            bias = (L.llama_logit_bias * len(arguments[0]))()
            for slot, (token, value) in zip(bias, arguments[0]):
                slot.token, slot.bias = token, value
            return make(num_vocab, len(bias), bias)
        return make(*arguments)

    def draw(self, case):
        num_vocab = len(case["logits"][0])
        chain = L.llama_sampler_chain_init(L.llama_sampler_chain_default_params())
        for entry in case["chain"]:
            L.llama_sampler_chain_add(chain, self.sampler(entry, case["seed"], num_vocab))
        for token in case["history"]:
            L.llama_sampler_accept(chain, token)
        tokens, kept = [], []
        for logits in case["logits"]:
            data = (L.llama_token_data * num_vocab)()
            for token, (slot, logit) in enumerate(zip(data, logits)):
                slot.id, slot.logit, slot.p = token, float(logit), 0
            array = L.llama_token_data_array(data=data, size=num_vocab, selected=-1, sorted=False)
            L.llama_sampler_apply(chain, ctypes.byref(array))
            moved = case["lookup"] == "moved"
            tokens.append((array.data if moved else data)[array.selected].id)
            kept.append(array.size)
            L.llama_sampler_accept(chain, tokens[-1])
        L.llama_sampler_free(chain)
        return tokens, kept


class Cases:
    def __init__(self, seed, has_dry, sizes):
        self.random = random.Random(seed)
        self.has_dry = has_dry
        self.sizes = sizes

    def number(self, low, high):
        return round(self.random.uniform(low, high), 3)

    def logits(self, num_vocab, num_steps):
        r = self.random
        kind = r.choice(["normal", "normal", "peaks", "ties", "many ties", "wide", "forbidden"])
        spread = r.choice([0.5, 1, 2, 4])
        rows = []
        for _ in range(num_steps):
            row = [r.gauss(0, 1) * spread for _ in range(num_vocab)]
            if kind == "peaks":
                for _ in range(5):
                    row[r.randrange(num_vocab)] += r.random() * 8
            if kind == "wide":
                row = [12 * x for x in row]
            if kind == "ties":
                row = [round(2 * x) / 2 for x in row]
            if kind == "many ties":
                row = [float(round(0.2 * x)) for x in row]
            row = [round(x, 4) for x in row]
            if kind == "forbidden":
                row = [x if r.random() < 0.4 else "-inf" for x in row]
                row[r.randrange(num_vocab)] = 1.0
            rows.append(row)
        return rows

    def entry(self, num_vocab):
        r, number = self.random, self.number
        names = ["top_k", "top_p", "min_p", "typical", "temp", "temp_ext", "xtc", "top_n_sigma",
                 "penalties", "logit_bias"] + ["dry"] * self.has_dry
        name = r.choice(names)
        min_keep = r.choice([0, 0, 1, 1, 2, 5, 40])
        window = r.choice([-1, 0, 1, 2, 5, 64, 1000])
        share = r.choice([0.0, 0.05, 0.3, 0.5, 0.9, 0.95, 0.9999, 1.0, 1.5, -0.1, number(0, 1)])
        return [name] + {
            "top_k": lambda: [r.choice([-1, 0, 1, 2, 5, 40, 127, 128, 129, 200, 1000, 100000])],
            "top_p": lambda: [share, min_keep],
            "min_p": lambda: [share, min_keep],
            "typical": lambda: [max(share, 0.0), min_keep],
            "temp": lambda: [r.choice([0.0, -1.0, 0.1, 0.8, 1.0, 5.0, number(0, 2)])],
            "temp_ext": lambda: [r.choice([0.0, 0.8, 1.0, number(0, 2)]),
                                 r.choice([0.0, -1.0, 0.5, 2.0, number(0, 1)]),
                                 r.choice([1.0, 0.0, number(0, 3)])],
            "xtc": lambda: [r.choice([0.0, 0.5, 1.0, number(0, 1)]),
                            r.choice([0.001, 0.01, 0.1, 0.5, 0.6]), min_keep],
            "top_n_sigma": lambda: [r.choice([-1.0, 0.0, 1.0, number(0, 4)])],
            "penalties": lambda: [window, r.choice([1.0, 1.1, 1.5, 0.5]),
                                  r.choice([0.0, 0.2, -0.3]), r.choice([0.0, 0.4, -0.2])],
            "logit_bias": lambda: [[[r.randrange(num_vocab), number(-5, 5)]
                                    for _ in range(r.choice([1, 2, 5, 20]))]],
            "dry": lambda: [r.choice([0.0, 0.8, 2.0]), r.choice([0.5, 1.0, 1.75, 3.0]),
                            r.choice([0, 1, 2, 3]), window],
        }[name]()

    def next(self):
        r, number = self.random, self.number
        num_vocab = r.choice(self.sizes)
        last = r.choice([["dist"], ["dist"], ["dist"], ["greedy"],
                         ["mirostat", number(0, 8), number(0, .5), r.choice([1, 2, 5, 100])],
                         ["mirostat_v2", number(0, 8), number(0, .5)]])
        num_entries = r.choice([0, 1, 1, 2, 3, 5])
        num_history_ids = min(num_vocab, r.choice([3, num_vocab]))
        return {"logits": self.logits(num_vocab, r.choice([1, 4, 12])),
                "chain": [self.entry(num_vocab) for _ in range(num_entries)] + [last],
                "seed": r.choice(SEEDS + [r.randrange(2**32 - 1)]),
                "history": [r.randrange(num_history_ids) for _ in range(r.choice([0, 3, 20, 100]))],
                "lookup": r.choice(["moved", "unmoved"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hokku", nargs="?")
    parser.add_argument("--write")
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model")
    parser.add_argument("--sizes", default="1,2,3,16,100,128,129,256,500,1024,1025,3000")
    options = parser.parse_args()
    reference = Reference(options.model)
    cases = Cases(options.seed, reference.vocab is not None,
                  [int(size) for size in options.sizes.split(",")])
    cases = [cases.next() for _ in range(options.cases)]
    if options.write:
        with open(options.write, "w", encoding="utf-8") as file:
            for case in cases:
                case["tokens"], case["kept"] = reference.draw(case)
                file.write(json.dumps(case, separators=(",", ":")) + "\n")
        return 0
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    run = subprocess.run([options.hokku, "sample", "--jsonl"], input=lines, capture_output=True,
                         text=True, check=True)
    num_different = 0
    for case, line in zip(cases, run.stdout.splitlines(), strict=True):
        wanted, _ = reference.draw(case)
        if json.loads(line).get("tokens") != wanted:
            num_different += 1
            print(case["chain"], "seed", case["seed"], "llama.cpp", wanted, "hokku", line)
    print(f"{len(cases)} cases, {num_different} different")
    return 1 if num_different else 0


if __name__ == "__main__":
    sys.exit(main())
