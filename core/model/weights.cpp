// SPDX-License-Identifier: Apache-2.0
#include "model/weights.h"

namespace hokku {

WeightMatrix rows_of(const WeightMatrix& matrix, uint32_t first, uint32_t count) {
    if (!matrix) return {};
    WeightMatrix slice = matrix;
    slice.data += size_t{first} * matrix.row_stride;
    slice.rows = count;
    return slice;
}

WeightMatrix columns_of(const WeightMatrix& matrix, uint32_t first, uint32_t count) {
    if (!matrix) return {};
    WeightMatrix slice = matrix;
    slice.data += matrix.bytes_of(first);
    slice.cols = count;
    return slice;
}

WeightVector part_of(const WeightVector& vector, uint32_t first, uint32_t count) {
    if (!vector) return {};
    return {.data = vector.data + first, .size = count};
}

namespace {

uint64_t bytes_of(const WeightMatrix& matrix) {
    return matrix ? uint64_t{matrix.rows} * matrix.row_bytes() : 0;
}

uint64_t bytes_of(const WeightVector& vector) {
    return uint64_t{vector.size} * sizeof(float);
}

uint64_t bytes_of(const NormWeights& norm) {
    return bytes_of(norm.weight) + bytes_of(norm.bias);
}

template <class Slot>
uint64_t bytes_of(const std::vector<Slot>& slots) {
    uint64_t bytes = 0;
    for (const Slot& slot : slots) bytes += bytes_of(slot);
    return bytes;
}

template <class... Slots>
uint64_t sum_of_bytes(const Slots&... slots) {
    return (bytes_of(slots) + ...);
}

uint64_t bytes_of(const LayerWeights& w) {
    return sum_of_bytes(w.mixer_norm, w.mixer_post_norm, w.ffn_norm, w.ffn_post_norm, w.wq, w.wk,
                        w.wv, w.wo, w.bq, w.bk, w.bv, w.bo, w.q_norm, w.k_norm, w.sinks, w.gate,
                        w.up, w.down, w.b_gate, w.b_up, w.b_down, w.router, w.router_bias,
                        w.router_selection_bias, w.expert_gate, w.expert_up, w.expert_down,
                        w.b_expert_gate, w.b_expert_up, w.b_expert_down, w.shared_gate, w.shared_up,
                        w.shared_down, w.shared_router);
}

}  // namespace

uint64_t weight_bytes(const Weights& weights) {
    const bool is_tied = weights.head.data == weights.embedding.data;
    uint64_t bytes =
        sum_of_bytes(weights.embedding, weights.positions, weights.head_bias, weights.final_norm) +
        (is_tied ? 0 : bytes_of(weights.head));
    for (const LayerWeights& layer : weights.layers) bytes += bytes_of(layer);
    return bytes;
}

}  // namespace hokku
