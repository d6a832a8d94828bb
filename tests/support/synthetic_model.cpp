// SPDX-License-Identifier: Apache-2.0
#include "support/synthetic_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "support/gguf_writer.h"
#include "support/random_blocks.h"

namespace hokku::testing {

namespace {

struct TensorPlan {
    std::string name;
    TensorType type = TensorType::f32;
    uint64_t cols = 0, rows = 0;  ///< rows 0: a vector.
    uint64_t count = 1;           ///< Matrices of experts.
    float spread = 0;             ///< Largest value around `center`; 0: the variance is 1 / cols.
    float center = 0;

    [[nodiscard]] uint64_t num_blocks() const {
        return cols / traits_of(type).block_values * std::max<uint64_t>(rows, 1) * count;
    }
    [[nodiscard]] uint64_t num_bytes() const { return num_blocks() * traits_of(type).block_bytes; }
};

/// What architectures have beside the rest.
struct Family {
    explicit Family(const std::string& name)
        : has_head_norms(name == "qwen3" || name == "qwen3moe" || name == "gemma3"),
          has_post_norms(name == "gemma2" || name == "gemma3"),
          has_layer_norm(name == "stablelm" || name == "phi2"),
          is_phi2(name == "phi2"),
          is_gptoss(name == "gpt-oss") {}
    bool has_head_norms, has_post_norms, has_layer_norm;
    bool is_phi2;    ///< One norm, no gates, biases everywhere.
    bool is_gptoss;  ///< Sinks, biases of experts; only they have the model's type.
};

class TensorPlans {
  public:
    explicit TensorPlans(const SyntheticShape& shape) : s_(shape), family_(shape.architecture) {}

    std::vector<TensorPlan> take() {
        matrix("token_embd.weight", s_.dim, s_.num_vocab, s_.is_tied);
        for (uint32_t i = 0; i < s_.num_layers; ++i) {
            layer_ = "blk." + std::to_string(i) + ".";
            add_attention(i % 2 == 0);
            if (family_.is_gptoss) norm("post_attention_norm");
            if (!family_.is_gptoss && !family_.is_phi2) norm("ffn_norm");
            s_.num_experts > 0 ? add_experts() : add_ffn(i % 2 == 0);
        }
        layer_.clear();
        norm("output_norm");
        if (!s_.is_tied) matrix("output.weight", s_.dim, s_.num_vocab, true);
        if (family_.is_phi2) vector("output.bias", s_.num_vocab, 0.0f, 0.1f);
        return std::move(tensors_);
    }

  private:
    void add_attention(bool is_fine) {
        const uint64_t q = uint64_t{s_.num_heads} * s_.head_dim,
                       kv = uint64_t{s_.num_kv_heads} * s_.head_dim;
        norm("attn_norm");
        matrix("attn_q.weight", s_.dim, q, false);
        matrix("attn_k.weight", s_.dim, kv, false);
        matrix("attn_v.weight", s_.dim, kv, is_fine);
        if (s_.key_bias > 0) {
            vector("attn_q.bias", q, 0.0f, s_.key_bias / 8);
            vector("attn_k.bias", kv, 0.0f, s_.key_bias);
            vector("attn_v.bias", kv, 0.0f, 0.5f);
        }
        if (family_.has_head_norms) {
            vector("attn_q_norm.weight", s_.head_dim, 1.0f, 0.2f);
            vector("attn_k_norm.weight", s_.head_dim, 1.0f, 0.2f);
        }
        matrix("attn_output.weight", q, s_.dim, false);
        if (family_.is_phi2 || family_.is_gptoss) vector("attn_output.bias", s_.dim, 0.0f, 0.2f);
        if (family_.is_gptoss) vector("attn_sinks.weight", s_.num_heads, 0.0f, 2.0f);
        if (family_.has_post_norms) {
            norm("post_attention_norm");
            norm("post_ffw_norm");
        }
    }

    void add_ffn(bool is_fine) {
        if (!family_.is_phi2) matrix("ffn_gate.weight", s_.dim, s_.hidden, false);
        matrix("ffn_up.weight", s_.dim, s_.hidden, false);
        matrix("ffn_down.weight", s_.hidden, s_.dim, is_fine);
        if (!family_.is_phi2) return;
        vector("ffn_up.bias", s_.hidden, 0.0f, 0.2f);
        vector("ffn_down.bias", s_.dim, 0.0f, 0.2f);
    }

