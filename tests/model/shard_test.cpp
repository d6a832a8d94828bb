// SPDX-License-Identifier: Apache-2.0
// What the ranks of a split model hold: put together again, it is the model, byte for byte.
#include "model/shard.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/model.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace hokku;
using namespace hokku::testing;
namespace fs = std::filesystem;

namespace {

using Shards = std::vector<ModelShard>;
using Bytes = std::vector<std::byte>;

/// The rows of a matrix one after another.
Bytes bytes_of(const WeightMatrix& matrix) {
    Bytes bytes;
    for (size_t row = 0; matrix && row < matrix.rows; ++row) {
        const std::byte* data = matrix.data + row * matrix.row_stride;
        bytes.insert(bytes.end(), data, data + matrix.row_bytes());
    }
    return bytes;
}

Bytes bytes_of(const WeightVector& vector) {
    const auto* data = reinterpret_cast<const std::byte*>(vector.data);
    return vector ? Bytes(data, data + vector.size * sizeof(float)) : Bytes();
}

/// A slot of layer `index` of a model, and whether a rank's part of it counts: that of KV heads
/// counts once.
template <class Slot>
struct Place {
    std::function<const Slot&(const LayerWeights&)> slot;
    size_t index = 0;
    bool of_kv = false;
};

template <class Slot>
void check_rows(const Weights& whole, const Shards& shards, const Place<Slot>& place) {
    Bytes together;
    for (const ModelShard& shard : shards) {
        if (place.of_kv && !shard.plan.layers[place.index].owns_kv) continue;
        const Bytes part = bytes_of(place.slot(shard.weights.layers[place.index]));
        together.insert(together.end(), part.begin(), part.end());
    }
    CHECK(together == bytes_of(place.slot(whole.layers[place.index])));
}

void check_columns(const Weights& whole, const Shards& shards, const Place<WeightMatrix>& place) {
    const WeightMatrix& matrix = place.slot(whole.layers[place.index]);
    Bytes together;
    for (size_t row = 0; matrix && row < matrix.rows; ++row) {
        for (const ModelShard& shard : shards) {
            const WeightMatrix& part = place.slot(shard.weights.layers[place.index]);
            REQUIRE(part.rows == matrix.rows);
            const std::byte* data = part.data + row * part.row_stride;
            together.insert(together.end(), data, data + part.row_bytes());
        }
    }
    CHECK(together == bytes_of(matrix));
}

#define HOKKU_SLOT(name)                       \
    [](const LayerWeights& w) -> const auto& { \
        return w.name;                         \
    }
#define HOKKU_EXPERT_SLOT(name)                 \
    [e](const LayerWeights& w) -> const auto& { \
        return w.name[e];                       \
    }

void check_layer(const Weights& whole, const Shards& shards, size_t i) {
    INFO("layer " << i);
    check_rows<WeightMatrix>(whole, shards, {HOKKU_SLOT(wq), i});
    check_rows<WeightMatrix>(whole, shards, {HOKKU_SLOT(wk), i, true});
    check_rows<WeightMatrix>(whole, shards, {HOKKU_SLOT(wv), i, true});
    check_rows<WeightVector>(whole, shards, {HOKKU_SLOT(bq), i});
    check_rows<WeightVector>(whole, shards, {HOKKU_SLOT(bk), i, true});
    check_rows<WeightVector>(whole, shards, {HOKKU_SLOT(bv), i, true});
    check_rows<WeightVector>(whole, shards, {HOKKU_SLOT(sinks), i});
    check_columns(whole, shards, {HOKKU_SLOT(wo), i});
    check_rows<WeightMatrix>(whole, shards, {HOKKU_SLOT(gate), i});
    check_rows<WeightMatrix>(whole, shards, {HOKKU_SLOT(up), i});
    check_rows<WeightVector>(whole, shards, {HOKKU_SLOT(b_gate), i});
    check_rows<WeightVector>(whole, shards, {HOKKU_SLOT(b_up), i});
    check_columns(whole, shards, {HOKKU_SLOT(down), i});
    check_rows<WeightMatrix>(whole, shards, {HOKKU_SLOT(shared_gate), i});
    check_rows<WeightMatrix>(whole, shards, {HOKKU_SLOT(shared_up), i});
    check_columns(whole, shards, {HOKKU_SLOT(shared_down), i});
    const LayerWeights& layer = whole.layers[i];
    for (size_t e = 0; e < layer.expert_up.size(); ++e) {
        if (!layer.expert_gate.empty())
            check_rows<WeightMatrix>(whole, shards, {HOKKU_EXPERT_SLOT(expert_gate), i});
        check_rows<WeightMatrix>(whole, shards, {HOKKU_EXPERT_SLOT(expert_up), i});
        check_columns(whole, shards, {HOKKU_EXPERT_SLOT(expert_down), i});
        if (!layer.b_expert_gate.empty())
            check_rows<WeightVector>(whole, shards, {HOKKU_EXPERT_SLOT(b_expert_gate), i});
        if (!layer.b_expert_up.empty())
            check_rows<WeightVector>(whole, shards, {HOKKU_EXPERT_SLOT(b_expert_up), i});
    }
}

/// Norms of q and k: one for all heads, or the ranks' parts together.
void check_head_norms(const ModelSpec& spec, const Weights& whole, const Shards& shards, size_t i) {
    const QkNorm kind = spec.layers[i].attention()->qk_norm;
    if (kind == QkNorm::per_head) {
        for (const ModelShard& shard : shards) {
            CHECK(shard.weights.layers[i].q_norm.weight.data == whole.layers[i].q_norm.weight.data);
            CHECK(shard.weights.layers[i].k_norm.weight.size == whole.layers[i].k_norm.weight.size);
        }
        return;
    }
    check_rows<WeightVector>(whole, shards, {HOKKU_SLOT(q_norm.weight), i});
    check_rows<WeightVector>(whole, shards, {HOKKU_SLOT(q_norm.bias), i});
    check_rows<WeightVector>(whole, shards, {HOKKU_SLOT(k_norm.weight), i, true});
    check_rows<WeightVector>(whole, shards, {HOKKU_SLOT(k_norm.bias), i, true});
}

/// Biases of sums over the ranks are added once; what has no heads is whole everywhere.
void check_undivided(const Weights& whole, const Shards& shards, size_t i) {
    const LayerWeights& layer = whole.layers[i];
    for (const ModelShard& shard : shards) {
        const LayerWeights& own = shard.weights.layers[i];
        const bool is_first = shard.plan.rank == 0;
        CHECK(own.bo.data == (is_first ? layer.bo.data : nullptr));
        CHECK(own.b_down.data == (is_first ? layer.b_down.data : nullptr));
        CHECK(own.b_expert_down.size() == (is_first ? layer.b_expert_down.size() : 0));
        CHECK(own.router.data == layer.router.data);
        CHECK(own.router.rows == layer.router.rows);
        CHECK(own.shared_router.data == layer.shared_router.data);
        CHECK(own.mixer_norm.weight.data == layer.mixer_norm.weight.data);
        CHECK(own.ffn_norm.weight.size == layer.ffn_norm.weight.size);
    }
}

void check_local_sizes(const ModelSpec& spec, const ModelShard& shard, size_t i) {
    const LayerSpec& local = shard.spec.layers[i];
    const LayerWeights& own = shard.weights.layers[i];
    const AttentionSpec& heads = *local.attention();
    REQUIRE(heads.num_heads > 0);
    REQUIRE(heads.num_kv_heads > 0);
    CHECK(heads.num_heads % heads.num_kv_heads == 0);
    // Query head h of the whole model reads KV head h / group; so must that of the rank.
    const AttentionSpec& all = *spec.layers[i].attention();
    const uint32_t group = all.num_heads / all.num_kv_heads;
    const LayerShare& share = shard.plan.layers[i];
    for (uint32_t h = 0; h < heads.num_heads; ++h)
        CHECK((share.heads.begin + h) / group ==
              share.kv_heads.begin + h / (heads.num_heads / heads.num_kv_heads));
    CHECK(own.wq.rows == heads.num_heads * heads.key_dim);
    CHECK(own.wk.rows == heads.num_kv_heads * heads.key_dim);
    CHECK(own.wv.rows == heads.num_kv_heads * heads.value_dim);
    CHECK(own.wo.cols == heads.num_heads * heads.value_dim);
    CHECK(own.wo.cols % traits_of(own.wo.type).block_values == 0);
    if (own.down) CHECK(own.down.cols == local.ffn.hidden);
    if (own.up) CHECK(own.up.rows == local.ffn.hidden);
    if (local.ffn.experts && !own.expert_down.empty())
        CHECK(own.expert_down[0].cols == local.ffn.experts->hidden);
}

void check_shards(const ModelSpec& spec, const Weights& weights, const Shards& shards) {
    const auto vocabulary = [&](auto&& part_of) {
        Bytes together;
        for (const ModelShard& shard : shards) {
            const Bytes part = bytes_of(part_of(shard.weights));
            together.insert(together.end(), part.begin(), part.end());
        }
        CHECK(together == bytes_of(part_of(weights)));
    };
    vocabulary([](const Weights& w) { return w.embedding; });
    vocabulary([](const Weights& w) { return w.head; });
    vocabulary([](const Weights& w) { return w.head_bias; });
    for (size_t i = 0; i < spec.layers.size(); ++i) {
        check_layer(weights, shards, i);
        check_head_norms(spec, weights, shards, i);
        check_undivided(weights, shards, i);
        for (const ModelShard& shard : shards) check_local_sizes(spec, shard, i);
    }
}

// ---- Random models -----------------------------------------------------------------------------

/// A model of random sizes whose weights are random bytes.
class RandomModel {
  public:
    explicit RandomModel(uint32_t seed) : random_(seed) {
        spec.architecture = "random";
        spec.dim = 32 * below(1, 4);
        spec.num_vocab = below(5, 90);
        spec.num_layers = below(1, 3);
        weights.embedding = matrix(spec.num_vocab, spec.dim, any_type(spec.dim));
        weights.head =
            coin() ? weights.embedding : matrix(spec.num_vocab, spec.dim, TensorType::f16);
        if (coin()) weights.head_bias = vector(spec.num_vocab);
        for (uint32_t i = 0; i < spec.num_layers; ++i) add_layer();
    }

