// SPDX-License-Identifier: Apache-2.0
// The way of a token through the model. Reads down the page: run, embed, run_layer with its stages
// in order, head. Shapes are [rows][features], rows being the tokens of the step.
#include "backend/cpu/forward.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "backend/dequantize.h"

namespace hokku::cpu {

namespace {

/// Whether any of n values is infinite or not a number.
bool has_nonfinite(const float* x, size_t n) {
    uint32_t bad = 0;
    for (size_t i = 0; i < n; ++i) {
        uint32_t bits;
        std::memcpy(&bits, x + i, sizeof bits);
        bad |= (bits & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
    }
    return bad != 0;
}

void scale_values(float* x, size_t n, float factor) {
    if (factor == 1.0f) return;
    for (size_t i = 0; i < n; ++i) x[i] *= factor;
}

}  // namespace

Forward::Forward(const ModelShard& shard, const KernelTable& kernels, ForwardMemory& memory,
                 StepState& state, const Lane& lane, Communicator* others)
    : shard_(shard),
      spec_(shard.spec),
      weights_(shard.weights),
      kernels_(kernels),
      memory_(memory),
      buffers_(memory.buffers),
      state_(state),
      step_(*state.step),
      lane_(lane),
      others_(others),
      own_(memory.buffers.lanes[lane.index]) {
    set_num_rows(state.num_rows, state.num_vector_rows);
    input_ = normed_;
    q_ = few_ ? own_.q : buffers_.q;
}

void Forward::set_num_rows(uint32_t num_rows, uint32_t num_vector_rows) {
    num_rows_ = num_rows;
    num_vector_rows_ = num_vector_rows;
    few_ = num_rows <= kFewRows;
    rows_ = few_ ? Lane::Range{0, num_rows} : lane_.share(num_rows);
    x_ = few_ ? own_.x : buffers_.x;
    normed_ = few_ ? own_.normed : buffers_.normed;
}

void Forward::run() {
    place_rows();
    wait_for_weights(0);  // and for the table, which comes with them
    embed();
    for (uint32_t i = 0; i < spec_.num_layers; ++i) {
        if (!run_layer(i)) return;
        wait_for_weights(i + 1);
    }
    if (!spec_.part.is_last) {
        give_hidden();
    } else if (num_rows_ > 0) {
        head();
    }
}

// ---- embed -------------------------------------------------------------------------------------

/// Positions and rotation angles, shared by all layers: lanes share the rows.
void Forward::place_rows() {
    const Lane::Range rows = lane_.share(num_rows_);
    for (const StepSequence& sequence : step_.sequences) {
        const uint32_t end = sequence.first_row + sequence.num_rows;
        for (uint32_t row = std::max(rows.begin, sequence.first_row); row < std::min(rows.end, end);
             ++row)
            buffers_.row_position[row] = sequence.num_cached + (row - sequence.first_row);
    }
    for (uint32_t row = rows.begin; row < rows.end; ++row) {
        const auto position = static_cast<float>(buffers_.row_position[row]);
        float* cos_sin = buffers_.cos_sin + row * buffers_.rope_floats;
        for (const RopeSpec& rope : spec_.ropes) {
            const size_t half = rope.num_dims / 2;
            const bool is_long = state_.use_long_rope && !rope.long_inv_freq.empty();
            const auto& inv_freq = is_long ? rope.long_inv_freq : rope.inv_freq;
            for (size_t i = 0; i < half; ++i) {
                const float angle = position * inv_freq[i];
                cos_sin[i] = std::cos(angle) * rope.magnitude;
                cos_sin[half + i] = std::sin(angle) * rope.magnitude;
            }
            cos_sin += rope.num_dims;
        }
    }
    lane_.barrier();
}

void Forward::embed() {
    if (!spec_.part.is_first) {
        const size_t begin = rows_.begin * buffers_.dim, end = rows_.end * buffers_.dim;
        std::copy_n(step_.hidden.data() + begin, end - begin, x_ + begin);
        return;
    }
    if (others_) {
        embed_together();
    } else {
        for (uint32_t row = rows_.begin; row < rows_.end; ++row)
            look_up(row, x_ + row * buffers_.dim);
    }
    if (const WeightMatrix& positions = weights_.positions) {
        for (uint32_t row = rows_.begin; row < rows_.end; ++row) {
            const size_t position = buffers_.row_position[row];
            dequantize_row(positions.type, positions.data + position * positions.row_stride,
                           spec_.dim, own_.y);
            kernels_.add_scaled(x_ + row * buffers_.dim, own_.y, 1.0f, spec_.dim);
        }
    }
    trace("embed", x_ + (num_rows_ - 1) * buffers_.dim, spec_.dim);
}

/// One row of the table, of any weight type.
void Forward::look_up(uint32_t row, float* x) const {
    const WeightMatrix& table = weights_.embedding;
    const auto token = static_cast<uint32_t>(step_.tokens[row]) - shard_.plan.vocab.begin;
    dequantize_row(table.type, table.data + token * table.row_stride, spec_.dim, x);
    scale_values(x, spec_.dim, spec_.embedding_scale);
}

// ---- layer -------------------------------------------------------------------------------------

bool Forward::run_layer(uint32_t index) {
    layer_ = index;
    const LayerSpec& layer = spec_.layers[index];
    const LayerWeights& weights = weights_.layers[index];
    const AttentionSpec& attention = *layer.attention();
    const size_t dim = buffers_.dim;
    size_t last = num_rows_ - 1;

    // Read by all lanes of all ranks once they have met at attn_out, so that they agree.
    if (leads() && step_.stop.stop_requested()) state_.is_cancelled = true;

    // attn_norm
    norm_rows(weights.mixer_norm);
    trace_stage("attn_norm", input_ + last * dim, dim);

    // q, k, v
    project_qkv(attention, weights);

    // q_rope, k_rope
    rotate_and_append(attention, weights, index);

    // The last layer's KV is stored; the rest of it matters for rows with logits only.
    if (index + 1 == spec_.num_layers && spec_.part.is_last && step_.trace == nullptr) {
        keep_wanted_rows();
        if (num_rows_ == 0) return true;
        last = num_rows_ - 1;
    }

    // attn_mix
    mix_values(attention, weights, index);

    // attn_out
    const MatmulTarget attn_out{.weight = &weights.wo,
                                .bias = weights.bo.data,
                                .out = buffers_.attn_out,
                                .out_stride = dim};
    matmul(lane_, kernels_, memory_.matmul, all_rows(buffers_.mix, buffers_.mix_dim),
           {&attn_out, 1});
    if (!layer.ffn.experts) read_ahead(layer.ffn.gated ? weights.gate : weights.up);
    add_up(buffers_.attn_out);
    if (state_.is_cancelled) return false;
    trace_stage("attn_out", buffers_.attn_out + last * dim, dim);
    if (layer.residual == Residual::sequential)
        add_rows(buffers_.attn_out, weights.mixer_post_norm);

    // ffn_in
    if (layer.residual != Residual::parallel_shared) norm_rows(weights.ffn_norm);
    trace_stage("ffn_in", input_ + last * dim, dim);

    // ffn_out
    if (layer.ffn.experts) {
        run_experts(layer.ffn, weights);
    } else {
        run_dense(layer.ffn, weights);
    }
    trace_stage("ffn_out", buffers_.ffn_out + last * dim, dim);
    if (layer.residual != Residual::sequential)
        add_rows(buffers_.attn_out, weights.mixer_post_norm);
    add_rows(buffers_.ffn_out, weights.ffn_post_norm);

    if (state_.find_nonfinite) look_for_nonfinite(index);
    trace("", x_ + last * dim, dim);
    return true;
}

void Forward::project_qkv(const AttentionSpec& spec, const LayerWeights& weights) {
    const std::array<MatmulTarget, 3> targets = {
        {{&weights.wq, weights.bq.data, buffers_.q, buffers_.q_dim},
         {&weights.wk, weights.bk.data, buffers_.k, buffers_.k_dim},
         {&weights.wv, weights.bv.data, buffers_.v, buffers_.v_dim}}};
    // Errors of q and k go through the exponential of the softmax: this product is worth more
    // digits.
    multiply(all_rows(input_, buffers_.dim), targets, Precision::fine);
    const size_t last = num_rows_ - 1;
    trace_heads("q", buffers_.q + last * buffers_.q_dim, HeadKind::query, spec.key_dim,
                spec.is_permuted);
    trace_heads("k", buffers_.k + last * buffers_.k_dim, HeadKind::kv, spec.key_dim,
                spec.is_permuted);
    trace_heads("v", buffers_.v + last * buffers_.v_dim, HeadKind::kv, spec.value_dim);
}

void Forward::rotate_and_append(const AttentionSpec& spec, const LayerWeights& weights,
                                uint32_t index) {
    const size_t q_floats = size_t{spec.num_heads} * spec.key_dim;
    const size_t k_floats = size_t{spec.num_kv_heads} * spec.key_dim;
    const float* k = few_ ? own_.k : buffers_.k;
    if (others_ && spec.qk_norm == QkNorm::whole) add_up_head_squares(spec);
    for (uint32_t row = rows_.begin; row < rows_.end; ++row) {
        float* row_q = buffers_.q + row * buffers_.q_dim;
        float* row_k = buffers_.k + row * buffers_.k_dim;
        if (few_) {
            row_q = std::copy_n(row_q, q_floats, own_.q + row * buffers_.q_dim) - q_floats;
            row_k = std::copy_n(row_k, k_floats, own_.k + row * buffers_.k_dim) - k_floats;
        }
        prepare_heads(spec, weights, row, row_q, row_k);
    }
    settle();
    const size_t last = num_rows_ - 1;
    trace_heads("q_rope", q_ + last * buffers_.q_dim, HeadKind::query, spec.key_dim,
                spec.is_permuted);
    trace_heads("k_rope", k + last * buffers_.k_dim, HeadKind::kv, spec.key_dim, spec.is_permuted);

    for (const StepSequence& sequence : step_.sequences) {
        append_kv(lane_, memory_.kv.pages(index, sequence.blocks.data()),
                  k + sequence.first_row * buffers_.k_dim, buffers_.k_dim,
                  buffers_.v + sequence.first_row * buffers_.v_dim, buffers_.v_dim,
                  sequence.num_rows, sequence.num_cached, spec.num_kv_heads, spec.key_dim,
                  spec.value_dim);
    }
    lane_.barrier();
}

void Forward::prepare_heads(const AttentionSpec& spec, const LayerWeights& weights, uint32_t row,
                            float* q, float* k) const {
    if (!spec.qk_norm_after_rope) norm_q_and_k(spec, weights, row, q, k);
    if (spec.rope_index >= 0) {
        const auto rope_index = static_cast<size_t>(spec.rope_index);
        const float* cos_sin = buffers_.cos_sin + row * buffers_.rope_floats;
        for (size_t i = 0; i < rope_index; ++i) cos_sin += spec_.ropes[i].num_dims;
        const RopeSpec& rope = spec_.ropes[rope_index];
        const auto rotate =
            rope.pairing == RopePairing::halves ? kernels_.rope_halves : kernels_.rope_interleaved;
        for (uint32_t head = 0; head < spec.num_heads; ++head)
            rotate(q + size_t{head} * spec.key_dim, cos_sin, rope.num_dims);
        for (uint32_t head = 0; head < spec.num_kv_heads; ++head)
            rotate(k + size_t{head} * spec.key_dim, cos_sin, rope.num_dims);
    }
    if (spec.qk_norm_after_rope) norm_q_and_k(spec, weights, row, q, k);
    if (spec.temperature_span > 0) {
        const auto spans = static_cast<float>(buffers_.row_position[row] / spec.temperature_span);
        scale_values(q, size_t{spec.num_heads} * spec.key_dim,
                     1.0f + spec.temperature * std::log(1.0f + spans));
    }
}

void Forward::keep_wanted_rows() {
    const auto num_wanted = static_cast<uint32_t>(step_.logit_rows.size());
    if (num_wanted == num_rows_) return;
    const float* x = x_;
    const float* normed = normed_;
    const bool input_is_normed = input_ == normed_;
    is_narrowed_ = true;
    set_num_rows(num_wanted, state_.num_vector_logits);
    input_ = input_is_normed ? normed_ : x_;
    // Rows ascend, so that packing them in place overwrites only what has been read. Shared
    // buffers are packed by one lane; the barrier after attention shows them to all.
    if (!few_ && lane_.index != 0) return;
    const size_t dim = buffers_.dim;
    for (uint32_t i = 0; i < num_wanted; ++i) {
        const size_t row = step_.logit_rows[i];
        std::memmove(x_ + i * dim, x + row * dim, dim * sizeof(float));
        if (input_is_normed)
            std::memmove(normed_ + i * dim, normed + row * dim, dim * sizeof(float));
    }
}

void Forward::mix_values(const AttentionSpec& spec, const LayerWeights& weights, uint32_t index) {
    uint32_t next_wanted = 0;
    for (const StepSequence& sequence : step_.sequences) {
        AttentionCall call{.q = q_ + sequence.first_row * buffers_.q_dim,
                           .q_stride = buffers_.q_dim,
                           .out = buffers_.mix + sequence.first_row * buffers_.mix_dim,
                           .out_stride = buffers_.mix_dim,
                           .kv = memory_.kv.pages(index, sequence.blocks.data()),
                           .num_rows = sequence.num_rows,
                           .first_position = sequence.num_cached,
                           .num_heads = spec.num_heads,
                           .num_kv_heads = spec.num_kv_heads,
                           .key_dim = spec.key_dim,
                           .value_dim = spec.value_dim,
                           .scale = spec.scale,
                           .logit_softcap = spec.logit_softcap,
                           .window = spec.window,
                           .sinks = weights.sinks.data};
        if (!is_narrowed_) {
            attention(lane_, kernels_, memory_.attention, call);
            continue;
        }
        // One call for each wanted row of this sequence.
        call.num_rows = 1;
        for (; next_wanted < num_rows_; ++next_wanted) {
            const uint32_t row = step_.logit_rows[next_wanted];
            if (row >= sequence.first_row + sequence.num_rows) break;
            call.q = q_ + row * buffers_.q_dim;
            call.out = buffers_.mix + next_wanted * buffers_.mix_dim;
            call.first_position = sequence.num_cached + (row - sequence.first_row);
            attention(lane_, kernels_, memory_.attention, call);
        }
    }
    read_ahead(weights.wo);
    lane_.barrier();
    trace_heads("attn_mix", buffers_.mix + (num_rows_ - 1) * buffers_.mix_dim, HeadKind::query,
                spec.value_dim);
}

// ---- FFN ---------------------------------------------------------------------------------------

void Forward::run_dense(const FfnSpec& spec, const LayerWeights& weights) {
    // gate, up: without a gate the activation is of up itself, which then takes gate's place.
    const MatmulTarget gate{&weights.gate, weights.b_gate.data, buffers_.gate, spec.hidden};
    const MatmulTarget up{&weights.up, weights.b_up.data, spec.gated ? buffers_.up : buffers_.gate,
                          spec.hidden};
    const std::array<MatmulTarget, 2> both = {gate, up};
    const std::span<const MatmulTarget> targets(both);
    matmul(lane_, kernels_, memory_.matmul, all_rows(input_, buffers_.dim),
           spec.gated ? targets : targets.subspan(1));
    read_ahead(weights.down);
    activate_rows(spec, num_rows_, spec.hidden);

    // down
    const MatmulTarget down{&weights.down, weights.b_down.data, buffers_.ffn_out, buffers_.dim};
    matmul(lane_, kernels_, memory_.matmul, all_rows(buffers_.gate, spec.hidden), {&down, 1});
    read_ahead(layer_ + 1 < spec_.num_layers ? weights_.layers[layer_ + 1].wq : weights_.head);
    add_up(buffers_.ffn_out);
}

/// Of the products of gate and up. Begins and ends with a barrier.
void Forward::activate_rows(const FfnSpec& spec, uint32_t num_rows, size_t hidden) {
    lane_.barrier();
    const size_t total = num_rows * hidden;
    const size_t begin = total * lane_.index / lane_.count;
    const size_t end = total * (lane_.index + 1) / lane_.count;
    activate(spec, buffers_.gate + begin, spec.gated ? buffers_.up + begin : nullptr, end - begin);
    lane_.barrier();
}

void Forward::activate(const FfnSpec& spec, float* gate, const float* up, size_t n) const {
    switch (spec.activation) {
        case Activation::silu:
            return kernels_.silu_mul(gate, up, n);
        case Activation::gelu_tanh:
            return kernels_.gelu_tanh_mul(gate, up, n);
        case Activation::gelu_erf:
            return kernels_.gelu_erf_mul(gate, up, n);
        case Activation::relu_squared:
            return kernels_.relu_squared_mul(gate, up, n);
        case Activation::swiglu_clamped:
            // Source: the gpt-oss model card, arXiv:2508.10925: alpha 1.702, limit 7.
            for (size_t i = 0; i < n; ++i) {
                const float g = std::min(gate[i], 7.0f);
                const float u = std::clamp(up[i], -7.0f, 7.0f);
                gate[i] = g / (1.0f + std::exp(-1.702f * g)) * (u + 1.0f);
            }
            return;
        case Activation::xielu:
            for (size_t i = 0; i < n; ++i) {
                const float g = gate[i];
                const float curve =
                    g > 0 ? spec.xielu.alpha_p * g * g
                          : (std::expm1(std::min(g, spec.xielu.eps)) - g) * spec.xielu.alpha_n;
                gate[i] = (curve + spec.xielu.beta * g) * (up ? up[i] : 1.0f);
            }
            return;
    }
}

// ---- head --------------------------------------------------------------------------------------

void Forward::head() {
    const size_t dim = buffers_.dim, num_vocab = spec_.num_vocab;
    settle();
    if (step_.trace != nullptr) {
        norm(own_.y, x_ + (num_rows_ - 1) * dim, weights_.final_norm, dim);
        trace("final_norm", own_.y, dim);
    }

    // final_norm: of the wanted rows alone, packed together.
    const auto num_logits = static_cast<uint32_t>(step_.logit_rows.size());
    if (num_logits == 0) return;
    const Lane::Range share = few_ ? Lane::Range{0, num_logits} : lane_.share(num_logits);
    for (uint32_t i = share.begin; i < share.end; ++i) {
        const size_t row = is_narrowed_ ? i : step_.logit_rows[i];
        norm(normed_ + i * dim, x_ + row * dim, weights_.final_norm, dim);
    }
    settle();

    // logits
    const MatmulTarget logits{&weights_.head, weights_.head_bias.data, buffers_.logits, num_vocab};
    const MatmulInput input{normed_, dim, num_logits, state_.num_vector_logits};
    if (memory_.screen && screen_head(input, logits)) return;
    multiply(input, {&logits, 1}, Precision::fine);
    const size_t total = num_logits * num_vocab;
    const size_t begin = total * lane_.index / lane_.count;
    const size_t end = total * (lane_.index + 1) / lane_.count;
    finish_logits(buffers_.logits + begin, end - begin);
    if (others_) gather_logits();
}

/// false: all logits are still to be computed.
bool Forward::screen_head(const MatmulInput& x, const MatmulTarget& logits) {
    HeadScreen& screen = *memory_.screen;
    switch (screen.mode()) {
        case HeadScreen::Mode::off:
            return false;
        case HeadScreen::Mode::observe:
            if (lane_.index == 0) screen.observe(x);
            return false;
        case HeadScreen::Mode::copy:
            screen.copy_part(lane_);
            return false;
        case HeadScreen::Mode::screen:
            screen.multiply(lane_, memory_.matmul, x, logits,
                            [this](float* part, size_t n) { finish_logits(part, n); });
            return true;
    }
    return false;
}

void Forward::finish_logits(float* logits, size_t n) {
    scale_values(logits, n, spec_.logit_scale);
    if (has_nonfinite(logits, n)) state_.is_nonfinite = true;
    if (spec_.final_softcap > 0) kernels_.softcap(logits, spec_.final_softcap, n);
}

/// The residual stream of all rows to where the next layers' owner finds it.
void Forward::give_hidden() {
    const size_t begin = rows_.begin * buffers_.dim, end = rows_.end * buffers_.dim;
    if (has_nonfinite(x_ + begin, end - begin)) state_.is_nonfinite = true;
    if (few_ && lane_.index == 0) std::copy_n(x_ + begin, end - begin, buffers_.x + begin);
}

// ---- parts of stages ---------------------------------------------------------------------------

void Forward::norm(float* out, const float* x, const NormWeights& weights, size_t n) const {
    if (spec_.norm == NormKind::rms) {
        kernels_.rms_norm(out, x, weights.weight.data, n, spec_.norm_eps);
    } else {
        kernels_.layer_norm(out, x, weights.weight.data, weights.bias.data, n, spec_.norm_eps);
    }
}

void Forward::norm_rows(const NormWeights& weights) {
    const size_t dim = buffers_.dim;
    if (weights) {
        for (uint32_t row = rows_.begin; row < rows_.end; ++row)
            norm(normed_ + row * dim, x_ + row * dim, weights, dim);
    }
    input_ = weights ? normed_ : x_;
    settle();
}

void Forward::norm_q_and_k(const AttentionSpec& spec, const LayerWeights& weights, uint32_t row,
                           float* q, float* k) const {
    if (others_ && spec.qk_norm == QkNorm::whole) {
        const float* squares = buffers_.head_squares + size_t{2} * row;
        norm_over_all_heads(q, weights.q_norm, size_t{spec.num_heads} * spec.key_dim, squares[0],
                            size_t{share().num_all_heads} * spec.key_dim);
        norm_over_all_heads(k, weights.k_norm, size_t{spec.num_kv_heads} * spec.key_dim, squares[1],
                            size_t{share().num_all_kv_heads} * spec.key_dim);
        return;
    }
    norm_heads(spec.qk_norm, q, weights.q_norm, spec.num_heads, spec.key_dim);
    norm_heads(spec.qk_norm, k, weights.k_norm, spec.num_kv_heads, spec.key_dim);
}

void Forward::norm_heads(QkNorm kind, float* heads, const NormWeights& weights, uint32_t num_heads,
                         uint32_t head_dim) const {
    if (kind == QkNorm::none) return;
    if (kind == QkNorm::whole) return norm(heads, heads, weights, size_t{num_heads} * head_dim);
    for (uint32_t head = 0; head < num_heads; ++head) {
        NormWeights own = weights;
        if (kind == QkNorm::per_head_own) own.weight.data += size_t{head} * head_dim;
        float* x = heads + size_t{head} * head_dim;
        norm(x, x, own, head_dim);
    }
}

void Forward::add_rows(const float* branch, const NormWeights& post_norm) {
    const size_t dim = buffers_.dim;
    for (uint32_t row = rows_.begin; row < rows_.end; ++row) {
        const float* y = branch + row * dim;
        if (post_norm) {
            norm(own_.y, y, post_norm, dim);
            y = own_.y;
        }
        kernels_.add_scaled(x_ + row * dim, y, spec_.residual_scale, dim);
    }
}

MatmulInput Forward::all_rows(const float* x, size_t stride) const {
    return {x, stride, num_rows_, num_vector_rows_};
}

void Forward::multiply(const MatmulInput& input, std::span<const MatmulTarget> targets,
                       Precision precision) {
    matmul(lane_, kernels_, memory_.matmul, input, targets, precision);
    lane_.barrier();
}

/// Before a barrier after which vector rows alone are multiplied with `weight`.
void Forward::read_ahead(const WeightMatrix& weight) const {
    if (num_rows_ == num_vector_rows_) cpu::read_ahead(lane_, kernels_, weight);
}

void Forward::settle() const {
    if (!few_) lane_.barrier();
}

void Forward::look_for_nonfinite(uint32_t layer) {
    for (uint32_t row = rows_.begin; row < rows_.end; ++row) {
        if (!has_nonfinite(x_ + row * buffers_.dim, buffers_.dim)) continue;
        uint32_t first = state_.nonfinite_layer;
        while (layer < first && !state_.nonfinite_layer.compare_exchange_weak(first, layer)) {
        }
    }
}

}  // namespace hokku::cpu
