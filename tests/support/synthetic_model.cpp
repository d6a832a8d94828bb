// SPDX-License-Identifier: Apache-2.0
#include "support/synthetic_model.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "backend/half.h"
#include "support/gguf_writer.h"

namespace hokku::testing {

namespace {

/// xorshift64*: quick enough for gigabytes. Source: Vigna 2016, arXiv:1402.6246.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
    uint64_t next() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545f4914f6cdd1du;
    }
    /// In [-1, 1).
    float signed_unit() { return static_cast<float>(next() >> 40) / 8388608.0f - 1.0f; }
    void fill(char* out, size_t bytes) {
        for (; bytes >= 8; out += 8, bytes -= 8) {
            const uint64_t value = next();
            std::memcpy(out, &value, 8);
        }
        const uint64_t value = next();
        std::memcpy(out, &value, bytes);
    }

  private:
    uint64_t state_;
};

struct TensorPlan {
    std::string name;
    TensorType type = TensorType::f32;
    uint64_t cols = 0, rows = 1;  ///< rows 1: a vector.
    float spread = 0;             ///< Largest value of a vector around `center`.
    float center = 0;
};

void put_half(char* at, float value) {
    const uint16_t half = float_to_half(value);
    std::memcpy(at, &half, 2);
}

/// One block whose values have about the variance 1 / cols and no mean.
void write_block(TensorType type, float deviation, Random& random, char* out, size_t bytes) {
    switch (type) {
        case TensorType::q4_k: {  // f16 d, dmin; u8 scales[12]; u8 codes[128]
            random.fill(out, bytes);
            // All scales and minima are 32: six bits each. The first eight bytes hold those of the
            // first four and the upper two bits of the others, whose lower four follow.
            std::memset(out + 4, 32 | 2 << 6, 8);
            std::memset(out + 12, 0, 4);
            const float d = deviation / (32 * 4.61f);
            put_half(out, d);
            put_half(out + 2, d * 7.5f);
            return;
        }
        case TensorType::q6_k: {  // u8 low[128]; u8 high[64]; i8 scales[16]; f16 d
            random.fill(out, bytes);
            std::memset(out + 192, 32, 16);
            put_half(out + 208, deviation / (32 * 18.5f));
            return;
        }
        case TensorType::q8_0: {  // f16 d; i8 codes[32]
            random.fill(out, bytes);
            put_half(out, deviation / 73.9f);
            return;
        }
        case TensorType::f16:
            return put_half(out, random.signed_unit() * 1.732f * deviation);
        case TensorType::bf16: {  // The upper half of a float32, which comes last.
            const float value = random.signed_unit() * 1.732f * deviation;
            std::memcpy(out, reinterpret_cast<const char*>(&value) + 2, 2);
            return;
        }
        default: {
            const float value = random.signed_unit() * 1.732f * deviation;
            std::memcpy(out, &value, sizeof value);
        }
    }
}

std::vector<TensorPlan> plan_tensors(const SyntheticShape& s) {
    std::vector<TensorPlan> tensors;
    const auto matrix = [&](const std::string& name, uint64_t cols, uint64_t rows, bool is_fine) {
        const bool is_mixed = s.type == TensorType::q4_k && is_fine;
        TensorType type = is_mixed ? TensorType::q6_k : s.type;
        // As llama.cpp does where rows are no whole super-blocks.
        if (cols % traits_of(type).block_values != 0) type = TensorType::q8_0;
        tensors.push_back({name, type, cols, rows});
    };
    const auto vector = [&](const std::string& name, uint64_t size, float center, float spread) {
        tensors.push_back({name, TensorType::f32, size, 1, spread, center});
    };
    const uint64_t q = uint64_t{s.num_heads} * s.head_dim,
                   kv = uint64_t{s.num_kv_heads} * s.head_dim;
    matrix("token_embd.weight", s.dim, s.num_vocab, s.is_tied);
    for (uint32_t i = 0; i < s.num_layers; ++i) {
        const std::string layer = "blk." + std::to_string(i) + ".";
        const bool is_fine = i % 2 == 0;
        vector(layer + "attn_norm.weight", s.dim, 1.0f, 0.2f);
        matrix(layer + "attn_q.weight", s.dim, q, false);
        matrix(layer + "attn_k.weight", s.dim, kv, false);
        matrix(layer + "attn_v.weight", s.dim, kv, is_fine);
        if (s.key_bias > 0) {
            vector(layer + "attn_q.bias", q, 0.0f, s.key_bias / 8);
            vector(layer + "attn_k.bias", kv, 0.0f, s.key_bias);
            vector(layer + "attn_v.bias", kv, 0.0f, 0.5f);
        }
        if (s.architecture == "qwen3") {
            vector(layer + "attn_q_norm.weight", s.head_dim, 1.0f, 0.2f);
            vector(layer + "attn_k_norm.weight", s.head_dim, 1.0f, 0.2f);
        }
        matrix(layer + "attn_output.weight", q, s.dim, false);
        if (s.architecture == "gemma2") {
            vector(layer + "post_attention_norm.weight", s.dim, 1.0f, 0.2f);
            vector(layer + "post_ffw_norm.weight", s.dim, 1.0f, 0.2f);
        }
        vector(layer + "ffn_norm.weight", s.dim, 1.0f, 0.2f);
        matrix(layer + "ffn_gate.weight", s.dim, s.hidden, false);
        matrix(layer + "ffn_up.weight", s.dim, s.hidden, false);
        matrix(layer + "ffn_down.weight", s.hidden, s.dim, is_fine);
    }
    vector("output_norm.weight", s.dim, 1.0f, 0.2f);
    if (!s.is_tied) matrix("output.weight", s.dim, s.num_vocab, true);
    return tensors;
}

