// SPDX-License-Identifier: Apache-2.0
// A model made for the engine's tests: a byte tokenizer with a few control tokens, and a backend
// whose "keys and values" are the tokens themselves. What it answers is a function of the tokens
// that it finds in the blocks it is given, so that any mistake in blocks, positions or cached
// counts changes the text.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/engine_access.h"
#include "engine/loaded_model.h"

namespace hokku::testing {

/// Ids 0..255 are bytes; then the tokens below; then "<long>" tokens of several characters.
namespace fake_token {
inline constexpr TokenId bos = 256, eos = 257, user = 258, assistant = 259, end = 260;
inline constexpr TokenId first_long = 261;
inline constexpr uint32_t num_vocab = 300;
}  // namespace fake_token

/// Texts of the long tokens, from first_long on.
const std::vector<std::string>& fake_long_tokens();

std::shared_ptr<const Tokenizer> make_fake_tokenizer(bool add_bos = true);

/// The logits after `history`, by default those of fake_logits().
using Script = std::function<void(std::span<const int32_t> history, std::span<float> logits)>;

/// Pseudo-random logits that depend on every token of the history and its place. End tokens are
/// unlikely.
void fake_logits(std::span<const int32_t> history, std::span<float> logits);
/// Logits of nine letters that depend on the last two tokens alone: texts repeat and part again.
void repetitive_logits(std::span<const int32_t> history, std::span<float> logits);
/// Greedy continuation by fake_logits(), worked out without any cache.
std::vector<TokenId> expected_greedy(std::vector<TokenId> history, size_t count);
/// A script that answers with `text` (byte by byte) and the end token after the last prompt
/// token `assistant`.
Script answering(std::string text);

/// What a test tells the fake and reads from it; shared by the test and the inference thread.
struct FakeControl {
    Script script = fake_logits;
    uint32_t context_tokens = 512;
    uint32_t trained_context = 0;
    SamplingDefaults sampling_defaults;
    bool can_grow = true;
    uint32_t num_kv_blocks = 0;  ///< 0: one more than the context needs.
    uint32_t max_step_tokens = 16;
    uint32_t max_step_logits = 4;
    uint32_t least_prefill_rows = 1, max_decode_rows = 1;
    uint32_t max_guesses = 0;  ///< How many pay is not judged by time.
    /// Of a draft model, which knows the first `num_vocab` tokens; null: there is none.
    std::shared_ptr<FakeControl> draft;
    bool refuses_draft = false;  ///< One that the options name.
    uint32_t num_vocab = fake_token::num_vocab;
    uint32_t max_sequences = 4;
    bool add_bos = true;
    std::string chat_template;
    std::vector<TokenId> more_end_tokens;    ///< Ascending.
    std::chrono::milliseconds step_time{0};  ///< Each step takes so long, in 1 ms "layers".
    std::chrono::milliseconds load_time{0};
    std::function<void(const LoadOptions&)> on_open;
    std::atomic<int> fail_open{0}, fail_start{0};  ///< 1: with an error.
    int num_restarts = 0;  ///< That succeed; the one behind loses the backend.
    std::atomic<bool> read_fault{false};
    std::function<void(const Step&)> on_step;
    /// For each sequence of a step, the tokens that its last row finds in its blocks.
    std::function<void(std::span<const int32_t> history)> on_sequence;
    std::function<Result<void>(const Step&)> before_step;

    std::atomic<uint32_t> num_steps{0}, num_rows{0}, num_copies{0};
    std::atomic<uint32_t> num_faults{0};  ///< Wrong positions, blocks or threads seen.
    std::atomic<int> num_models{0};       ///< Backends alive.
    std::atomic<uint32_t> longest_step{0};
};

std::unique_ptr<ModelLoader> make_fake_loader(std::shared_ptr<FakeControl> control);
/// What its loader gives.
LoadedModel load_fake_model(std::shared_ptr<FakeControl> control);
std::unique_ptr<Engine> make_fake_engine(std::shared_ptr<FakeControl> control);
/// The same, with the model loaded.
std::unique_ptr<Engine> make_loaded_fake_engine(std::shared_ptr<FakeControl> control);

}  // namespace hokku::testing