    ModelSpec spec;
    Weights weights;

  private:
    uint32_t below(uint32_t least, uint32_t end) {
        return std::uniform_int_distribution<uint32_t>(least, end - 1)(random_);
    }
    bool coin() { return below(0, 2) == 1; }

    TensorType any_type(uint32_t cols) {
        constexpr TensorType kTypes[] = {TensorType::f32,  TensorType::f16,  TensorType::q4_1,
                                         TensorType::q8_0, TensorType::q4_k, TensorType::q6_k};
        while (true) {
            const TensorType type = kTypes[below(0, 6)];
            if (cols % traits_of(type).block_values == 0) return type;
        }
    }

    const std::byte* bytes(size_t count) {
        // Of floats, so that vectors are aligned.
        std::vector<float>& storage = storage_.emplace_back((count + 3) / 4);
        for (float& value : storage) value = static_cast<float>(random_());
        return reinterpret_cast<const std::byte*>(storage.data());
    }

    WeightMatrix matrix(uint32_t rows, uint32_t cols, TensorType type) {
        WeightMatrix result{.type = type, .rows = rows, .cols = cols};
        result.row_stride = result.row_bytes();
        result.data = bytes(rows * result.row_stride);
        return result;
    }
    WeightMatrix matrix(uint32_t rows, uint32_t cols) { return matrix(rows, cols, any_type(cols)); }
    WeightVector vector(uint32_t size) {
        return {.data = reinterpret_cast<const float*>(bytes(size_t{size} * 4)), .size = size};
    }