GgufWriter make_header(const SyntheticShape& s) {
    GgufWriter writer;
    const std::string& a = s.architecture;
    writer.set_string("general.architecture", a);
    writer.set_string("general.name", "Synthetic " + a);
    writer.set(a + ".block_count", s.num_layers);
    writer.set(a + ".context_length", s.context);
    writer.set(a + ".embedding_length", s.dim);
    writer.set(a + ".feed_forward_length", s.hidden);
    writer.set(a + ".attention.head_count", s.num_heads);
    writer.set(a + ".attention.head_count_kv", s.num_kv_heads);
    writer.set(a + ".attention.key_length", s.head_dim);
    writer.set(a + ".attention.value_length", s.head_dim);
    writer.set(a + ".attention.layer_norm_rms_epsilon", 1e-5f);
    writer.set(a + ".rope.dimension_count", s.head_dim);
    writer.set(a + ".rope.freq_base", 500000.0f);
    writer.set(a + ".vocab_size", s.num_vocab);
    std::vector<std::string> tokens;
    for (uint32_t i = 0; i < s.num_vocab; ++i) tokens.push_back("t" + std::to_string(i));
    writer.set_string("tokenizer.ggml.model", "gpt2");
    writer.set_string("tokenizer.ggml.pre", "gpt-2");
    writer.set_strings("tokenizer.ggml.tokens", tokens);
    writer.set_numbers("tokenizer.ggml.token_type", std::vector<int32_t>(s.num_vocab, 1));
    writer.set_strings("tokenizer.ggml.merges", {});
    writer.set("tokenizer.ggml.eos_token_id", s.num_vocab - 1);
    return writer;
}

}  // namespace

std::optional<SyntheticShape> find_synthetic_shape(std::string_view name) {
    SyntheticShape shape;
    shape.type = TensorType::q4_k;
    if (name == "qwen2.5-0.5b") {
        // Source: config.json of Qwen/Qwen2.5-0.5B.
        shape.architecture = "qwen2";
        shape.num_layers = 24, shape.dim = 896, shape.num_heads = 14, shape.num_kv_heads = 2;
        shape.head_dim = 64, shape.hidden = 4864, shape.num_vocab = 151936;
        shape.is_tied = true, shape.key_bias = 100;
    } else if (name == "llama-3.2-1b") {
        // Source: config.json of meta-llama/Llama-3.2-1B.
        shape.num_layers = 16, shape.dim = 2048, shape.num_heads = 32, shape.num_kv_heads = 8;
        shape.head_dim = 64, shape.hidden = 8192, shape.num_vocab = 128256;
        shape.is_tied = true;
    } else if (name == "llama-3.1-8b") {
        // Source: config.json of meta-llama/Llama-3.1-8B.
        shape.num_layers = 32, shape.dim = 4096, shape.num_heads = 32, shape.num_kv_heads = 8;
        shape.head_dim = 128, shape.hidden = 14336, shape.num_vocab = 128256;
    } else {
        return std::nullopt;
    }
    return shape;
}

void write_synthetic_model(const std::filesystem::path& path, const SyntheticShape& shape) {
    const std::vector<TensorPlan> tensors = plan_tensors(shape);
    GgufWriter writer = make_header(shape);
    const auto aligned = [&](uint64_t bytes) {
        return (bytes + writer.alignment - 1) / writer.alignment * writer.alignment;
    };
    uint64_t offset = 0;
    for (const TensorPlan& tensor : tensors) {
        const TensorTypeTraits& traits = traits_of(tensor.type);
        GgufWriter::Tensor entry;
        entry.name = tensor.name;
        entry.type_id = static_cast<uint32_t>(tensor.type);
        entry.dims = {tensor.cols};
        if (tensor.spread == 0) entry.dims.push_back(tensor.rows);
        entry.offset = offset;
        offset += aligned(tensor.cols / traits.block_values * traits.block_bytes * tensor.rows);
        writer.add_tensor(std::move(entry));
    }
    std::ofstream file(path, std::ios::binary);
    std::string header = writer.header();
    header.resize(aligned(header.size()), '\0');
    file.write(header.data(), static_cast<std::streamsize>(header.size()));
    Random random(shape.seed);
    std::vector<char> piece;
    for (const TensorPlan& tensor : tensors) {
        const TensorTypeTraits& traits = traits_of(tensor.type);
        const uint64_t blocks = tensor.cols / traits.block_values * tensor.rows;
        const float deviation = 1.0f / std::sqrt(static_cast<float>(tensor.cols));
        constexpr uint64_t kBlocksAtOnce = 65536;
        for (uint64_t done = 0; done < blocks; done += kBlocksAtOnce) {
            const uint64_t count = std::min(kBlocksAtOnce, blocks - done);
            piece.resize(count * traits.block_bytes);
            for (uint64_t i = 0; i < count; ++i) {
                char* at = piece.data() + i * traits.block_bytes;
                if (tensor.spread > 0) {
                    const float value = tensor.center + tensor.spread * random.signed_unit();
                    std::memcpy(at, &value, sizeof value);
                } else {
                    write_block(tensor.type, deviation, random, at, traits.block_bytes);
                }
            }
            file.write(piece.data(), static_cast<std::streamsize>(piece.size()));
        }
        const uint64_t bytes = blocks * traits.block_bytes;
        const std::string padding(aligned(bytes) - bytes, '\0');
        file.write(padding.data(), static_cast<std::streamsize>(padding.size()));
    }
    if (!file) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace hokku::testing
