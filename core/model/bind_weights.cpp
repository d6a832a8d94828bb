// SPDX-License-Identifier: Apache-2.0
#include "model/bind_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/try.h"

namespace hokku {

namespace {

bool is_weight_type(TensorType type) {
    switch (type) {
        case TensorType::q8_1:
        case TensorType::q8_k:
        case TensorType::i8:
        case TensorType::i16:
        case TensorType::i32:
        case TensorType::i64:
        case TensorType::f64:
            return false;
        default:
            return true;
    }
}

std::string shape_text(std::initializer_list<uint64_t> dims) {
    std::string text;
    for (const uint64_t dim : dims) text += fmt::format("{}{}", text.empty() ? "" : ", ", dim);
    return "[" + text + "]";
}

std::string shape_text(const GgufTensor& tensor) {
    std::string text;
    for (uint32_t i = 0; i < tensor.num_dims; ++i)
        text += fmt::format("{}{}", i == 0 ? "" : ", ", tensor.ne[i]);
    return "[" + text + "]";
}

enum class Presence { required, optional };

/// Looks tensors up, checks them and remembers which were used. The first fault is kept.
class Binder {
  public:
    explicit Binder(const GgufFile& file)
        : file_(file), first_(file.tensors().data()), is_used_(file.tensors().size(), false) {}

    [[nodiscard]] bool has(std::string_view name) const {
        return file_.find_tensor(name) != nullptr;
    }
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

    WeightMatrix matrix(const std::string& name, uint32_t rows, uint32_t cols,
                        Presence presence = Presence::required) {
        const GgufTensor* tensor = take(name, {cols, rows}, presence);
        return tensor == nullptr ? WeightMatrix{} : view(*tensor, rows, cols, 0);
    }

    /// The `count` matrices of a three-dimensional tensor; empty when absent.
    std::vector<WeightMatrix> matrices(const std::string& name, uint32_t count, uint32_t rows,
                                       uint32_t cols) {
        const GgufTensor* tensor = take(name, {cols, rows, count}, Presence::required);
        std::vector<WeightMatrix> result;
        for (uint32_t i = 0; tensor != nullptr && i < count; ++i)
            result.push_back(view(*tensor, rows, cols, uint64_t{i} * rows));
        return result;
    }

    WeightVector vector(const std::string& name, uint32_t size,
                        Presence presence = Presence::required) {
        const GgufTensor* tensor = take(name, {size}, presence);
        return tensor == nullptr ? WeightVector{} : floats(*tensor, 0, size);
    }

    /// A [size, count] tensor of f32 as `count` vectors; empty when absent.
    std::vector<WeightVector> vectors(const std::string& name, uint32_t count, uint32_t size) {
        const GgufTensor* tensor = take(name, {size, count}, Presence::optional);
        std::vector<WeightVector> result;
        for (uint32_t i = 0; tensor != nullptr && i < count; ++i)
            result.push_back(floats(*tensor, uint64_t{i} * size, size));
        return result;
    }

    /// "name.weight" and, for LayerNorm, "name.bias". `heads` > 1: a [size, heads] weight.
    NormWeights norm(const std::string& name, uint32_t size, NormKind kind, uint32_t heads = 1) {
        NormWeights result;
        const std::string weight = name + ".weight";
        const GgufTensor* tensor = heads == 1 ? take(weight, {size}, Presence::required)
                                              : take(weight, {size, heads}, Presence::required);
        if (tensor != nullptr) result.weight = floats(*tensor, 0, size * heads);
        if (kind == NormKind::layer) result.bias = vector(name + ".bias", size, Presence::optional);
        return result;
    }

    void mark_block_used(uint32_t index) {
        const std::string prefix = fmt::format("blk.{}.", index);
        for (size_t i = 0; i < is_used_.size(); ++i)
            if (file_.tensors()[i].name.substr(0, prefix.size()) == prefix) is_used_[i] = true;
    }

    void mark_used(std::string_view name) {
        if (const GgufTensor* tensor = file_.find_tensor(name))
            is_used_[static_cast<size_t>(tensor - first_)] = true;
    }

    [[nodiscard]] const GgufTensor* first_unused() const {
        for (size_t i = 0; i < is_used_.size(); ++i)
            if (!is_used_[i]) return &file_.tensors()[i];
        return nullptr;
    }

