// SPDX-License-Identifier: Apache-2.0
#include "fuzz/seeds.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "kv/kv_file.h"
#include "support/malformed_files.h"
#include "support/tiny_model.h"
#include "text/tiny_vocabulary.h"

namespace hokku::testing {

namespace {

namespace fs = std::filesystem;

void write_gguf_seeds(const fs::path& folder, bool with_malformed_files) {
    constexpr uint64_t kMaxBytes = 16 << 10;
    fs::create_directories(folder);
    make_good_file().write(folder / "good.gguf");
    write_file(folder / "tiny-llama.gguf", make_tiny_llama().header());
    write_file(folder / "tiny-llama-spm.gguf", make_tiny_llama_spm().header());
    tiny_bpe().write(folder / "tiny-bpe.gguf");
    tiny_sentencepiece().write(folder / "tiny-sentencepiece.gguf");
    tiny_character_bpe().write(folder / "tiny-character-bpe.gguf");
    if (!with_malformed_files) return;
    for (const MalformedFile& file : malformed_files()) {
        if (file.id.starts_with("F6-") || file.id.starts_with("A9-cut")) continue;
        const ScratchFolder scratch;
        const fs::path made = file.make(scratch);
        if (fs::is_regular_file(made) && fs::file_size(made) <= kMaxBytes)
            fs::copy_file(made, folder / (file.id + ".gguf"), fs::copy_options::overwrite_existing);
    }
}

template <class T>
void must(const Result<T>& done) {
    if (!done.ok()) throw std::runtime_error("a seed cannot be written: " + done.error().message());
}

void write_kv_seeds(const fs::path& folder) {
    fs::create_directories(folder);
    KvFileModel model;
    model.hash = 1;
    model.file_bytes = 4711;
    model.layers = {{2, 8, 8}, {0, 0, 0}, {1, 16, 8}};
    model.block_tokens = 64;
    model.block_bytes = 96;
    for (const size_t num_tokens : {1u, 64u, 65u, 200u}) {
        const std::vector<int32_t> tokens(num_tokens, 7);
        const std::vector<std::byte> block(96, std::byte{3});
        auto writer = KvFileWriter::create(folder / (std::to_string(num_tokens) + ".kv"), model,
                                           tokens, "{\"a\": 1}")
                          .value();
        for (size_t i = 0; i < (num_tokens + 63) / 64; ++i) must(writer.add_block(block));
        must(writer.finish());
    }
    // Only what stands before the data.
    fs::copy_file(folder / "200.kv", folder / "200-header.kv",
                  fs::copy_options::overwrite_existing);
    fs::resize_file(folder / "200-header.kv", 80 + 3 * 12 + 200 * 4 + 4 * 8 + 8);
}

}  // namespace

void write_seeds(const fs::path& folder, bool with_malformed_files) {
    write_gguf_seeds(folder / "gguf", with_malformed_files);
    write_kv_seeds(folder / "kv_file");
}

}  // namespace hokku::testing
