// SPDX-License-Identifier: Apache-2.0
// Well-formed files that are no sound model: hyper-parameters out of range and tensors that are
// missing or of a wrong shape or type (hazards A8, B7, C5).
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/malformed_files.h"
#include "support/tiny_model.h"

namespace hokku::testing {

namespace {

void add_hparams(MalformedList& list) {
    const auto changed = [&](const std::string& id, std::string_view causes,
                             std::function<void(GgufWriter&)> change) {
        list.add_change(id, causes, make_tiny_llama, std::move(change));
    };
    const char* const integers[] = {"llama.block_count",          "llama.context_length",
                                    "llama.embedding_length",     "llama.feed_forward_length",
                                    "llama.attention.head_count", "llama.attention.head_count_kv",
                                    "llama.rope.dimension_count", "llama.vocab_size"};
    for (const std::string key : integers) {
        const std::string id = "A8-" + key.substr(6) + "-";
        changed(id + "zero", key, [=](GgufWriter& w) { w.set(key, uint32_t{0}); });
        changed(id + "minus-1", key, [=](GgufWriter& w) { w.set(key, int32_t{-1}); });
        changed(id + "2e32-1", key, [=](GgufWriter& w) { w.set(key, 0xFFFF'FFFFu); });
        changed(id + "max-u64", key,
                [=](GgufWriter& w) { w.set(key, std::numeric_limits<uint64_t>::max()); });
        changed(id + "string", key, [=](GgufWriter& w) { w.set_string(key, "12"); });
        changed(id + "float", key, [=](GgufWriter& w) { w.set(key, 2.0f); });
        changed(id + "bool", key, [=](GgufWriter& w) { w.set(key, true); });
        changed(id + "strings", key, [=](GgufWriter& w) { w.set_strings(key, {"1", "2"}); });
    }
    for (const std::string key :
         {"llama.block_count", "llama.context_length", "llama.embedding_length",
          "llama.feed_forward_length", "llama.attention.head_count",
          "llama.attention.layer_norm_rms_epsilon", "general.architecture"})
        changed("A8-without-" + key, key, [=](GgufWriter& w) { w.remove(key); });
    for (const uint32_t layers : {1u, 3u, 512u})
        changed("C5-layers-" + std::to_string(layers), "blk.",
                [=](GgufWriter& w) { w.set("llama.block_count", layers); });
    for (const uint32_t layers : {513u, 100'000u})
        changed("C5-layers-" + std::to_string(layers), "llama.block_count",
                [=](GgufWriter& w) { w.set("llama.block_count", layers); });
    changed("A8-heads-no-divisor", "llama.attention.head_count",
            [](GgufWriter& w) { w.set("llama.attention.head_count", uint32_t{5}); });
    changed("A8-kv-heads-no-divisor", "llama.attention.head_count_kv",
            [](GgufWriter& w) { w.set("llama.attention.head_count_kv", uint32_t{3}); });
    changed("A8-kv-heads-more-than-heads", "llama.attention.head_count_kv",
            [](GgufWriter& w) { w.set("llama.attention.head_count_kv", uint32_t{8}); });
    changed("A8-rope-odd", "llama.rope.dimension_count",
            [](GgufWriter& w) { w.set("llama.rope.dimension_count", uint32_t{7}); });
    changed("A8-rope-wider-than-head", "llama.rope.dimension_count",
            [](GgufWriter& w) { w.set("llama.rope.dimension_count", uint32_t{16}); });
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float inf = std::numeric_limits<float>::infinity();
    for (const auto& [name, value] :
         {std::pair{"nan", nan}, {"inf", inf}, {"minus-inf", -inf}, {"negative", -1.0f}}) {
        for (const std::string key :
             {"llama.attention.layer_norm_rms_epsilon", "llama.rope.freq_base"})
            changed("A8-" + key.substr(6) + "-" + name, key,
                    [=, v = value](GgufWriter& w) { w.set(key, v); });
    }
    changed("A8-architecture-unknown", "is not supported",
            [](GgufWriter& w) { w.set_string("general.architecture", "no-such"); });
    changed("A8-architecture-number", "general.architecture",
            [](GgufWriter& w) { w.set("general.architecture", uint32_t{1}); });
    changed("A8-architecture-control", "is not supported",
            [](GgufWriter& w) { w.set_string("general.architecture", "\x1B[2J\n"); });
    changed("A8-architecture-1MiB", "is not supported",
            [](GgufWriter& w) { w.set_string("general.architecture", std::string(1 << 20, 'a')); });
    changed("A8-heads-array-short", "llama.attention.head_count", [](GgufWriter& w) {
        w.set_numbers("llama.attention.head_count", std::vector<uint32_t>{4});
    });
    changed("A8-ffn-array-zero", "llama.feed_forward_length", [](GgufWriter& w) {
        w.set_numbers("llama.feed_forward_length", std::vector<uint32_t>{64, 0});
    });
    changed("A8-ffn-array-huge", "llama.feed_forward_length", [](GgufWriter& w) {
        w.set_numbers("llama.feed_forward_length",
                      std::vector<uint64_t>(2, std::numeric_limits<uint64_t>::max()));
    });
}

void add_tensors(MalformedList& list) {
    const auto changed = [&](const std::string& id, std::string_view causes,
                             std::function<void(GgufWriter&)> change) {
        list.add_change(id, causes, make_tiny_llama, std::move(change));
    };
    const GgufWriter good = make_tiny_llama();
    for (const GgufWriter::Tensor& tensor : good.tensors) {
        const std::string name = tensor.name;
        // Without a head of its own the model is a tied one, and right.
        if (name != "output.weight")
            changed("B7-without-" + name, name, [=](GgufWriter& w) { w.remove_tensor(name); });
        for (size_t d = 0; d < tensor.dims.size(); ++d)
            changed("B7-shape-" + std::to_string(d) + "-" + name, name, [=](GgufWriter& w) {
                GgufWriter::Tensor& wrong = w.tensor(name);
                wrong.dims[d] += d == 0 ? 32 : 1;
                uint64_t num_values = 1;
                for (const uint64_t dim : wrong.dims) num_values *= dim;
                wrong.data.resize(num_values * sizeof(float), '\0');
            });
        changed("B9-empty-" + name, name, [=](GgufWriter& w) {
            w.tensor(name).dims.back() = 0;
            w.tensor(name).data.clear();
        });
    }
    const std::string q = "blk.0.attn_q.weight", norm = "blk.1.attn_norm.weight";
    for (const uint32_t type : {24u, 25u, 26u, 27u})
        changed("B7-integer-weights-" + std::to_string(type), q, [=](GgufWriter& w) {
            w.tensor(q).type_id = type;
            w.tensor(q).data.resize(32 * 32 * 8);
        });
    changed("B7-norm-in-f16", norm, [=](GgufWriter& w) { w.tensor(norm).type_id = 1; });
    changed("B7-norm-in-q8_0", norm, [=](GgufWriter& w) { w.tensor(norm).type_id = 8; });
    changed("B7-bias-shape", "blk.0.attn_q.bias",
            [](GgufWriter& w) { w.add_f32("blk.0.attn_q.bias", {31}, std::vector<float>(31)); });
    changed("B7-rope-freqs-shape", "rope_freqs", [](GgufWriter& w) {
        w.add_f32("rope_freqs.weight", {3}, {1, 1, 1});
    });
    changed("B7-rope-freqs-zero", "rope_freqs", [](GgufWriter& w) {
        w.add_f32("rope_freqs.weight", {4}, {1, 0, 1, 1});
    });
}

}  // namespace

std::vector<MalformedFile> malformed_models() {
    MalformedList list(RefusedBy::model);
    add_hparams(list);
    add_tensors(list);
    return std::move(list.files);
}

}  // namespace hokku::testing
