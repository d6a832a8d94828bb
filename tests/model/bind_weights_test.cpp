// SPDX-License-Identifier: Apache-2.0
#include "model/bind_weights.h"

#include <string>
#include <utility>
#include <vector>

#include "model/model.h"
#include "support/catch.h"
#include "support/gguf_writer.h"
#include "support/tiny_model.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

Result<Model> load(const GgufWriter& writer) {
    const ScratchFolder scratch;
    writer.write(scratch / "model.gguf");
    auto file = GgufFile::open(scratch / "model.gguf");
    if (!file.ok()) return std::move(file).error();
    return Model::load(std::make_shared<const GgufFile>(std::move(file).value()));
}

Error error_of(const GgufWriter& writer) {
    const auto model = load(writer);
    REQUIRE_FALSE(model.ok());
    return model.error();
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// A projection stored as all zeros: only its shape matters here.
GgufWriter& replace(GgufWriter& writer, const std::string& name, std::vector<uint64_t> dims) {
    uint64_t count = 1;
    for (const uint64_t dim : dims) count *= dim;
    writer.remove_tensor(name);
    return writer.add_f32(name, std::move(dims), std::vector<float>(count, 0.0f));
}

}  // namespace

TEST_CASE("Weights: slots point at the tensors of their names", "[model-layer][quick]") {
    const auto model = load(make_tiny_llama());
    REQUIRE(model.ok());
    const Weights& weights = model->weights();
    REQUIRE(weights.layers.size() == TinyLlama::kLayers);
    const LayerWeights& layer = weights.layers[1];
    const auto data_of = [&](const char* name) {
        return model->file().find_tensor(name)->data.data();
    };
    CHECK(layer.wq.data == data_of("blk.1.attn_q.weight"));
    CHECK(layer.wk.rows == TinyLlama::kKvHeads * TinyLlama::kHeadDim);
    CHECK(layer.wk.cols == TinyLlama::kDim);
    CHECK(layer.wk.row_stride == TinyLlama::kDim * 4);
    CHECK(layer.down.data == data_of("blk.1.ffn_down.weight"));
    CHECK(layer.down.cols == TinyLlama::kHidden);
    CHECK(weights.head.data == data_of("output.weight"));
    CHECK_FALSE(layer.bq);
    CHECK_FALSE(layer.mixer_post_norm);
}

TEST_CASE("Weights: without a head the embedding is the head", "[model-layer][quick]") {
    const auto model = load(make_tiny_llama().remove_tensor("output.weight"));
    REQUIRE(model.ok());
    CHECK(model->weights().head.data == model->weights().embedding.data);
}

TEST_CASE("Weights: a wrong shape names tensor, found and expected", "[model-layer][quick]") {
    GgufWriter writer = make_tiny_llama();
    const Error error = error_of(replace(writer, "blk.1.attn_k.weight", {32, 24}));
    CHECK(error.code == ErrorCode::bad_format);
    CHECK(has(error.where, "blk.1.attn_k.weight"));
    CHECK(has(error.what, "[32, 24]"));
    CHECK(has(error.expected, "[32, 16]"));
}

TEST_CASE("Weights: a missing tensor is named with its shape", "[model-layer][quick]") {
    const Error error = error_of(make_tiny_llama().remove_tensor("blk.0.ffn_up.weight"));
    CHECK(error.code == ErrorCode::bad_format);
    CHECK(has(error.where, "blk.0.ffn_up.weight"));
    CHECK(has(error.expected, "[32, 64]"));
}

TEST_CASE("Weights: a tensor that the architecture does not use is refused",
          "[model-layer][quick]") {
    GgufWriter writer = make_tiny_llama();
    writer.add_f32("blk.0.attn_q_norm.weight", {8}, std::vector<float>(8, 1.0f));
    const Error error = error_of(writer);
    CHECK(error.code == ErrorCode::unsupported);
    CHECK(has(error.where, "blk.0.attn_q_norm.weight"));
}

TEST_CASE("Weights: biases are bound wherever the file has them", "[model-layer][quick]") {
    GgufWriter writer = make_tiny_llama();
    writer.add_f32("blk.0.attn_q.bias", {32}, std::vector<float>(32, -34.0f));
    writer.add_f32("blk.1.ffn_down.bias", {32}, std::vector<float>(32, 1.0f));
    const auto model = load(writer);
    REQUIRE(model.ok());
    REQUIRE(model->weights().layers[0].bq);
    CHECK(model->weights().layers[0].bq.data[31] == -34.0f);
    CHECK(model->weights().layers[1].b_down);
    CHECK_FALSE(model->weights().layers[1].bq);
}

TEST_CASE("Weights: fused tensors are cut by rows", "[model-layer][quick]") {
    GgufWriter writer = make_tiny_llama();
    // The same model said as phi3: qkv in one tensor, gate and up in one.
    for (GgufWriter::Entry& entry : writer.entries)
        if (entry.key.rfind("llama.", 0) == 0) entry.key = "phi3." + entry.key.substr(6);
    writer.set_string("general.architecture", "phi3");
    for (const std::string layer : {"blk.0.", "blk.1."}) {
        for (const char* slot : {"attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up"})
            writer.remove_tensor(layer + slot + ".weight");
        std::vector<float> rows;
        for (int row = 0; row < 64; ++row) rows.insert(rows.end(), 32, static_cast<float>(row));
        writer.add_f32(layer + "attn_qkv.weight", {32, 64}, rows);
        std::vector<float> more = rows;
        more.insert(more.end(), rows.begin(), rows.end());
        writer.add_f32(layer + "ffn_up.weight", {32, 128}, more);
    }
    const auto model = load(writer);
    if (!model.ok()) FAIL(model.error().message());
    const LayerWeights& layer = model->weights().layers[1];
    const auto first = [](const WeightMatrix& matrix) {
        return *reinterpret_cast<const float*>(matrix.data);
    };
    CHECK(layer.wq.rows == 32);
    CHECK(first(layer.wq) == 0.0f);
    CHECK(first(layer.wk) == 32.0f);
    CHECK(first(layer.wv) == 48.0f);
    CHECK(layer.wv.rows == 16);
    CHECK(first(layer.gate) == 0.0f);
    CHECK(first(layer.up) == 0.0f);
    CHECK(layer.up.data == layer.gate.data + 64 * layer.gate.row_stride);
}
