// SPDX-License-Identifier: Apache-2.0
#include "plugin/host_embedding.h"

#include "backend/dequantize.h"

namespace hokku::cuda {

void look_up_row(const Model& model, int32_t token, uint32_t position, std::span<float> out,
                 std::vector<float>& scratch) {
    const WeightMatrix &table = model.weights().embedding, &learned = model.weights().positions;
    const float scale = model.spec().embedding_scale;
    dequantize_row(table.type, table.data + static_cast<size_t>(token) * table.row_stride,
                   out.size(), out.data());
    if (scale != 1.0f) {
        for (float& x : out) x *= scale;
    }
    if (!learned) return;
    scratch.resize(out.size());
    dequantize_row(learned.type, learned.data + position * learned.row_stride, out.size(),
                   scratch.data());
    for (size_t i = 0; i < out.size(); ++i) out[i] += scratch[i];
}

}  // namespace hokku::cuda