    void add_layer() {
        LayerSpec& layer = spec.layers.emplace_back();
        LayerWeights& w = weights.layers.emplace_back();
        AttentionSpec& attention = *layer.attention();
        attention.num_kv_heads = below(1, 9);
        attention.num_heads = attention.num_kv_heads * below(1, 9);
        attention.key_dim = 16 * below(1, 5);
        attention.value_dim = 16 * below(1, 5);
        attention.qk_norm = static_cast<QkNorm>(below(0, 4));
        const uint32_t dim = spec.dim, q_rows = attention.num_heads * attention.key_dim;
        const uint32_t k_rows = attention.num_kv_heads * attention.key_dim;
        const uint32_t v_rows = attention.num_kv_heads * attention.value_dim;
        w.wq = matrix(q_rows, dim);
        w.wk = matrix(k_rows, dim);
        w.wv = matrix(v_rows, dim);
        w.wo = matrix(dim, attention.num_heads * attention.value_dim);
        if (coin()) {
            w.bq = vector(q_rows);
            w.bk = vector(k_rows);
            w.bv = vector(v_rows);
            w.bo = vector(dim);
        }
        if (coin()) w.sinks = vector(attention.num_heads);
        if (attention.qk_norm == QkNorm::per_head) {
            w.q_norm.weight = vector(attention.key_dim);
            w.k_norm.weight = vector(attention.key_dim);
        } else if (attention.qk_norm != QkNorm::none) {
            w.q_norm = {vector(q_rows), coin() ? vector(q_rows) : WeightVector()};
            w.k_norm = {vector(k_rows), coin() ? vector(k_rows) : WeightVector()};
        }
        w.mixer_norm.weight = vector(dim);
        w.ffn_norm.weight = vector(dim);
        if (coin()) {
            add_experts(layer.ffn, w);
        } else {
            add_dense(layer.ffn, w);
        }
    }