    void add_experts() {
        const auto experts = [&](const std::string& name, uint64_t cols, uint64_t rows) {
            add({layer_ + name + ".weight", fitting(s_.type, cols), cols, rows, s_.num_experts});
            if (!family_.is_gptoss) return;
            add({layer_ + name + ".bias", TensorType::f32, rows, s_.num_experts, 1, 0.2f});
        };
        add({layer_ + "ffn_gate_inp.weight", TensorType::f32, s_.dim, s_.num_experts});
        if (family_.is_gptoss) vector("ffn_gate_inp.bias", s_.num_experts, 0.0f, 0.2f);
        experts("ffn_gate_exps", s_.dim, s_.hidden);
        experts("ffn_up_exps", s_.dim, s_.hidden);
        experts("ffn_down_exps", s_.hidden, s_.dim);
    }

    /// As llama.cpp does where rows are no whole super-blocks.
    static TensorType fitting(TensorType type, uint64_t cols) {
        return cols % traits_of(type).block_values != 0 ? TensorType::q8_0 : type;
    }
    void add(TensorPlan plan) { tensors_.push_back(std::move(plan)); }
    void matrix(const std::string& name, uint64_t cols, uint64_t rows, bool is_fine) {
        TensorType type = family_.is_gptoss ? TensorType::q8_0 : s_.type;
        if (s_.type == TensorType::q4_k && is_fine) type = TensorType::q6_k;
        add({layer_ + name, fitting(type, cols), cols, rows});
    }
    void vector(const std::string& name, uint64_t size, float center, float spread) {
        add({layer_ + name, TensorType::f32, size, 0, 1, spread, center});
    }
    void norm(const std::string& name) {
        vector(name + ".weight", s_.dim, 1.0f, 0.2f);
        if (family_.has_layer_norm) vector(name + ".bias", s_.dim, 0.0f, 0.2f);
    }

    const SyntheticShape& s_;
    Family family_;
    std::string layer_;
    std::vector<TensorPlan> tensors_;
};

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
    writer.set(a + (Family(a).has_layer_norm ? ".attention.layer_norm_epsilon"
                                             : ".attention.layer_norm_rms_epsilon"),
               1e-5f);
    writer.set(a + ".rope.dimension_count", s.rope_dims > 0 ? s.rope_dims : s.head_dim);
    if (s.window > 0) writer.set(a + ".attention.sliding_window", s.window);
    if (s.num_experts > 0) {
        writer.set(a + ".expert_count", s.num_experts);
        writer.set(a + ".expert_used_count", s.num_experts_used);
        writer.set(a + ".expert_feed_forward_length", s.hidden);
    }
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
    const std::vector<TensorPlan> tensors = TensorPlans(shape).take();
    GgufWriter writer = make_header(shape);
    const auto aligned = [&](uint64_t bytes) {
        return (bytes + writer.alignment - 1) / writer.alignment * writer.alignment;
    };
    uint64_t offset = 0;
    for (const TensorPlan& tensor : tensors) {
        GgufWriter::Tensor entry;
        entry.name = tensor.name;
        entry.type_id = static_cast<uint32_t>(tensor.type);
        entry.dims = {tensor.cols};
        if (tensor.rows > 0) entry.dims.push_back(tensor.rows);
        if (tensor.count > 1) entry.dims.push_back(tensor.count);
        entry.offset = offset;
        offset += aligned(tensor.num_bytes());
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
        const uint64_t blocks = tensor.num_blocks();
        const RandomBlocks random_blocks(tensor.type,
                                         1.0f / std::sqrt(static_cast<float>(tensor.cols)));
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
                    random_blocks.write(random, at);
                }
            }
            file.write(piece.data(), static_cast<std::streamsize>(piece.size()));
        }
        const uint64_t bytes = tensor.num_bytes();
        const std::string padding(aligned(bytes) - bytes, '\0');
        file.write(padding.data(), static_cast<std::streamsize>(padding.size()));
    }
    if (!file) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace hokku::testing
