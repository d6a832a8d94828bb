// SPDX-License-Identifier: Apache-2.0
// Sound models whose vocabulary is broken: arrays of a wrong type or length, byte tokens that are
// none, merges that are none (hazards A14, C1, C3, C4).
#include <limits>
#include <string>
#include <vector>

#include "support/malformed_files.h"
#include "support/tiny_model.h"

namespace hokku::testing {

namespace {

constexpr uint32_t kNumVocab = TinyLlama::kNumVocab;
const std::string kTokens = "tokenizer.ggml.tokens";
const std::string kTypes = "tokenizer.ggml.token_type";
const std::string kScores = "tokenizer.ggml.scores";
const std::string kMerges = "tokenizer.ggml.merges";

/// Calls add(type id, name, bytes of one element) for each element type of an array.
template <class Add>
void for_each_element_type(Add&& add) {
    const auto number = [&](auto value, const char* name) {
        add(gguf_type_id<decltype(value)>(), name, le(value));
    };
    number(uint8_t{1}, "u8");
    number(int8_t{1}, "i8");
    number(uint16_t{1}, "u16");
    number(int16_t{1}, "i16");
    number(uint32_t{1}, "u32");
    number(int32_t{1}, "i32");
    number(1.0f, "f32");
    number(true, "bool");
    number(uint64_t{1}, "u64");
    number(int64_t{1}, "i64");
    number(1.0, "f64");
    add(kStringTypeId, "string", gguf_string("1"));
}

std::string repeated(uint32_t type_id, uint64_t count, const std::string& element) {
    std::string value = le(type_id) + le(count);
    for (uint64_t i = 0; i < count; ++i) value += element;
    return value;
}

void add_arrays(MalformedList& list) {
    for_each_element_type([&](uint32_t type_id, const std::string& name, const std::string& one) {
        const std::string value = repeated(type_id, kNumVocab, one);
        const bool is_float = name == "f32" || name == "f64";
        if (!is_float)
            list.add_change("A14-scores-of-" + name, kScores, make_tiny_llama_spm,
                            [=](GgufWriter& w) { w.set_raw(kScores, kArrayTypeId, value); });
        if (is_float || name == "string") {
            list.add_change("A14-types-of-" + name, kTypes, make_tiny_llama,
                            [=](GgufWriter& w) { w.set_raw(kTypes, kArrayTypeId, value); });
            list.add_change("A14-spm-types-of-" + name, kTypes, make_tiny_llama_spm,
                            [=](GgufWriter& w) { w.set_raw(kTypes, kArrayTypeId, value); });
        }
        if (name != "string") {
            list.add_change("A14-tokens-of-" + name, kTokens, make_tiny_llama,
                            [=](GgufWriter& w) { w.set_raw(kTokens, kArrayTypeId, value); });
            list.add_change("A14-merges-of-" + name, kMerges, make_tiny_llama,
                            [=](GgufWriter& w) { w.set_raw(kMerges, kArrayTypeId, value); });
        }
    });
    for (const uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{kNumVocab - 1},
                                 uint64_t{kNumVocab + 1}, uint64_t{100'000}}) {
        const std::string name = std::to_string(count);
        list.add_change(
            "A14-scores-count-" + name, kScores, make_tiny_llama_spm,
            [=](GgufWriter& w) { w.set_raw(kScores, kArrayTypeId, repeated(6, count, le(0.0f))); });
        list.add_change("A14-types-count-" + name, kTypes, make_tiny_llama, [=](GgufWriter& w) {
            w.set_raw(kTypes, kArrayTypeId, repeated(5, count, le(1)));
        });
        list.add_change(
            "A14-spm-types-count-" + name, kTypes, make_tiny_llama_spm,
            [=](GgufWriter& w) { w.set_raw(kTypes, kArrayTypeId, repeated(5, count, le(1))); });
    }
    for (const int32_t type : {-1, 7, 255, std::numeric_limits<int32_t>::max()}) {
        std::vector<int32_t> types(kNumVocab, 1);
        types[5] = type;
        list.add_change("A14-type-" + std::to_string(type), kTypes, make_tiny_llama,
                        [=](GgufWriter& w) { w.set_numbers(kTypes, types); });
    }
    std::vector<float> scores(kNumVocab, 0.0f);
    scores[3] = std::numeric_limits<float>::quiet_NaN();
    list.add_change("A14-score-nan", kScores, make_tiny_llama_spm,
                    [=](GgufWriter& w) { w.set_numbers(kScores, scores); });
    list.add_change("A14-no-scores", kScores, make_tiny_llama_spm,
                    [=](GgufWriter& w) { w.remove(kScores); });
}

void add_keys(MalformedList& list) {
    for (const auto& [key, name] : {std::pair{kTokens, "tokens"}, {kMerges, "merges"}}) {
        const std::string id = std::string("A14-") + name;
        list.add_change(id + "-missing", key, make_tiny_llama,
                        [key = key](GgufWriter& w) { w.remove(key); });
        list.add_change(id + "-a-string", key, make_tiny_llama,
                        [key = key](GgufWriter& w) { w.set_string(key, "text"); });
        list.add_change(id + "-a-number", key, make_tiny_llama,
                        [key = key](GgufWriter& w) { w.set(key, uint32_t{5}); });
    }
    // The embedding then has more rows than there are tokens: either may be named.
    list.add_change("C3-no-tokens", kTokens + "|vocabulary has 0 tokens", make_tiny_llama,
                    [=](GgufWriter& w) { w.set_strings(kTokens, {}); });
    list.add_change("C3-one-token", kTypes + "|token_embd.weight|vocab_size", make_tiny_llama,
                    [=](GgufWriter& w) { w.set_strings(kTokens, {"a"}); });
    const std::string model = "tokenizer.ggml.model";
    list.add_change("kind-missing", model, make_tiny_llama,
                    [=](GgufWriter& w) { w.remove(model); });
    list.add_change("kind-unknown", model, make_tiny_llama,
                    [=](GgufWriter& w) { w.set_string(model, "no-such"); });
    list.add_change("kind-control", model, make_tiny_llama,
                    [=](GgufWriter& w) { w.set_string(model, "\x1B[2J"); });
    list.add_change("kind-number", model, make_tiny_llama,
                    [=](GgufWriter& w) { w.set(model, uint32_t{1}); });
    list.add_change("pre-number", "tokenizer.ggml.pre", make_tiny_llama,
                    [=](GgufWriter& w) { w.set("tokenizer.ggml.pre", uint32_t{1}); });
    for (const std::string key :
         {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
          "tokenizer.ggml.unknown_token_id", "tokenizer.ggml.padding_token_id"}) {
        list.add_change("C3-" + key + "-string", key, make_tiny_llama,
                        [=](GgufWriter& w) { w.set_string(key, "1"); });
        list.add_change("C3-" + key + "-float", key, make_tiny_llama,
                        [=](GgufWriter& w) { w.set(key, 1.0f); });
    }
    for (const std::string key : {"tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_eos_token"})
        list.add_change("C3-" + key + "-number", key, make_tiny_llama,
                        [=](GgufWriter& w) { w.set(key, uint32_t{1}); });
}

void add_byte_tokens(MalformedList& list) {
    // The tokens of the SentencePiece model, so that one can be changed.
    std::vector<std::string> good = {"<unk>", "<s>", "</s>"};
    for (unsigned byte = 0; byte < 256; ++byte) {
        constexpr char kDigits[] = "0123456789ABCDEF";
        good.push_back(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">");
    }
    good.insert(good.end(), {"\xE2\x96\x81"
                             "a",
                             "\xE2\x96\x81"});
    const auto with = [&](size_t index, const std::string& text) {
        std::vector<std::string> tokens = good;
        tokens[index] = text;
        return make_tiny_llama_spm().set_strings(kTokens, tokens);
    };
    const char* const wrong[] = {"<0x-1>", "<0x+1>", "<0x 1>", "<0xZZ>", "<0x1>", "<0x100>",
                                 "<0x>",   "",       "<0X01>", "0x01",   "<0x01", "<0x0G>"};
    size_t number = 0;
    for (const char* text : wrong)
        list.add("C4-byte-text-" + std::to_string(number++), "its text is not", with(3 + 1, text));
    list.add("C4-byte-twice", "is a second <0x00>", with(3 + 255, "<0x00>"));
    std::vector<int32_t> types(kNumVocab, 6);
    types[0] = 2, types[1] = types[2] = 3, types[kNumVocab - 1] = types[kNumVocab - 2] = 1;
    types[3 + 10] = 1;
    list.add_change("C4-byte-missing", "there are 255 byte tokens", make_tiny_llama_spm,
                    [=](GgufWriter& w) { w.set_numbers(kTypes, types); });
}

void add_merges(MalformedList& list) {
    for (const char* merge : {"", " ", "a", "ab", "a ", "  "})
        list.add_change("merge-[" + std::string(merge) + "]", kMerges, make_tiny_llama,
                        [=](GgufWriter& w) {
                            w.set_strings(kMerges, {"h e", merge});
                        });
}

}  // namespace

std::vector<MalformedFile> malformed_vocabularies() {
    MalformedList list(RefusedBy::tokenizer);
    add_arrays(list);
    add_keys(list);
    add_byte_tokens(list);
    add_merges(list);
    return std::move(list.files);
}

}  // namespace hokku::testing