    void add_dense(FfnSpec& ffn, LayerWeights& w) {
        ffn.hidden = 32 * below(1, 40);
        ffn.gated = coin();
        if (ffn.gated) w.gate = matrix(ffn.hidden, spec.dim);
        w.up = matrix(ffn.hidden, spec.dim);
        w.down = matrix(spec.dim, ffn.hidden);
        if (coin()) {
            if (ffn.gated) w.b_gate = vector(ffn.hidden);
            w.b_up = vector(ffn.hidden);
            w.b_down = vector(spec.dim);
        }
    }

    void add_experts(FfnSpec& ffn, LayerWeights& w) {
        ExpertSpec& experts = ffn.experts.emplace();
        experts.num_experts = below(2, 5);
        experts.num_used = 1;
        experts.hidden = 32 * below(1, 20);
        const TensorType down_type = any_type(experts.hidden);
        w.router = matrix(experts.num_experts, spec.dim);
        const bool has_biases = coin();
        for (uint32_t e = 0; e < experts.num_experts; ++e) {
            w.expert_gate.push_back(matrix(experts.hidden, spec.dim, TensorType::q8_0));
            w.expert_up.push_back(matrix(experts.hidden, spec.dim, TensorType::q8_0));
            w.expert_down.push_back(matrix(spec.dim, experts.hidden, down_type));
            if (!has_biases) continue;
            w.b_expert_gate.push_back(vector(experts.hidden));
            w.b_expert_up.push_back(vector(experts.hidden));
            w.b_expert_down.push_back(vector(spec.dim));
        }
        if (coin()) return;
        experts.shared_hidden = 32 * below(1, 20);
        experts.shared_gate = true;
        w.shared_router = matrix(1, spec.dim);
        w.shared_gate = matrix(experts.shared_hidden, spec.dim);
        w.shared_up = matrix(experts.shared_hidden, spec.dim);
        w.shared_down = matrix(spec.dim, experts.shared_hidden);
    }

    std::mt19937 random_;
    std::deque<std::vector<float>> storage_;
};

/// A model of one layer with these heads, for figures known by hand.
struct Heads {
    uint32_t num_heads, num_kv_heads, value_dim;
    TensorType output_type = TensorType::f32;
    uint32_t hidden = 768;
};

Result<std::vector<ShardPlan>> plan(const Heads& heads, uint32_t num_ranks) {
    ModelSpec spec;
    spec.num_vocab = 101;
    spec.num_layers = 1;
    AttentionSpec& attention = *spec.layers.emplace_back().attention();
    attention.num_heads = heads.num_heads;
    attention.num_kv_heads = heads.num_kv_heads;
    attention.key_dim = attention.value_dim = heads.value_dim;
    spec.layers[0].ffn.hidden = heads.hidden;
    Weights weights;
    weights.layers.resize(1);
    weights.layers[0].wo.type = heads.output_type;
    weights.layers[0].down.type = TensorType::q6_k;
    return plan_shards(spec, weights, num_ranks);
}

/// "0-3/0-1 ..": query and KV heads of each rank, the last ones exclusive.
std::string head_text(const Heads& heads, uint32_t num_ranks) {
    const auto plans = plan(heads, num_ranks);
    if (!plans.ok()) return plans.error().message();
    std::string text;
    for (const ShardPlan& one : *plans) {
        const LayerShare& share = one.layers[0];
        const auto add = [&](ShardRange range) {
            text += std::to_string(range.begin) + "-" + std::to_string(range.end);
        };
        text += text.empty() ? "" : " ";
        add(share.heads);
        text += "/";
        add(share.kv_heads);
    }
    return text;
}

}  // namespace