    void fail(ErrorCode code, std::string what, std::string_view tensor, std::string expected) {
        if (error_) return;
        error_ = Error{code, std::move(what),
                       fmt::format("{}, tensor {}", file_.metadata().file_name(), tensor),
                       std::move(expected)};
    }

  private:
    const GgufTensor* take(const std::string& name, std::initializer_list<uint64_t> dims,
                           Presence presence) {
        if (error_) return nullptr;
        const GgufTensor* tensor = file_.find_tensor(name);
        if (tensor == nullptr) {
            if (presence == Presence::required)
                fail(ErrorCode::bad_format, "the tensor is missing", name,
                     "shape " + shape_text(dims));
            return nullptr;
        }
        is_used_[static_cast<size_t>(tensor - first_)] = true;
        // Trailing dimensions of 1 may be left out or written.
        size_t axis = 0;
        bool matches = true;
        for (const uint64_t dim : dims) matches = matches && tensor->ne[axis++] == dim;
        for (; axis < tensor->ne.size(); ++axis) matches = matches && tensor->ne[axis] == 1;
        if (!matches) {
            fail(ErrorCode::bad_format, "the tensor has the shape " + shape_text(*tensor), name,
                 "shape " + shape_text(dims));
            return nullptr;
        }
        return tensor;
    }

    WeightMatrix view(const GgufTensor& tensor, uint32_t rows, uint32_t cols, uint64_t first_row) {
        const TensorTypeTraits& traits = traits_of(tensor.type);
        if (!is_weight_type(tensor.type)) {
            fail(ErrorCode::unsupported,
                 fmt::format("weights of type {} are not supported", traits.name), tensor.name,
                 "a floating-point or quantised weight type");
            return {};
        }
        const uint64_t row_bytes = uint64_t{cols} / traits.block_values * traits.block_bytes;
        // The reader has checked rows * row_bytes against the data; this states it locally.
        if (cols % traits.block_values != 0 ||
            (first_row + rows) * row_bytes > tensor.data.size()) {
            fail(ErrorCode::bad_format, "the tensor's data is too short for its shape", tensor.name,
                 fmt::format("{} bytes", (first_row + rows) * row_bytes));
            return {};
        }
        return {.data = tensor.data.data() + first_row * row_bytes,
                .type = tensor.type,
                .rows = rows,
                .cols = cols,
                .row_stride = row_bytes};
    }

    WeightVector floats(const GgufTensor& tensor, uint64_t first, uint32_t size) {
        const bool is_aligned =
            reinterpret_cast<uintptr_t>(tensor.data.data()) % alignof(float) == 0;
        if (tensor.type != TensorType::f32 || !is_aligned ||
            (first + size) * sizeof(float) > tensor.data.size()) {
            fail(ErrorCode::bad_format,
                 fmt::format("the tensor has the type {}", traits_of(tensor.type).name),
                 tensor.name, "F32, at an offset divisible by 4");
            return {};
        }
        const auto* values = reinterpret_cast<const float*>(tensor.data.data());
        return {.data = values + first, .size = size};
    }

