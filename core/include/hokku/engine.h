// SPDX-License-Identifier: Apache-2.0
// Engine: the facade of the library. It owns one background inference thread, which alone touches
// the model, its backend and its KV cache. Commands go in through these handles; events come out
// by value through callbacks on that thread (keep them short, or post them on).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hokku/chat_template.h"
#include "hokku/result.h"
#include "hokku/sampling.h"
#include "hokku/tokenizer.h"

namespace hokku {

struct LoadOptions {
    std::filesystem::path path;
    uint32_t context_tokens = 4096;  ///< Clamped to the model's own limit; 0 takes that limit.
    uint32_t num_threads = 0;        ///< 0: one per physical core within the CPU quota.
    bool exact = false;              ///< Scalar float32 reference instead of the fast kernels.
    bool use_mapping = true;         ///< false reads the file into memory.
};

/// What is known of a loaded model. Sizes in bytes.
struct ModelInfo {
    std::string name, architecture, quantisation, license;
    std::filesystem::path path;
    uint64_t file_bytes = 0, num_parameters = 0;
    uint32_t trained_context = 0, context_tokens = 0, num_vocab = 0, num_layers = 0;
    uint64_t kv_bytes = 0, scratch_bytes = 0;
    uint64_t bytes_per_token = 0;  ///< Weight bytes read to decode one token.
    std::string device;            ///< "CPU avx512, 2 threads".
    std::string kernels;           ///< "reference", "avx2", "avx512".
    uint32_t num_threads = 0;
    std::vector<std::string> warnings;  ///< To be shown: unknown pre-tokenizer, no template, ...
    bool has_chat_template = false;
};

struct ChatMessage {
    std::string role;     ///< "system", "user", "assistant", "tool".
    std::string content;  ///< UTF-8.
};

enum class StopReason {
    end_of_generation,  ///< The model ended its turn.
    stop_string,
    max_tokens,
    context_full,
    cancelled,
    failed,
};
std::string_view stop_reason_name(
    StopReason reason);  ///< "end", "stop", "length", "context_full", ...

struct GenerationRequest {
    /// Exactly one of the three: a conversation (rendered with the model's template), raw text, or
    /// token ids.
    std::vector<ChatMessage> messages;
    std::optional<std::string> raw_text;
    std::optional<std::vector<TokenId>> tokens;

    std::string template_kwargs_json = "{}";
    std::string tools_json = "null";
    SamplingOptions sampling;
    uint32_t max_tokens = 0;  ///< 0: until the context is full.
    std::vector<std::string> stop_strings;
    uint32_t num_top_logprobs = 0;  ///< With each token, this many alternatives (0: none).
    bool parse_special = false;     ///< For raw_text only.
    bool keep_special = false;      ///< Control tokens appear in the text.
};

struct TokenLogprob {
    TokenId id = 0;
    float logprob = 0;  ///< Natural logarithm, before any sampler step.
    std::vector<std::pair<TokenId, float>> top;
};

struct GenerationStats {
    uint32_t prompt_tokens = 0;   ///< Tokens of the prompt.
    uint32_t cached_tokens = 0;   ///< Of these, taken from the KV cache.
    uint32_t forward_tokens = 0;  ///< Tokens that went through the model, prefill and decode.
    uint32_t generated_tokens = 0;
    double prefill_tok_s = 0, decode_tok_s = 0;
    double ttft_ms = 0;         ///< Request to first text-bearing token.
    double peak_memory_mb = 0;  ///< Of the process.
};

struct GenerationResult {
    std::string text;
    std::vector<TokenId> tokens;
    StopReason reason = StopReason::failed;
    std::optional<Error> error;  ///< Set when reason is failed.
    uint64_t seed = 0;
    GenerationStats stats;
};

/// Callbacks of one generation, all on the inference thread. Any may be empty.
struct GenerationEvents {
    std::function<void(uint32_t done, uint32_t total)> on_prefill;  ///< Prompt tokens so far.
    std::function<void(const std::string& text)> on_text;           ///< Whole characters.
    std::function<void(const TokenLogprob& token)> on_token;
    std::function<void(const GenerationResult& result)> on_finished;  ///< Always, exactly once.
};

/// Logits and inner values of a given token sequence, for tests and tools.
struct EvaluateRequest {
    std::vector<TokenId> tokens;
    bool all_positions = false;
    bool hidden = false;  ///< Residual stream of the last position.
    bool stages = false;  ///< Named inner values of each layer, last position.
    /// Called for each wanted position with all logits [num_vocab].
    std::function<void(uint32_t index, std::span<const float> logits)> on_logits;
    /// "embed", "layer0", .., "final_norm" / "layer0.attn_norm", ..
    std::function<void(const std::string& name, std::span<const float> values)> on_trace;
};

class GenerationHandle {
  public:
    GenerationHandle();
    ~GenerationHandle();  ///< Cancels nothing: the generation runs on.
    GenerationHandle(GenerationHandle&&) noexcept;
    GenerationHandle& operator=(GenerationHandle&&) noexcept;
    void cancel();            ///< Returns at once; on_finished follows within 200 ms.
    GenerationResult wait();  ///< Blocks the caller until finished.

  private:
    friend class Engine;
    struct State;
    std::shared_ptr<State> state_;  // shared by the caller and the inference thread
};

/// Threads: all members are thread-safe; only load() and evaluate() block their caller. Callbacks
///          must not call blocking members of the same engine.
class Engine {
  public:
    static Result<std::unique_ptr<Engine>> create();
    ~Engine();  ///< Cancels what runs and joins the thread.

    /// Replaces the loaded model. `progress` gets 0..1 on the inference thread; returning false
    /// cancels the load.
    Result<ModelInfo> load(const LoadOptions& options,
                           std::function<bool(double)> progress = nullptr);
    void cancel_load();
    void unload();
    [[nodiscard]] std::optional<ModelInfo> model() const;
    /// The tokenizer and template of the loaded model; shared with the caller.
    [[nodiscard]] std::shared_ptr<const Tokenizer> tokenizer() const;
    [[nodiscard]] std::shared_ptr<const ChatTemplate> chat_template() const;

    /// Queues a generation; requests run one after another.
    GenerationHandle generate(GenerationRequest request, GenerationEvents events = {});
    /// Runs tokens through the model without sampling.
    Result<void> evaluate(const EvaluateRequest& request);
    /// The prompt tokens that a request would start from.
    Result<std::vector<TokenId>> tokenize_request(const GenerationRequest& request) const;

  private:
    Engine();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace hokku