TEST_CASE("plan_shards: heads go by KV groups, replicated where ranks outnumber them",
          "[model-layer][quick]") {
    CHECK(head_text({32, 8, 128}, 4) == "0-8/0-2 8-16/2-4 16-24/4-6 24-32/6-8");
    CHECK(head_text({9, 3, 64}, 2) == "0-6/0-2 6-9/2-3");
    CHECK(head_text({9, 3, 64}, 3) == "0-3/0-1 3-6/1-2 6-9/2-3");
    CHECK(head_text({9, 3, 64}, 4) == "0-2/0-1 2-3/0-1 3-6/1-2 6-9/2-3");
    CHECK(head_text({14, 2, 64}, 4) == "0-4/0-1 4-7/0-1 7-11/1-2 11-14/1-2");
    CHECK(head_text({14, 2, 64}, 3) == "0-4/0-1 4-7/0-1 7-14/1-2");
    CHECK(head_text({4, 1, 256}, 4) == "0-1/0-1 1-2/0-1 2-3/0-1 3-4/0-1");
    CHECK(head_text({8, 8, 64}, 3) == "0-3/0-3 3-6/3-6 6-8/6-8");
}

TEST_CASE("plan_shards: cuts lie between the blocks of the weights", "[model-layer][quick]") {
    // 256 values of a Q4_K block are two heads of 128, or four of 64.
    CHECK(head_text({32, 32, 128, TensorType::q4_k}, 4) ==
          "0-8/0-8 8-16/8-16 16-24/16-24 24-32/24-32");
    CHECK(head_text({6, 6, 128, TensorType::q4_k}, 2) == "0-4/0-4 4-6/4-6");
    CHECK(head_text({8, 1, 64, TensorType::q4_k}, 2) == "0-4/0-1 4-8/0-1");
    // 768 hidden values are three blocks: over two ranks 2 and 1; of five, two have none.
    auto plans = plan({8, 8, 64}, 2);
    REQUIRE(plans.ok());
    CHECK((*plans)[0].layers[0].hidden.size() == 512);
    CHECK((*plans)[1].layers[0].hidden.size() == 256);
    plans = plan({8, 8, 64}, 5);
    REQUIRE(plans.ok());
    uint32_t sum = 0;
    for (const ShardPlan& one : *plans) {
        CHECK(one.layers[0].hidden.begin == sum);
        sum += one.layers[0].hidden.size();
    }
    CHECK(sum == 768);
    // The vocabulary need not divide: 101 tokens over 5 ranks.
    CHECK((*plans)[0].vocab.size() == 21);
    CHECK((*plans)[4].vocab.end == 101);
    CHECK((*plans)[4].vocab.size() == 20);
}

TEST_CASE("plan_shards: blocks that do not divide are shared unevenly", "[model-layer][quick]") {
    // Qwen2.5-7B: 28 heads of 128 on 4 KV heads, 18944 hidden values, which are 74 blocks. Seven
    // heads end within a block of Q4_K, so that the output product is of another type here.
    const auto plans = plan({28, 4, 128, TensorType::q8_0, 18944}, 4);
    REQUIRE(plans.ok());
    std::vector<uint32_t> sizes;
    uint32_t end = 0;
    for (const ShardPlan& one : *plans) {
        CHECK(one.layers[0].hidden.begin == end);
        end = one.layers[0].hidden.end;
        sizes.push_back(one.layers[0].hidden.size());
        CHECK(one.layers[0].heads.size() == 7);
    }
    CHECK(end == 18944);
    std::sort(sizes.begin(), sizes.end());
    CHECK(sizes == std::vector<uint32_t>{18 * 256, 18 * 256, 19 * 256, 19 * 256});
}

TEST_CASE("plan_shards: what cannot be shared is refused with the numbers",
          "[model-layer][quick]") {
    const auto message = [](const Heads& heads, uint32_t num_ranks) {
        const auto plans = plan(heads, num_ranks);
        REQUIRE_FALSE(plans.ok());
        CHECK(plans.error().code == ErrorCode::unsupported);
        CHECK(plans.error().where == "layer 0");
        return plans.error().message();
    };
    const auto has = [](const std::string& text, const std::string& part) {
        INFO(text << " has not: " << part);
        CHECK(text.find(part) != std::string::npos);
    };
    const std::string more_ranks = message({4, 2, 64}, 5);
    has(more_ranks, "5 ranks");
    has(more_ranks, "4 heads of 64 values on 2 KV heads");
    has(more_ranks, "4 ranks or fewer");
    has(message({4, 1, 64, TensorType::q4_k}, 2), "multiples of 4 heads");
    has(message({4, 1, 64, TensorType::q4_k}, 2), "one rank");
    // A block lies across two groups of query heads: neither can be cut within.
    has(message({6, 3, 64, TensorType::q4_k}, 4), "multiples of 4 heads");
}

