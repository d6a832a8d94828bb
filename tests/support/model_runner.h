// SPDX-License-Identifier: Apache-2.0
// ModelRunner: a model with a backend and simple block tables, for tests of the forward pass
// below the engine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "backend/backend.h"
#include "hokku/result.h"
#include "model/model.h"

namespace hokku::testing {

class ModelRunner {
  public:
    struct Options {
        bool exact = true;
        uint32_t num_threads = 2;
        uint32_t context_tokens = 512;  ///< Of each sequence.
        uint32_t num_sequences = 1;
        uint32_t num_ranks = 1;
        uint32_t max_step_tokens = 512;
        uint32_t max_step_logits = 64;
        KvType kv_type = KvType::f32;
    };
    /// Of the CPU unless told otherwise.
    using MakeBackend =
        std::function<Result<std::unique_ptr<Backend>>(const Model&, const BackendOptions&)>;
    static Result<std::unique_ptr<ModelRunner>> open(
        const std::filesystem::path& path, const Options& options,
        const MakeBackend& make_backend = make_cpu_backend);

    /// Runs `tokens` from an empty cache in steps of at most `chunk` and returns the logits of
    /// every position, [tokens.size()][num_vocab].
    Result<std::vector<float>> evaluate(std::span<const int32_t> tokens, uint32_t chunk);
    /// Appends tokens to sequence 0 in one step; logits of the last one.
    Result<std::vector<float>> append(std::span<const int32_t> tokens, StepTrace* trace = nullptr);
    /// Greedy continuation of `tokens`, decoded token by token after one prefill.
    Result<std::vector<int32_t>> greedy(std::span<const int32_t> tokens, size_t count);
    /// Forgets what sequence 0 holds.
    void reset() { num_cached_ = 0; }

    /// The block table of a sequence: its own blocks, in reverse order so that order matters.
    [[nodiscard]] std::span<const uint32_t> blocks(uint32_t sequence) const {
        return tables_[sequence];
    }
    [[nodiscard]] const Model& model() const { return *model_; }
    [[nodiscard]] Backend& backend() { return *backend_; }
    [[nodiscard]] uint32_t num_vocab() const { return model_->spec().num_vocab; }

  private:
    std::unique_ptr<Model> model_;
    std::unique_ptr<Backend> backend_;
    std::vector<std::vector<uint32_t>> tables_;
    Options options_;
    uint32_t num_cached_ = 0;
};

/// Index of the largest value, the first of equals.
int32_t argmax(std::span<const float> values);

}  // namespace hokku::testing
