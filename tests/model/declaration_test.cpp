// SPDX-License-Identifier: Apache-2.0
// What declarations say of a file: windows, scales and kinds by architecture, hyper-parameters out
// of range. That the numbers are right in use is tested with the forward pass.
#include "model/arch/declaration.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/gguf_writer.h"
#include "support/golden.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

/// The keys of a small model of `architecture`, without tensors.
GgufWriter keys_of(const std::string& architecture) {
    GgufWriter writer;
    const auto key = [&](const std::string& name) { return architecture + "." + name; };
    writer.set_string("general.architecture", architecture);
    writer.set_strings("tokenizer.ggml.tokens", {"a", "b", "c"});
    writer.set(key("block_count"), uint32_t{12});
    writer.set(key("context_length"), uint32_t{512});
    writer.set(key("embedding_length"), uint32_t{64});
    writer.set(key("feed_forward_length"), uint32_t{96});
    writer.set(key("attention.head_count"), uint32_t{8});
    writer.set(key("attention.head_count_kv"), uint32_t{2});
    writer.set(key("attention.layer_norm_rms_epsilon"), 1e-5f);
    writer.set(key("attention.layer_norm_epsilon"), 1e-5f);
    return writer;
}

Result<arch::Declaration> declare(const GgufWriter& writer) {
    const ScratchFolder scratch;
    writer.write(scratch / "keys.gguf");
    auto file = GgufFile::open(scratch / "keys.gguf");
    REQUIRE(file.ok());
    return arch::declare(*file);
}

ModelSpec spec_of(const GgufWriter& writer) {
    auto declaration = declare(writer);
    if (!declaration.ok()) FAIL(declaration.error().message());
    return std::move(declaration).value().spec;
}

std::string error_of(const GgufWriter& writer) {
    const auto declaration = declare(writer);
    REQUIRE_FALSE(declaration.ok());
    CHECK(declaration.error().code == ErrorCode::bad_format);
    return declaration.error().message();
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::vector<uint32_t> windows_of(const ModelSpec& spec) {
    std::vector<uint32_t> windows;
    for (const LayerSpec& layer : spec.layers) windows.push_back(layer.attention()->window);
    return windows;
}

}  // namespace

TEST_CASE("Declaration: an unknown architecture is refused with the list of known ones",
          "[model-layer][quick]") {
    const auto declaration = declare(keys_of("mamba"));
    REQUIRE_FALSE(declaration.ok());
    CHECK(declaration.error().code == ErrorCode::unsupported);
    const std::string message = declaration.error().message();
    CHECK(has(message, "mamba"));
    for (const arch::Architecture& architecture : arch::architectures())
        CHECK(has(message, std::string(architecture.name)));
    // A hostile name does not fill the screen.
    const auto hostile =
        declare(keys_of("llama").set_string("general.architecture", std::string(10000, 'x')));
    REQUIRE_FALSE(hostile.ok());
    CHECK(hostile.error().message().size() < 2000);
}

TEST_CASE("Declaration: names of the table are unique", "[model-layer][quick]") {
    std::set<std::string_view> names;
    for (const arch::Architecture& architecture : arch::architectures())
        CHECK(names.insert(architecture.name).second);
    CHECK(names.size() >= 14);
}

TEST_CASE("Declaration: the README names every architecture", "[model-layer][quick]") {
    std::ifstream file(source_folder() / "README.md");
    std::string list(std::istreambuf_iterator<char>(file), {});
    const size_t start = list.find("Architectures");
    REQUIRE(start != std::string::npos);
    list = list.substr(start, list.find("\n\n", start) - start);
    std::replace(list.begin(), list.end(), '\n', ' ');
    std::replace(list.begin(), list.end(), '.', ',');
    for (const arch::Architecture& architecture : arch::architectures()) {
        CAPTURE(std::string(architecture.name));
        const std::string name = " " + std::string(architecture.name);
        CHECK((has(list, name + ",") || has(list, name + " ")));
    }
}