TEST_CASE("shard_model: one rank is the model itself", "[model-layer][quick]") {
    const RandomModel model(3);
    const auto shards = shard_model(model.spec, model.weights, 1);
    REQUIRE(shards.ok());
    REQUIRE(shards->size() == 1);
    CHECK(shards->front().spec.num_vocab == model.spec.num_vocab);
    CHECK(shards->front().weights.layers[0].wo.cols == model.weights.layers[0].wo.cols);
    CHECK(weight_bytes(shards->front().weights) == weight_bytes(model.weights));
}

TEST_CASE("shard_model: shards of random models put together equal the model",
          "[model-layer][quick]") {
    uint32_t num_split = 0;
    for (uint32_t seed = 0; seed < 60; ++seed) {
        const RandomModel model(seed);
        for (const uint32_t num_ranks : {2u, 3u, 4u, 5u, 8u}) {
            INFO("seed " << seed << ", " << num_ranks << " ranks");
            const auto shards = shard_model(model.spec, model.weights, num_ranks);
            if (!shards.ok()) {
                CHECK(shards.error().code == ErrorCode::unsupported);
                continue;
            }
            ++num_split;
            REQUIRE(shards->size() == num_ranks);
            check_shards(model.spec, model.weights, *shards);
        }
    }
    CHECK(num_split > 100);
}

TEST_CASE("shard_model: shards of the golden models put together equal the model",
          "[model-layer][quick]") {
    size_t num_models = 0;
    for (const char* relative : {"arch", "quants/models"}) {
        const auto folder = find_golden_or_copy(relative);
        if (!folder) continue;
        for (const auto& entry : fs::directory_iterator(*folder)) {
            if (!fs::exists(entry.path() / "model.gguf")) continue;
            auto file = GgufFile::open(entry.path() / "model.gguf");
            REQUIRE(file.ok());
            const auto model = Model::load(std::make_shared<const GgufFile>(std::move(*file)));
            if (!model.ok()) continue;  // an architecture that is not declared
            for (const uint32_t num_ranks : {2u, 3u, 4u}) {
                INFO(entry.path().filename().string() << ", " << num_ranks << " ranks");
                const auto shards = shard_model(model->spec(), model->weights(), num_ranks);
                const LayerSpec& layer = model->spec().layers[0];
                const uint32_t block = traits_of(model->weights().layers[0].wo.type).block_values;
                // All have at least four heads; only blocks of 128 and 256 values keep some
                // together.
                REQUIRE(layer.attention()->num_heads >= 4);
                CHECK((shards.ok() || block >= 128));
                if (!shards.ok()) continue;
                ++num_models;
                check_shards(model->spec(), model->weights(), *shards);
            }
        }
    }
    CHECK(num_models >= 6);  // the copies in tests/data
}

TEST_CASE("weight_bytes: every rank has its part, and what is whole once more",
          "[model-layer][quick]") {
    const auto path = find_golden_or_copy("arch/llama_bias/model.gguf");
    REQUIRE(path);
    auto file = GgufFile::open(*path);
    REQUIRE(file.ok());
    const auto model = Model::load(std::make_shared<const GgufFile>(std::move(*file)));
    REQUIRE(model.ok());
    // All tensors but rope_freqs, which no slot holds, are float32.
    uint64_t file_bytes = 0;
    for (const GgufTensor& tensor : model->file().tensors()) file_bytes += tensor.data.size();
    CHECK(weight_bytes(model->weights()) == file_bytes);
    // 8 heads and 2 KV heads of 8 values, dim 64, hidden 96, 512 tokens, 3 layers. Two ranks
    // halve all but the norms: two a layer and the last, and rank 0 has the biases of both sums.
    const auto shards = shard_model(model->spec(), model->weights(), 2);
    REQUIRE(shards.ok());
    const uint64_t norms = 7 * 64 * 4, sum_biases = 3 * 2 * 64 * 4;
    const uint64_t half = (file_bytes - norms - sum_biases) / 2;
    CHECK(weight_bytes((*shards)[0].weights) == half + norms + sum_biases);
    CHECK(weight_bytes((*shards)[1].weights) == half + norms);
}
