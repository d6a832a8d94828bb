// SPDX-License-Identifier: Apache-2.0
// What the ranks of a split model do together in a step. All have the same residual stream, bit by
// bit; they meet twice in each layer to add up what their heads and hidden values give.
#include <algorithm>
#include <cmath>

#include "backend/cpu/forward.h"

namespace hokku::cpu {

namespace {

float sum_of_squares(const float* x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return static_cast<float>(sum);
}

}  // namespace

/// The one thread that decides and reports for all.
bool Forward::leads() const {
    return lane_.index == 0 && shard_.plan.rank == 0;
}

/// A branch [num_rows][dim] becomes the sum of all ranks' and visible to all lanes.
void Forward::add_up(float* branch) {
    if (others_) {
        others_->all_reduce({branch, num_rows_ * buffers_.dim});
    } else {
        lane_.barrier();
    }
}

/// Each rank has a part of the table: a token's row comes from one rank, zeros from the others.
void Forward::embed_together() {
    const size_t dim = buffers_.dim;
    const ShardRange own = shard_.plan.vocab;
    const Lane::Range rows = lane_.share(num_rows_);
    for (uint32_t row = rows.begin; row < rows.end; ++row) {
        const auto token = static_cast<uint32_t>(step_.tokens[row]);
        float* x = buffers_.x + row * dim;
        if (token >= own.begin && token < own.end) {
            look_up(row, x);
        } else {
            std::fill_n(x, dim, 0.0f);
        }
    }
    others_->all_reduce({buffers_.x, num_rows_ * dim});
    if (few_) std::copy_n(buffers_.x, num_rows_ * dim, x_);
}

/// Before a norm over the heads of all ranks. KV heads that several ranks hold count once.
void Forward::add_up_head_squares(const AttentionSpec& spec) {
    const Lane::Range rows = lane_.share(num_rows_);
    for (uint32_t row = rows.begin; row < rows.end; ++row) {
        float* squares = buffers_.head_squares + size_t{2} * row;
        squares[0] = sum_of_squares(buffers_.q + row * buffers_.q_dim,
                                    size_t{spec.num_heads} * spec.key_dim);
        squares[1] = share().owns_kv ? sum_of_squares(buffers_.k + row * buffers_.k_dim,
                                                      size_t{spec.num_kv_heads} * spec.key_dim)
                                     : 0.0f;
    }
    others_->all_reduce({buffers_.head_squares, size_t{2} * num_rows_});
}

/// RMSNorm of this rank's n of num_all values, whose sum of squares is known.
void Forward::norm_over_all_heads(float* heads, const NormWeights& weights, size_t n, float squares,
                                  size_t num_all) const {
    const float scale = 1.0f / std::sqrt(squares / static_cast<float>(num_all) + spec_.norm_eps);
    for (size_t i = 0; i < n; ++i) heads[i] = heads[i] * scale * weights.weight.data[i];
}

/// The logits of all tokens, for the owner of the step.
void Forward::gather_logits() {
    const ShardRange own = shard_.plan.vocab;
    others_->all_gather({.part = buffers_.logits,
                         .rows = static_cast<uint32_t>(step_.logit_rows.size()),
                         .cols = own.size(),
                         .first_col = own.begin,
                         .whole = leads() ? state_.all_logits : nullptr,
                         .whole_cols = shard_.plan.num_vocab});
}

}  // namespace hokku::cpu
