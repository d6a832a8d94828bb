// SPDX-License-Identifier: Apache-2.0
#include "support/tiny_model.h"

#include <cstdio>
#include <string>
#include <vector>

#include "base/utf8.h"

namespace hokku::testing {

namespace {

using Tiny = TinyLlama;

/// Values in [-0.25, 0.25], the same on every machine. Constants: Numerical Recipes, "ranqd1".
class WeightSource {
  public:
    std::vector<float> take(uint64_t count) {
        std::vector<float> values;
        for (uint64_t i = 0; i < count; ++i) {
            state_ = state_ * 1664525u + 1013904223u;
            values.push_back((static_cast<float>(state_ >> 8) / 16777216.0f - 0.5f) / 2);
        }
        return values;
    }

  private:
    uint32_t state_ = 1;
};

void add_tensors(GgufWriter& writer) {
    WeightSource source;
    const auto matrix = [&](const std::string& name, uint64_t in, uint64_t out) {
        writer.add_f32(name, {in, out}, source.take(in * out));
    };
    const auto norm = [&](const std::string& name) {
        writer.add_f32(name, {Tiny::kDim}, std::vector<float>(Tiny::kDim, 1.0f));
    };
    matrix("token_embd.weight", Tiny::kDim, Tiny::kNumVocab);
    for (uint32_t i = 0; i < Tiny::kLayers; ++i) {
        const std::string layer = "blk." + std::to_string(i) + ".";
        constexpr uint32_t kQ = Tiny::kHeads * Tiny::kHeadDim;
        constexpr uint32_t kKv = Tiny::kKvHeads * Tiny::kHeadDim;
        norm(layer + "attn_norm.weight");
        matrix(layer + "attn_q.weight", Tiny::kDim, kQ);
        matrix(layer + "attn_k.weight", Tiny::kDim, kKv);
        matrix(layer + "attn_v.weight", Tiny::kDim, kKv);
        matrix(layer + "attn_output.weight", kQ, Tiny::kDim);
        norm(layer + "ffn_norm.weight");
        matrix(layer + "ffn_gate.weight", Tiny::kDim, Tiny::kHidden);
        matrix(layer + "ffn_up.weight", Tiny::kDim, Tiny::kHidden);
        matrix(layer + "ffn_down.weight", Tiny::kHidden, Tiny::kDim);
    }
    norm("output_norm.weight");
    matrix("output.weight", Tiny::kDim, Tiny::kNumVocab);
}

void add_hparams(GgufWriter& writer) {
    writer.set_string("general.architecture", "llama");
    writer.set_string("general.name", "Tiny Llama for tests");
    writer.set("llama.block_count", Tiny::kLayers);
    writer.set("llama.context_length", Tiny::kContext);
    writer.set("llama.embedding_length", Tiny::kDim);
    writer.set("llama.feed_forward_length", Tiny::kHidden);
    writer.set("llama.attention.head_count", Tiny::kHeads);
    writer.set("llama.attention.head_count_kv", Tiny::kKvHeads);
    writer.set("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    writer.set("llama.rope.dimension_count", Tiny::kHeadDim);
    writer.set("llama.rope.freq_base", 10000.0f);
    writer.set("llama.vocab_size", Tiny::kNumVocab);
}

void add_chat(GgufWriter& writer) {
    writer.set_string("tokenizer.chat_template",
                      "{% for message in messages %}[{{ message.role }}] {{ message.content }}\n"
                      "{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}");
}

/// The character that stands for a byte in byte-level BPE: itself where it is printable, else the
/// next free one from U+0100 on. Source: GPT-2, encoder.py, bytes_to_unicode.
std::vector<std::string> byte_characters() {
    std::vector<std::string> characters;
    char32_t next_free = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
        const bool is_printable =
            (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
        std::string character;
        append_utf8(character, is_printable ? byte : next_free++);
        characters.push_back(character);
    }
    return characters;
}

constexpr int32_t kNormal = 1, kUnknown = 2, kControl = 3, kByte = 6;  // token_type values

}  // namespace

GgufWriter make_tiny_llama() {
    GgufWriter writer;
    add_hparams(writer);
    std::vector<std::string> tokens = byte_characters();
    const std::string space = tokens[' '];
    tokens.insert(tokens.end(), {"he", "ll", space + "a", "<|bos|>", "<|eos|>"});
    std::vector<int32_t> types(tokens.size(), kNormal);
    types[Tiny::kBos] = types[Tiny::kEos] = kControl;
    writer.set_string("tokenizer.ggml.model", "gpt2");
    writer.set_string("tokenizer.ggml.pre", "gpt-2");
    writer.set_strings("tokenizer.ggml.tokens", tokens);
    writer.set_numbers("tokenizer.ggml.token_type", types);
    writer.set_strings("tokenizer.ggml.merges", {"h e", "l l", space + " a"});
    writer.set("tokenizer.ggml.bos_token_id", Tiny::kBos);
    writer.set("tokenizer.ggml.eos_token_id", Tiny::kEos);
    add_chat(writer);
    add_tensors(writer);
    return writer;
}

GgufWriter make_tiny_llama_spm() {
    GgufWriter writer;
    add_hparams(writer);
    std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
    std::vector<int32_t> types = {kUnknown, kControl, kControl};
    std::vector<float> scores(3, 0.0f);
    for (unsigned byte = 0; byte < 256; ++byte) {
        char text[8];
        std::snprintf(text, sizeof(text), "<0x%02X>", byte);
        tokens.emplace_back(text);
        types.push_back(kByte);
        scores.push_back(0.0f);
    }
    tokens.insert(tokens.end(), {"\xE2\x96\x81"
                                 "a",
                                 "\xE2\x96\x81"});
    types.insert(types.end(), {kNormal, kNormal});
    scores.insert(scores.end(), {-1.0f, -2.0f});
    writer.set_string("tokenizer.ggml.model", "llama");
    writer.set_strings("tokenizer.ggml.tokens", tokens);
    writer.set_numbers("tokenizer.ggml.scores", scores);
    writer.set_numbers("tokenizer.ggml.token_type", types);
    writer.set("tokenizer.ggml.bos_token_id", uint32_t{1});
    writer.set("tokenizer.ggml.eos_token_id", uint32_t{2});
    writer.set("tokenizer.ggml.unknown_token_id", uint32_t{0});
    add_chat(writer);
    add_tensors(writer);
    return writer;
}

}  // namespace hokku::testing