TEST_CASE("Declaration: head size and scale follow from dim and heads unless stated",
          "[model-layer][quick]") {
    GgufWriter writer = keys_of("llama");
    const ModelSpec plain = spec_of(writer);
    CHECK(plain.layers[0].attention()->key_dim == 8);
    CHECK(plain.layers[0].attention()->scale == Approx(1 / std::sqrt(8.0)));
    CHECK(plain.num_vocab == 3);
    CHECK(plain.ropes.at(0).num_dims == 8);
    writer.set("llama.attention.key_length", uint32_t{32});
    const ModelSpec stated = spec_of(writer);
    CHECK(stated.layers[0].attention()->key_dim == 32);
    CHECK(stated.layers[0].attention()->value_dim == 32);
    writer.remove("llama.attention.head_count_kv");
    CHECK(spec_of(writer).layers[0].attention()->num_kv_heads == 8);
}

TEST_CASE("Declaration: which layers slide", "[model-layer][quick]") {
    GgufWriter gemma2 = keys_of("gemma2");
    gemma2.set("gemma2.attention.sliding_window", uint32_t{7});
    CHECK(windows_of(spec_of(gemma2)) == std::vector<uint32_t>{7, 0, 7, 0, 7, 0, 7, 0, 7, 0, 7, 0});

    GgufWriter gemma3 = keys_of("gemma3");
    gemma3.set("gemma3.attention.sliding_window", uint32_t{7});
    gemma3.set("gemma3.rope.freq_base", 1e6f);
    gemma3.set("gemma3.rope.scaling.factor", 8.0f);
    const ModelSpec spec = spec_of(gemma3);
    CHECK(windows_of(spec) == std::vector<uint32_t>{7, 7, 7, 7, 7, 0, 7, 7, 7, 7, 7, 0});
    // Layers that see all rotate by the long base, scaled; sliding ones by 10000, unscaled.
    const RopeSpec& all =
        spec.ropes.at(static_cast<size_t>(spec.layers[5].attention()->rope_index));
    const RopeSpec& sliding =
        spec.ropes.at(static_cast<size_t>(spec.layers[0].attention()->rope_index));
    CHECK(all.inv_freq[0] == Approx(1.0 / 8));
    CHECK(all.inv_freq[1] == Approx(std::pow(1e6, -0.25) / 8));
    CHECK(sliding.inv_freq[0] == Approx(1.0));
    CHECK(sliding.inv_freq[1] == Approx(0.1));

    // The file's own pattern wins.
    std::vector<bool> flags = {true, false, false, true, false, false,
                               true, false, false, true, false, false};
    std::string value = le(uint32_t{7}) + le(uint64_t{12});
    for (const bool flag : flags) value += flag ? '\1' : '\0';
    gemma3.set_raw("gemma3.attention.sliding_window_pattern", kArrayTypeId, value);
    CHECK(windows_of(spec_of(gemma3)) == std::vector<uint32_t>{7, 0, 0, 7, 0, 0, 7, 0, 0, 7, 0, 0});
}

TEST_CASE("Declaration: gemma's 27B sizes scale scores by dim and heads", "[model-layer][quick]") {
    GgufWriter writer = keys_of("gemma2");
    writer.set("gemma2.attention.key_length", uint32_t{128});
    CHECK(spec_of(writer).layers[0].attention()->scale == Approx(1 / std::sqrt(128.0)));
    writer.set("gemma2.block_count", uint32_t{46});
    CHECK(spec_of(writer).layers[0].attention()->scale == Approx(1 / std::sqrt(64.0 / 8)));
}

TEST_CASE("Declaration: smollm3 leaves RoPE out of every fourth layer", "[model-layer][quick]") {
    const ModelSpec spec = spec_of(keys_of("smollm3"));
    for (size_t i = 0; i < 12; ++i)
        CHECK((spec.layers[i].attention()->rope_index < 0) == (i % 4 == 3));
}

TEST_CASE("Declaration: granite's multipliers", "[model-layer][quick]") {
    GgufWriter writer = keys_of("granite");
    writer.set("granite.embedding_scale", 12.0f);
    writer.set("granite.residual_scale", 0.25f);
    writer.set("granite.attention.scale", 0.0625f);
    writer.set("granite.logit_scale", 8.0f);
    const ModelSpec spec = spec_of(writer);
    CHECK(spec.embedding_scale == 12.0f);
    CHECK(spec.residual_scale == 0.25f);
    CHECK(spec.layers[3].attention()->scale == 0.0625f);
    CHECK(spec.logit_scale == 0.125f);
}

