// SPDX-License-Identifier: Apache-2.0
// Reads the reference figures of golden models (logits, argmax, greedy text, inner values) into
// plain structs. JSON stays inside the source file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace hokku::testing {

/// One token sequence with what a right model gives for it. Lists that a file lacks are empty.
struct GoldenCase {
    std::string name;
    std::vector<int32_t> tokens;
    std::vector<int32_t> argmax;       ///< At every position.
    std::vector<float> margin;         ///< Top1 - top2 at every position.
    std::vector<float> logsumexp;      ///< At every position.
    std::vector<float> logits_last;    ///< All logits of the last position.
    std::vector<int32_t> sample_ids;   ///< Some ids of the last position ...
    std::vector<float> sample_logits;  ///< ... and their logits.
    std::vector<int32_t> greedy;       ///< Continuation.
    std::vector<float> greedy_margin;
    std::vector<std::vector<float>> hidden_last;  ///< Embedding, each layer, final norm.
};

/// `visible.json` of a tiny or of a real model.
std::vector<GoldenCase> read_golden_cases(const std::filesystem::path& path);

/// Values under the names that a StepTrace uses.
struct NamedValues {
    std::string name;
    std::vector<float> values;
};

/// `hidden.json` of a tiny model and the tokens it belongs to.
struct GoldenHidden {
    std::vector<int32_t> tokens;
    std::vector<NamedValues> values;  ///< "embed", "layer0", .., "final_norm"
};
GoldenHidden read_golden_hidden(const std::filesystem::path& path);

/// `stages.json` of a real model: "layer0.attn_norm", ..
GoldenHidden read_golden_stages(const std::filesystem::path& path);

/// `kld_visible.json`: the best 32 log-probabilities at every position of a text.
struct GoldenLogprobs {
    std::vector<int32_t> tokens;
    std::vector<std::vector<int32_t>> ids;
    std::vector<std::vector<float>> logprobs;
};
GoldenLogprobs read_golden_logprobs(const std::filesystem::path& path);

/// `models.json`: how far llama.cpp itself is from the reference on each quantised tiny model, by
/// folder name; largest absolute difference of logits.
std::map<std::string, float> read_golden_peer_differences(const std::filesystem::path& path);

/// The number under `name` in `tolerance.json`.
float read_golden_tolerance(const std::filesystem::path& path, const std::string& name);

}  // namespace hokku::testing
