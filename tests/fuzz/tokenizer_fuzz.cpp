// SPDX-License-Identifier: Apache-2.0
// The first byte chooses the vocabulary and, for byte-level BPE, the pre-tokenizer; the rest is
// text.
#include <memory>
#include <string>
#include <vector>

#include "fuzz/fuzz.h"
#include "hokku/tokenizer.h"
#include "text/tiny_vocabulary.h"
#include "text/tokenizer/pre_tokenizer_families.h"

using hokku::TokenId;
using hokku::testing::check_error;
using hokku::testing::must;

namespace {

struct Subject {
    std::shared_ptr<const hokku::Tokenizer> tokenizer;
    bool keeps_bytes = false;  ///< Every byte of a text comes back.
};

std::vector<Subject> make_subjects() {
    std::vector<Subject> subjects;
    for (const hokku::PreTokenizerFamily& family : hokku::pre_tokenizer_families()) {
        const hokku::PreTokenizerName* name = nullptr;
        for (const hokku::PreTokenizerName& each : hokku::pre_tokenizer_names())
            if (each.family == family.name && !each.nfc) name = &each;
        if (name == nullptr) continue;
        hokku::testing::GgufWriter file = hokku::testing::tiny_bpe();
        file.set_string("tokenizer.ggml.pre", name->name);
        subjects.push_back({hokku::testing::open_tiny(file), true});
    }
    hokku::testing::GgufWriter nfc = hokku::testing::tiny_bpe();
    nfc.set_string("tokenizer.ggml.pre", "qwen2");
    subjects.push_back({hokku::testing::open_tiny(nfc), false});
    subjects.push_back({hokku::testing::open_tiny(hokku::testing::tiny_sentencepiece()), false});
    subjects.push_back({hokku::testing::open_tiny(hokku::testing::tiny_character_bpe()), false});
    return subjects;
}

std::string streamed(const hokku::Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
    hokku::TokenStream stream(tokenizer, true);
    std::string text;
    for (const TokenId id : ids) {
        const std::string_view piece = stream.push(id);
        must(hokku::is_valid_utf8(piece), "a stream gives whole characters", piece);
        text += piece;
    }
    return text += stream.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const std::vector<Subject> subjects = make_subjects();
    if (size == 0) return 0;
    const Subject& subject = subjects[data[0] % subjects.size()];
    const hokku::Tokenizer& tokenizer = *subject.tokenizer;
    const std::string_view text = hokku::testing::text_of(data + 1, size - 1);
    for (const bool parse_special : {false, true}) {
        const auto ids = tokenizer.encode(text, {.parse_special = parse_special});
        if (!ids.ok()) {
            check_error(ids.error());
            continue;
        }
        for (const TokenId id : *ids)
            must(id >= 0 && static_cast<size_t>(id) < tokenizer.num_tokens(), "ids are tokens");
        const std::string decoded = tokenizer.decode(*ids, true);
        must(hokku::is_valid_utf8(decoded), "decoded text is valid UTF-8", decoded);
        must(hokku::is_valid_utf8(streamed(tokenizer, *ids)), "so is a stream of it");
        if (!subject.keeps_bytes) continue;
        std::string bytes;
        for (const TokenId id : *ids) bytes += tokenizer.token_bytes(id, true);
        must(bytes == text, "byte-level BPE keeps every byte", text);
    }
    const std::vector<hokku::PromptPart> parts = {{std::string("<|end|>"), false},
                                                  {std::string(text), true}};
    if (const auto ids = tokenizer.encode_parts(parts, true); !ids.ok()) check_error(ids.error());
    return 0;
}