TEST_CASE("Declaration: experts, dense layers in front and layers left out",
          "[model-layer][quick]") {
    GgufWriter writer = keys_of("glm4moe");
    writer.set("glm4moe.expert_count", uint32_t{8});
    writer.set("glm4moe.expert_used_count", uint32_t{2});
    writer.set("glm4moe.expert_feed_forward_length", uint32_t{24});
    writer.set("glm4moe.expert_shared_count", uint32_t{2});
    writer.set("glm4moe.leading_dense_block_count", uint32_t{3});
    writer.set("glm4moe.nextn_predict_layers", uint32_t{1});
    const auto declaration = declare(writer);
    REQUIRE(declaration.ok());
    const ModelSpec& spec = declaration->spec;
    CHECK(spec.num_layers == 11);
    CHECK(declaration->num_unused_blocks == 1);
    CHECK(spec.layers[2].ffn.hidden == 96);
    CHECK_FALSE(spec.layers[2].ffn.experts);
    REQUIRE(spec.layers[3].ffn.experts);
    CHECK(spec.layers[3].ffn.hidden == 0);
    CHECK(spec.layers[3].ffn.experts->hidden == 24);
    CHECK(spec.layers[3].ffn.experts->shared_hidden == 48);
    CHECK(spec.layers[3].ffn.experts->gating == Gating::sigmoid);
    CHECK_FALSE(spec.layers[3].ffn.experts->has_selection_bias);
}

TEST_CASE("Declaration: hyper-parameters out of range are errors that name the key",
          "[model-layer][quick]") {
    const std::vector<std::string> counts = {"block_count", "context_length", "embedding_length",
                                             "feed_forward_length", "attention.head_count"};
    for (const std::string& name : counts) {
        INFO(name);
        const std::string key = "llama." + name;
        CHECK(has(error_of(keys_of("llama").set(key, uint32_t{0})), key));
        CHECK(has(error_of(keys_of("llama").set(key, int32_t{-1})), key));
        CHECK(has(error_of(keys_of("llama").set(key, 0xFFFF'FFFFu)), key));
        CHECK(has(error_of(keys_of("llama").set_string(key, "12")), key));
        CHECK(has(error_of(keys_of("llama").remove(key)), key));
    }
    const auto bad = [&](const std::string& key, auto value) {
        const std::string message = error_of(keys_of("llama").set("llama." + key, value));
        INFO(message);
        return has(message, "llama." + key);
    };
    CHECK(bad("block_count", uint32_t{513}));
    CHECK(bad("attention.head_count", uint32_t{7}));      // does not divide 64
    CHECK(bad("attention.head_count_kv", uint32_t{3}));   // does not divide 8
    CHECK(bad("attention.head_count_kv", uint32_t{16}));  // more than heads
    CHECK(bad("attention.key_length", uint32_t{1u << 20}));
    CHECK(bad("rope.dimension_count", uint32_t{7}));   // odd
    CHECK(bad("rope.dimension_count", uint32_t{10}));  // above the head size
    CHECK(bad("rope.freq_base", 0.0f));
    CHECK(bad("rope.freq_base", std::numeric_limits<float>::infinity()));
    CHECK(bad("attention.layer_norm_rms_epsilon", -1.0f));
    CHECK(bad("vocab_size", uint32_t{4}));
    CHECK(bad("expert_count", uint32_t{100000}));

    GgufWriter experts = keys_of("llama");
    experts.set("llama.expert_count", uint32_t{4});
    CHECK(has(error_of(experts), "llama.expert_used_count"));
    experts.set("llama.expert_used_count", uint32_t{5});
    CHECK(has(error_of(experts), "llama.expert_used_count"));
    experts.set("llama.expert_used_count", uint32_t{2});
    experts.set("llama.expert_group_count", uint32_t{3});
    CHECK(has(error_of(experts), "llama.expert_group_count"));

    GgufWriter lengths = keys_of("llama");
    lengths.set_numbers("llama.feed_forward_length", std::vector<uint32_t>{96, 96});
    CHECK(has(error_of(lengths), "llama.feed_forward_length"));
}

TEST_CASE("Declaration: every architecture refuses bare hostile counts", "[model-layer][quick]") {
    for (const arch::Architecture& architecture : arch::architectures()) {
        const std::string name(architecture.name);
        INFO(name);
        for (const std::string key : {"block_count", "embedding_length", "attention.head_count"}) {
            GgufWriter writer = keys_of(name);
            writer.set(name + "." + key, uint32_t{0});
            CHECK(has(error_of(writer), name + "." + key));
        }
    }
}
