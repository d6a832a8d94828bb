#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Same prompt, same seed, same text as llama.cpp? Twenty prompts, side by side.

  python3 llama_cpp_texts.py HOKKU MODEL.gguf [--tokens N] [--threads N]

Each prompt is rendered by hokku and tokenized by both. llama.cpp writes with the chain of its own
programs; hokku with --sampler-mode llama.cpp and the same seed. Where the texts part, both engines'
log-probabilities at that place are compared. A difference is explained where each token follows from
the same random number u and its own engine's figures; told are how far u lies from the nearest
border between two candidates (in cumulative probability), and what has moved: that border, the
order of two candidates, or the set of candidates.

Then llama.cpp's own logits of each text go through `hokku sample`: there every token must be the
same. Exit code 1 if one is not, if tokenizers differ or if a difference is not explained.

Needs llama-cpp-python (0.3.36 was used) and NumPy.
"""
import argparse
import json
import subprocess
import sys

import llama_cpp as L
import numpy as np

PROMPTS = [
    "Write a haiku about autumn rain.",
    "Explain in two sentences why the sky is blue.",
    "Write a Python function that reverses a string.",
    "List three uses of an old newspaper.",
    "What is the capital of Australia?",
    "Write a short letter to a neighbour about a lost cat.",
    "Erkl\u00e4re in einem Satz, was ein Compiler ist.",
    "Give me a recipe for pancakes.",
    "Summarise the plot of Romeo and Juliet in one sentence.",
    "Write a limerick about a programmer.",
    "Translate 'good morning' into French, Spanish and Japanese.",
    "What is the difference between TCP and UDP?",
    "Write a SQL query that counts orders for each customer.",
    "Invent a name for a coffee shop and say why it fits.",
    "Describe the taste of a lemon to someone who has never had one.",
    "How do I undo the last commit in git?",
    "Write the first sentence of a detective novel.",
    "Name five animals that live in the desert.",
    "Why do cats purr?",
    "\u7528\u4e00\u53e5\u8bdd\u4ecb\u7ecd\u957f\u57ce\u3002",
]
TOP_K, TOP_P, MIN_P, TEMPERATURE = 40, 0.95, 0.05, 0.8
CHAIN = [["penalties", 64, 1.0, 0.0, 0.0], ["top_k", TOP_K], ["typical", 1.0, 0],
         ["top_p", TOP_P, 0], ["min_p", MIN_P, 0], ["temp_ext", TEMPERATURE, 0.0, 1.0], ["dist"]]


class LlamaCpp:
    def __init__(self, path, threads):
        self.model = L.Llama(path, n_ctx=2048, n_threads=threads, n_threads_batch=threads,
                             logits_all=False, verbose=False)
        self.ctx = self.model.ctx
        self.vocab = L.llama_model_get_vocab(self.model.model)
        self.num_vocab = L.llama_vocab_n_tokens(self.vocab)

    def tokenize(self, text):
        return self.model.tokenize(text.encode(), add_bos=False, special=True)

    def logits(self):
        pointer = L.llama_get_logits_ith(self.ctx, -1)
        return np.ctypeslib.as_array(pointer, (self.num_vocab,)).copy()

    def write(self, prompt, seed, count):
        chain = L.llama_sampler_chain_init(L.llama_sampler_chain_default_params())
        for sampler in [L.llama_sampler_init_penalties(self.num_vocab, 64, 1.0, 0.0, 0.0),
                        L.llama_sampler_init_top_k(TOP_K),
                        L.llama_sampler_init_typical(1.0, 0),
                        L.llama_sampler_init_top_p(TOP_P, 0),
                        L.llama_sampler_init_min_p(MIN_P, 0),
                        L.llama_sampler_init_temp_ext(TEMPERATURE, 0.0, 1.0),
                        L.llama_sampler_init_dist(seed)]:
            L.llama_sampler_chain_add(chain, sampler)
        self.model.reset()
        self.model.eval(prompt)
        for token in prompt:
            L.llama_sampler_accept(chain, token)
        tokens, rows = [], []
        while len(tokens) < count:
            rows.append(self.logits())
            tokens.append(L.llama_sampler_sample(chain, self.ctx, -1))
            if L.llama_vocab_is_eog(self.vocab, tokens[-1]):
                break
            self.model.eval(tokens[-1:])
        L.llama_sampler_free(chain)
        return tokens, rows


class Hokku:
    def __init__(self, program, path, threads):
        self.program, self.model = program, ["-m", path]
        self.threads = ["-t", str(threads)] if threads else []

    def call(self, arguments, text=None):
        return subprocess.run([self.program] + arguments, input=text, capture_output=True,
                              text=True, check=True).stdout

    def render(self, prompt):
        messages = json.dumps({"messages": [{"role": "user", "content": prompt}]})
        return self.call(["render"] + self.model + ["--input", "-"], messages)

    def tokenize(self, text):
        ids = self.call(["tokenize"] + self.model + ["--parse-special"], text)
        return [int(token) for token in ids.split(",")]

    def write(self, prompt, seed, count):
        """The tokens, and for each the log-probabilities of the likeliest ones."""
        answer = json.loads(self.call(["run"] + self.model + self.threads +
                                      ["-p", prompt, "--seed", str(seed), "-n", str(count),
                                       "--sampler-mode", "llama.cpp", "--json",
                                       "--logprobs", "64"]))
        return answer["tokens"], [{entry["id"]: entry["logprob"] for entry in token["top"]}
                                  for token in answer["logprobs"]]

    def sample(self, rows, seed, history):
        logits = ",".join("[" + ",".join(map(repr, row.tolist())) + "]" for row in rows)
        line = (f'{{"logits":[{logits}],"chain":{json.dumps(CHAIN)},"seed":{seed},'
                f'"history":{history},"lookup":"moved"}}\n')
        return json.loads(self.call(["sample", "--jsonl"], line))["tokens"]


def kept(logits):
    """The candidates of the chain in its order, with their share of the draw."""
    ids = sorted(logits, key=lambda token: -logits[token])[:TOP_K]
    values = np.array([logits[token] for token in ids], np.float64)
    shares = np.exp(values - values[0])
    shares /= shares.sum()
    count = int(np.searchsorted(np.cumsum(shares), TOP_P)) + 1
    count = min(count, int((values >= values[0] + np.log(MIN_P)).sum()))
    shares = np.exp((values[:count] - values[0]) / TEMPERATURE)
    return ids[:count], np.cumsum(shares) / shares.sum()


def drawn(ids, sums, u):
    return ids[min(int(np.searchsorted(sums, u)), len(ids) - 1)]


def explain(index, seed, theirs, ours, row, our_logits):
    """(is_explained, what it is): each token must follow from u and its own engine's logits."""
    numbers = np.random.MT19937()
    numbers._legacy_seeding(seed)
    raw = numbers.random_raw(2 * (index + 1))
    u = (float(raw[2 * index]) + float(raw[2 * index + 1]) * 2**32) / 2**64
    row = row.astype(np.float64)
    row -= row.max() + np.log(np.exp(row - row.max()).sum())
    their_logits = {int(token): row[token] for token in np.argpartition(-row, 64)[:64]}
    their_ids, their_sums = kept(their_logits)
    our_ids, our_sums = kept(our_logits)
    follows = drawn(their_ids, their_sums, u) == theirs and drawn(our_ids, our_sums, u) == ours
    shift = max(abs(their_logits[token] - our_logits[token])
                for token in set(our_ids) & set(their_ids))
    text = f"u {u:.4f}, {np.abs(their_sums - u).min():.4f} from a border"
    if set(their_ids) != set(our_ids):
        text += f"; {len(their_ids)} and {len(our_ids)} candidates"
    elif their_ids != our_ids:
        place = next(i for i, pair in enumerate(zip(their_ids, our_ids)) if pair[0] != pair[1])
        gap = their_logits[their_ids[place]] - their_logits[our_ids[place]]
        text += f"; two candidates in other order, {gap:.3f} apart"
    else:
        border = int(np.argmin(np.abs(their_sums - u)))
        text += f"; that border is {abs(their_sums[border] - our_sums[border]):.4f} elsewhere"
    return follows, text + f"; log-probabilities differ by up to {shift:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hokku")
    parser.add_argument("model")
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    llama = LlamaCpp(options.model, options.threads)
    hokku = Hokku(options.hokku, options.model, options.threads)
    num_same, num_bad, num_tokens, num_replayed = 0, 0, 0, 0
    print("| prompt | seed | tokens | same | where they part |\n|---|---|---|---|---|")
    for number, prompt in enumerate(PROMPTS):
        seed = 1000 + number
        text = hokku.render(prompt)
        start = llama.tokenize(text)
        if start != hokku.tokenize(text):
            num_bad += 1
            print(f"| {prompt} | {seed} | | | the tokenizers differ |")
            continue
        theirs, rows = llama.write(start, seed, options.tokens)
        ours, our_logits = hokku.write(prompt, seed, options.tokens)
        same = next((i for i, pair in enumerate(zip(theirs, ours)) if pair[0] != pair[1]),
                    min(len(theirs), len(ours)))
        num_tokens += len(theirs)
        reason = ""
        if theirs == ours:
            num_same += 1
        else:
            is_explained, reason = explain(same, seed, theirs[same], ours[same], rows[same],
                                           our_logits[same])
            if not is_explained:
                num_bad += 1
                reason = "NOT EXPLAINED: " + reason
        replayed = hokku.sample(rows, seed, start)
        num_replayed += sum(a == b for a, b in zip(replayed, theirs))
        num_bad += replayed != theirs
        print(f"| {prompt} | {seed} | {len(theirs)} | {same} | {reason} |", flush=True)
    print(f"\n{num_same} of {len(PROMPTS)} texts are the same. From llama.cpp's logits hokku draws "
          f"{num_replayed} of {num_tokens} tokens as llama.cpp does.")
    return 1 if num_bad else 0


if __name__ == "__main__":
    sys.exit(main())
