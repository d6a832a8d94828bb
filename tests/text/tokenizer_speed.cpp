// SPDX-License-Identifier: Apache-2.0
// Measures how fast a model's tokenizer loads, encodes and decodes: tokenizer_speed MODEL TEXT.
// Not a test: it is built on demand (cmake --build --preset release -t tokenizer_speed).
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

#include "gguf/gguf_file.h"
#include "hokku/tokenizer.h"
#include "text/tokenizer/tokenizer_factory.h"

namespace {

constexpr int kRounds = 5;

// Best of kRounds, in milliseconds of processor time: other work on the machine counts less.
template <class Work>
double best_ms(Work&& work) {
    double best = 1e300;
    for (int round = 0; round < kRounds; ++round) {
        const std::clock_t start = std::clock();
        work();
        best = std::min(best, 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return best;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        fmt::print(stderr, "usage: tokenizer_speed MODEL.gguf TEXT\n");
        return 2;
    }
    const auto file = hokku::GgufFile::open(argv[1]);
    const auto tokenizer = hokku::open_tokenizer(argv[1]);
    std::ifstream stream(argv[2], std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    if (!file.ok() || !tokenizer.ok() || text.empty()) {
        fmt::print(stderr, "cannot read {} or {}\n", argv[1], argv[2]);
        return 1;
    }
    const auto ids = (*tokenizer)->encode(text, {});
    if (!ids.ok()) {
        fmt::print(stderr, "{}\n", ids.error().message());
        return 1;
    }
    const auto mb_per_s = [&text](double ms) {
        return static_cast<double>(text.size()) / 1e3 / ms;
    };
    fmt::print("open file       {:8.1f} ms\n",
               best_ms([&] { (void)hokku::GgufFile::open(argv[1]); }));
    fmt::print("build tokenizer {:8.1f} ms, {} tokens\n",
               best_ms([&] { (void)hokku::make_tokenizer(file->metadata()); }),
               (*tokenizer)->num_tokens());
    fmt::print("encode          {:8.1f} MB/s, {} bytes to {} tokens\n",
               mb_per_s(best_ms([&] { (void)(*tokenizer)->encode(text, {}); })), text.size(),
               ids->size());
    fmt::print("decode          {:8.1f} MB/s\n",
               mb_per_s(best_ms([&] { (void)(*tokenizer)->decode(*ids, false); })));
    return 0;
}