    const GgufFile& file_;
    const GgufTensor* first_;
    std::vector<bool> is_used_;
    std::optional<Error> error_;
};

void bind_attention(Binder& binder, const std::string& layer_name, const ModelSpec& spec,
                    const AttentionSpec& attention, LayerWeights& layer) {
    const auto named = [&](std::string_view slot) { return fmt::format("{}{}", layer_name, slot); };
    const uint32_t q_rows = attention.num_heads * attention.key_dim;
    const uint32_t k_rows = attention.num_kv_heads * attention.key_dim;
    const uint32_t v_rows = attention.num_kv_heads * attention.value_dim;
    const uint32_t mix = attention.num_heads * attention.value_dim;
    if (attention.fused_qkv) {
        const uint32_t all = q_rows + k_rows + v_rows;
        const WeightMatrix fused = binder.matrix(named("attn_qkv.weight"), all, spec.dim);
        layer.wq = rows_of(fused, 0, q_rows);
        layer.wk = rows_of(fused, q_rows, k_rows);
        layer.wv = rows_of(fused, q_rows + k_rows, v_rows);
        const WeightVector bias = binder.vector(named("attn_qkv.bias"), all, Presence::optional);
        layer.bq = part_of(bias, 0, q_rows);
        layer.bk = part_of(bias, q_rows, k_rows);
        layer.bv = part_of(bias, q_rows + k_rows, v_rows);
    } else {
        layer.wq = binder.matrix(named("attn_q.weight"), q_rows, spec.dim);
        layer.wk = binder.matrix(named("attn_k.weight"), k_rows, spec.dim);
        layer.wv = binder.matrix(named("attn_v.weight"), v_rows, spec.dim);
        layer.bq = binder.vector(named("attn_q.bias"), q_rows, Presence::optional);
        layer.bk = binder.vector(named("attn_k.bias"), k_rows, Presence::optional);
        layer.bv = binder.vector(named("attn_v.bias"), v_rows, Presence::optional);
    }
    layer.wo = binder.matrix(named("attn_output.weight"), spec.dim, mix);
    layer.bo = binder.vector(named("attn_output.bias"), spec.dim, Presence::optional);
    if (attention.has_sinks)
        layer.sinks = binder.vector(named("attn_sinks.weight"), attention.num_heads);

    const std::string q_norm = named("attn_q_norm"), k_norm = named("attn_k_norm");
    switch (attention.qk_norm) {
        case QkNorm::none:
            break;
        case QkNorm::per_head:
            layer.q_norm = binder.norm(q_norm, attention.key_dim, spec.norm);
            layer.k_norm = binder.norm(k_norm, attention.key_dim, spec.norm);
            break;
        case QkNorm::per_head_own:
            layer.q_norm = binder.norm(q_norm, attention.key_dim, spec.norm, attention.num_heads);
            layer.k_norm =
                binder.norm(k_norm, attention.key_dim, spec.norm, attention.num_kv_heads);
            break;
        case QkNorm::whole:
            layer.q_norm = binder.norm(q_norm, q_rows, spec.norm);
            layer.k_norm = binder.norm(k_norm, k_rows, spec.norm);
            break;
    }
}

void bind_experts(Binder& binder, const std::string& layer_name, const ModelSpec& spec,
                  const ExpertSpec& experts, bool gated, LayerWeights& layer) {
    const auto named = [&](std::string_view slot) { return fmt::format("{}{}", layer_name, slot); };
    const uint32_t count = experts.num_experts, dim = spec.dim, hidden = experts.hidden;
    layer.router = binder.matrix(named("ffn_gate_inp.weight"), count, dim);
    layer.router_bias = binder.vector(named("ffn_gate_inp.bias"), count, Presence::optional);
    if (experts.has_selection_bias)
        layer.router_selection_bias = binder.vector(named("exp_probs_b.bias"), count);
    if (gated) {
        layer.expert_gate = binder.matrices(named("ffn_gate_exps.weight"), count, hidden, dim);
        layer.b_expert_gate = binder.vectors(named("ffn_gate_exps.bias"), count, hidden);
    }
    layer.expert_up = binder.matrices(named("ffn_up_exps.weight"), count, hidden, dim);
    layer.b_expert_up = binder.vectors(named("ffn_up_exps.bias"), count, hidden);
    layer.expert_down = binder.matrices(named("ffn_down_exps.weight"), count, dim, hidden);
    layer.b_expert_down = binder.vectors(named("ffn_down_exps.bias"), count, dim);
    if (const uint32_t shared = experts.shared_hidden; shared > 0) {
        if (gated) layer.shared_gate = binder.matrix(named("ffn_gate_shexp.weight"), shared, dim);
        layer.shared_up = binder.matrix(named("ffn_up_shexp.weight"), shared, dim);
        layer.shared_down = binder.matrix(named("ffn_down_shexp.weight"), dim, shared);
        if (experts.shared_gate)
            layer.shared_router = binder.matrix(named("ffn_gate_inp_shexp.weight"), 1, dim);
    }
}

void bind_dense(Binder& binder, const std::string& layer_name, const ModelSpec& spec,
                const FfnSpec& ffn, LayerWeights& layer) {
    const auto named = [&](std::string_view slot) { return fmt::format("{}{}", layer_name, slot); };
    const uint32_t hidden = ffn.hidden;
    if (ffn.gated && ffn.fused_gate_up) {
        const WeightMatrix fused = binder.matrix(named("ffn_up.weight"), 2 * hidden, spec.dim);
        layer.gate = rows_of(fused, 0, hidden);
        layer.up = rows_of(fused, hidden, hidden);
        const WeightVector bias =
            binder.vector(named("ffn_up.bias"), 2 * hidden, Presence::optional);
        layer.b_gate = part_of(bias, 0, hidden);
        layer.b_up = part_of(bias, hidden, hidden);
    } else {
        if (ffn.gated) {
            layer.gate = binder.matrix(named("ffn_gate.weight"), hidden, spec.dim);
            layer.b_gate = binder.vector(named("ffn_gate.bias"), hidden, Presence::optional);
        }
        layer.up = binder.matrix(named("ffn_up.weight"), hidden, spec.dim);
        layer.b_up = binder.vector(named("ffn_up.bias"), hidden, Presence::optional);
    }
    layer.down = binder.matrix(named("ffn_down.weight"), spec.dim, hidden);
    layer.b_down = binder.vector(named("ffn_down.bias"), spec.dim, Presence::optional);
}

void bind_layer(Binder& binder, const arch::Declaration& declaration, uint32_t index,
                LayerWeights& layer) {
    const ModelSpec& spec = declaration.spec;
    const LayerSpec& layer_spec = spec.layers[index];
    const std::string name = fmt::format("blk.{}.", index);
    const auto norm = [&](bool present, std::string_view slot) {
        return present ? binder.norm(fmt::format("{}{}", name, slot), spec.dim, spec.norm)
                       : NormWeights{};
    };
    layer.mixer_norm = norm(layer_spec.pre_mixer_norm, "attn_norm");
    layer.mixer_post_norm = norm(layer_spec.post_mixer_norm, "post_attention_norm");
    layer.ffn_norm = norm(layer_spec.pre_ffn_norm, declaration.names.ffn_norm);
    layer.ffn_post_norm = norm(layer_spec.post_ffn_norm, "post_ffw_norm");
    if (const AttentionSpec* attention = layer_spec.attention())
        bind_attention(binder, name, spec, *attention, layer);
    else
        binder.fail(ErrorCode::unsupported, "this kind of layer is not supported", name,
                    "softmax attention");
    const FfnSpec& ffn = layer_spec.ffn;
    if (ffn.hidden > 0) bind_dense(binder, name, spec, ffn, layer);
    if (ffn.experts) bind_experts(binder, name, spec, *ffn.experts, ffn.gated, layer);
}

}  // namespace

Result<Weights> bind_weights(const GgufFile& file, const arch::Declaration& declaration) {
    const ModelSpec& spec = declaration.spec;
    Binder binder(file);
    Weights weights;
    weights.embedding = binder.matrix("token_embd.weight", spec.num_vocab, spec.dim);
    if (spec.num_learned_positions > 0)
        weights.positions =
            binder.matrix("position_embd.weight", spec.num_learned_positions, spec.dim);
    weights.final_norm = binder.norm("output_norm", spec.dim, spec.norm);
    weights.head = binder.matrix("output.weight", spec.num_vocab, spec.dim, Presence::optional);
    if (!weights.head) weights.head = weights.embedding;  // tied
    weights.head_bias = binder.vector("output.bias", spec.num_vocab, Presence::optional);
    weights.layers.resize(spec.num_layers);
    for (uint32_t i = 0; i < spec.num_layers && !binder.error(); ++i)
        bind_layer(binder, declaration, i, weights.layers[i]);

    // Read by the declaration.
    for (const std::string_view name :
         {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"})
        binder.mark_used(name);
    for (uint32_t i = 0; i < declaration.num_unused_blocks; ++i)
        binder.mark_block_used(spec.num_layers + i);
    if (const GgufTensor* unused = binder.first_unused())
        binder.fail(ErrorCode::unsupported,
                    fmt::format("the tensor is not part of the architecture {} as it is supported",
                                spec.architecture),
                    unused->name, "only tensors that the model uses");
    if (binder.error()) return *binder.error();
    return weights;
}

}  // namespace hokku
