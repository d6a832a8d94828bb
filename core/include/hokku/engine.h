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
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hokku/chat_template.h"
#include "hokku/constraint.h"
#include "hokku/kv_type.h"
#include "hokku/reply.h"
#include "hokku/result.h"
#include "hokku/sampling.h"
#include "hokku/tokenizer.h"

namespace hokku {

struct LoadOptions {
    std::filesystem::path path;
    /// Absent: 4096, or less where the model or the memory allows less (a warning says so).
    /// A number is clamped to the model's own limit; 0 takes that limit.
    std::optional<uint32_t> context_tokens = std::nullopt;
    /// How the context is kept: the smaller types take less memory, at some accuracy.
    /// Absent: f32 on the CPU, f16 on a GPU.
    std::optional<KvType> kv_type = std::nullopt;
    uint32_t num_threads = 0;  ///< 0: one per fast core within the quota. Capped at its CPUs.
    /// Tensor parallel: the model is split over this many ranks, which compute each layer together:
    /// on the CPU they share the threads, at least one each; on GPUs each rank has one.
    uint32_t num_ranks = 1;
    /// "auto": a GPU where a plug-in, a driver and a device are there and the model fits, with
    /// further ones where it does not fit alone, else the CPU; "cpu"; "cuda" or "cuda:N": that GPU,
    /// with ranks those from it on, or an error; "cuda:N,M": the layers go over these GPUs in this
    /// order, as many to each as it has room for.
    std::string device = "auto";
    /// Layers on the GPUs, the last ones; the others run on the CPU. Absent: as many as fit. 0:
    /// none.
    std::optional<uint32_t> gpu_layers = std::nullopt;
    /// On the CPU: a copy of the output head in four bits finds the tokens that could be drawn, and
    /// only their logits are computed, to the same bits. Text is the same, sooner where a small
    /// model has many tokens and draws greedily (temperature 0); it takes 0.6 to 0.8 of the head's
    /// size. The copy is made while the first text is written.
    bool screen_head = false;
    bool exact = false;       ///< Scalar float32 reference instead of the fast kernels.
    bool use_mapping = true;  ///< false reads the file into memory.
    /// A small model that guesses what this one says next; empty: none. Guesses are evaluated
    /// several in a step and kept only if they are what is drawn anyway: the text is the same,
    /// sooner where many are right, and it is not asked where that does not pay. It must have the
    /// same tokens.
    std::filesystem::path draft_model = {};
    uint32_t max_draft_tokens = 7;  ///< Guesses of a step, at most. 1 to 7.
    /// Generations that run together, at most; others wait for their turn. 1 to 32. They share one
    /// KV cache, of a size for one full context.
    uint32_t max_sequences = 4;
};

/// What is known of a loaded model. Sizes in bytes.
struct ModelInfo {
    std::string name, architecture, quantisation, license;
    std::filesystem::path path;
    uint64_t file_bytes = 0, num_parameters = 0;
    uint32_t trained_context = 0, context_tokens = 0, num_vocab = 0, num_layers = 0;
    KvType kv_type = KvType::f32;
    uint64_t kv_bytes = 0, scratch_bytes = 0;
    uint64_t bytes_per_token = 0;  ///< Weight bytes read to decode one token.
    /// "CPU avx512, 2 threads", "GPU NVIDIA H200", "GPU NVIDIA H200, 20 layers; GPU NVIDIA L4, 12
    /// layers", "GPU NVIDIA H200, 24 of 32 layers; the others on CPU avx512, 2 threads".
    std::string device;
    /// Why it is not a GPU; empty where it is one, or neither it nor layers on it were wanted.
    std::string device_note;
    std::string kernels;        ///< "reference", "avx2", "avxvnni", "avx512", "neon", "cuda sm_90".
    uint32_t num_threads = 0;   ///< Of all ranks.
    bool screens_head = false;  ///< As LoadOptions::screen_head wants, and where it may pay.
    std::vector<uint64_t> rank_weight_bytes;  ///< Bytes of the file that each rank uses.
    uint32_t max_sequences = 1;               ///< Generations that run together.
    std::string draft_model;                  ///< Name of the draft model; empty: none.
    uint64_t draft_bytes = 0;                 ///< Of its context and buffers.
    std::vector<std::string> warnings;  ///< To be shown: unknown pre-tokenizer, no template, ...
    bool has_chat_template = false;
    ReplyFormatInfo reply_format;        ///< How thoughts and tool calls are marked.
    SamplingDefaults sampling_defaults;  ///< What its makers recommend, in the file or elsewhere.
    double load_ms = 0;
};

struct ChatMessage {
    std::string role;     ///< "system", "user", "assistant", "tool".
    std::string content;  ///< UTF-8.
    // Of an assistant's message, as they came with a GenerationResult. Templates decide which
    // thoughts they show again. Calls with a problem become part of the content.
    std::string thought = {};
    std::vector<ToolCall> tool_calls = {};
    // Of a tool's message, which is the result of a call.
    std::string tool_call_id = {};
    std::string name = {};  ///< Of the tool.
};

enum class StopReason {
    end_of_generation,  ///< The model ended its turn.
    stop_string,
    max_tokens,
    context_full,
    cancelled,
    failed,
};
/// "end", "stop", "length", "context_full", "cancelled", "failed".
std::string_view stop_reason_name(StopReason reason);

/// What happens when a conversation no longer fits its context, before the answer or within it.
enum class Overflow {
    stop,         ///< A prompt that is too long is an error; an answer ends as context_full.
    drop_oldest,  ///< The oldest turns are left out; system messages and the last turn stay.
    summarise,    ///< Likewise, but a summary by the model stands in their place.
    grow,         ///< The context is made longer, as far as memory and the model allow, then stop.
};
/// "stop", "drop_oldest", "summarise", "grow".
std::string_view overflow_name(Overflow overflow);

struct GenerationRequest {
    /// Exactly one of the three: a conversation (rendered with the model's template), raw text, or
    /// token ids.
    std::vector<ChatMessage> messages;
    std::optional<std::string> raw_text;
    std::optional<std::vector<TokenId>> tokens;

    std::string template_kwargs_json = "{}";
    /// Tools that the model may call: an array of {"type": "function", "function": {"name",
    /// "description", "parameters"}}. Without any, nothing in the reply is read as a call.
    std::string tools_json = "null";
    /// The most tokens of thoughts; then the thought is closed for the model and the answer begins.
    /// 0: none, by the template's own switch where it has one.
    std::optional<uint32_t> thought_budget_tokens;
    std::string now;                      ///< For the template; see TemplateInput::now.
    bool continue_final_message = false;  ///< Goes on in the last message, or within its thought.

    SamplingOptions sampling;
    /// What the text must look like; all must hold. One that writes marks of the model's thoughts
    /// or calls itself holds for these too: they are text then.
    std::vector<ConstraintSpec> constraints;
    uint32_t max_tokens = 0;  ///< 0: until the context is full.
    /// Turns are dropped of `messages` only; other prompts stop. Growing is for all of them.
    Overflow overflow = Overflow::stop;
    /// Not empty ones; the answer ends before the first.
    std::vector<std::string> stop_strings;
    uint32_t num_top_logprobs = 0;    ///< With each token, this many alternatives (0: none).
    bool parse_special = false;       ///< For raw_text only.
    bool keep_special = false;        ///< Control tokens appear in the text.
    bool ignore_end = false;          ///< End-of-generation tokens do not end it (benchmarks).
    bool reuse_cached_prefix = true;  ///< false evaluates the whole prompt again.
    /// Tokens that followed the same ones before are evaluated ahead where that pays, and kept if
    /// they are what would have been drawn anyway: the text is the same, sooner.
    bool prompt_lookup = true;
    bool draft = true;  ///< Likewise those of the draft model, where one is loaded.
};

struct TokenLogprob {
    TokenId id = 0;
    float logprob = 0;  ///< Natural logarithm, before any sampler step.
    std::vector<std::pair<TokenId, float>> top;
};

struct GenerationStats {
    uint32_t prompt_tokens = 0;  ///< Tokens of the prompt.
    uint32_t cached_tokens = 0;  ///< Of these, taken from the KV cache.
    /// Tokens of the text that went through the model, prefill and decode.
    uint32_t forward_tokens = 0;
    uint32_t generated_tokens = 0;
    uint32_t guessed_tokens = 0;  ///< Evaluated ahead.
    uint32_t right_guesses = 0;   ///< Of these, drawn.
    uint32_t drafted_tokens = 0;  ///< Of the guessed ones, by the draft model.
    double prefill_tok_s = 0;     ///< Prompt tokens evaluated (not the cached ones) by time.
    double decode_tok_s = 0;      ///< Tokens after the first by time; 0 when there is none.
    double ttft_ms = 0;           ///< Request to first text-bearing token.
    double peak_memory_mb = 0;    ///< Of the process.
};

/// What of a conversation is no longer in the context.
struct DroppedTurns {
    std::vector<size_t> indices;  ///< Of the request's messages, ascending.
    std::string summary;          ///< What stands in their place; empty: nothing.
    /// The messages that the prompt was made of instead, the summary in front of the first user's.
    /// A conversation that goes on from these need not drop the same turns each time.
    std::vector<ChatMessage> remaining;
};

struct GenerationResult {
    std::string text;  ///< The answer: without thoughts and calls.
    std::string thought;
    std::vector<ToolCall> tool_calls;  ///< Those with a problem, too.
    std::vector<TokenId> tokens;  ///< All that were drawn, a closing end-of-generation one too.
    StopReason reason = StopReason::failed;
    std::optional<Error> error;  ///< Set when reason is failed.
    /// false: the text ended without the form asked for. Calls without a text need none yet.
    bool meets_constraints = true;
    std::optional<DroppedTurns> dropped;  ///< As the last on_dropped() had it.
    std::string notice;  ///< Why the context could not be made longer; to be shown.
    uint64_t seed = 0;
    GenerationStats stats;
};

/// What a reply says, for the conversation that goes on after it.
ChatMessage assistant_message(const GenerationResult& result);

/// A tool call that is being written.
struct ToolCallPiece {
    std::string_view id, name;
    std::string_view arguments_json;  ///< What has come since the last piece; empty at first.
};

/// Callbacks of one generation, all on the inference thread. Any may be empty. Views are valid
/// during the call. A callback that throws ends its generation with an error.
struct GenerationEvents {
    std::function<void(uint32_t done, uint32_t total)> on_prefill;  ///< Prompt tokens so far.
    std::function<void(std::string_view text)> on_text;             ///< Whole characters.
    std::function<void(std::string_view text)> on_thought;          ///< Likewise.
    /// The model has closed a thought that it never opened: what on_text gave was the thought.
    std::function<void()> on_text_was_thought;
    std::function<void(const ToolCallPiece& piece)> on_tool_call_piece;
    std::function<void(const ToolCall& call)> on_tool_call;   ///< Complete; check its problem.
    std::function<void(const TokenLogprob& token)> on_token;  ///< Before its text.
    /// Turns have been dropped, all of them so far; the answer goes on without them.
    std::function<void(const DroppedTurns& dropped)> on_dropped;
    std::function<void(uint32_t context_tokens)> on_grown;  ///< The context is longer now.
    std::function<void(const GenerationResult& result)> on_finished;  ///< Always, exactly once.
};

/// Logits and inner values of a given token sequence, for tests and tools.
struct EvaluateRequest {
    std::vector<TokenId> tokens;
    bool all_positions = false;
    bool hidden = false;  ///< Residual stream of the last position.
    bool stages = false;  ///< Named inner values of each layer, last position.
    /// Tokens per step (0: chosen by the engine). Results must not depend on it beyond rounding.
    uint32_t chunk_tokens = 0;
    /// Called for each wanted position with all logits [num_vocab].
    std::function<void(uint32_t index, std::span<const float> logits)> on_logits;
    /// "embed", "layer0", .., "final_norm" / "layer0.attn_norm", ..
    std::function<void(const std::string& name, std::span<const float> values)> on_trace;
};

/// Given tokens to be timed without sampling: a prompt from an empty cache, then the decode tokens
/// one at a time, each with full logits. Several sequences go on after the same prompt, a token of
/// each in every step; the k-th one's tokens begin with the k-th.
struct TimingRequest {
    std::vector<TokenId> prompt, decode;
    uint32_t num_sequences = 1;  ///< Up to max_sequences.
    /// So many best logits of each decoded token are wanted, as a sampler with this top-k does.
    /// 0: all.
    uint32_t num_best = 40;
};
struct Timing {
    double prefill_s = 0, decode_s = 0;  ///< Of the whole prompt; of all decode steps.
    double peak_memory_mb = 0;           ///< Of the process.
};

/// The context of a chat on disk.
struct SavedChat {
    std::vector<TokenId> tokens;  ///< Whose keys and values the file holds.
    std::string note;             ///< What save_chat() was given.
    uint64_t file_bytes = 0;
};

class GenerationHandle {
  public:
    GenerationHandle();   ///< Threads: cancel() from any, all else from one at a time.
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

/// Errors : blocking members: bad_argument from a callback (it would wait for itself) or without a
///          model; load(): io, bad_format, unsupported, limit_exceeded, out_of_memory, cancelled.
/// Threads: all members are thread-safe. load(), unload(), evaluate(), save_chat(), restore_chat()
///          and the measure_ members block their caller and wait for the generations before them;
///          those that come later wait for these.
class Engine {
  public:
    static Result<std::unique_ptr<Engine>> create();
    ~Engine();  ///< Cancels what runs and joins the thread.

    /// Replaces the loaded model; on failure the one before stays, unless memory had to be freed
    /// for the new one. `progress` gets 0..1 on the inference thread; returning false cancels.
    Result<ModelInfo> load(const LoadOptions& options,
                           std::function<bool(double)> progress = nullptr);
    void cancel_load();
    void unload();
    [[nodiscard]] std::optional<ModelInfo> model() const;
    /// The tokenizer and template of the loaded model; shared with the caller.
    [[nodiscard]] std::shared_ptr<const Tokenizer> tokenizer() const;
    [[nodiscard]] std::shared_ptr<const ChatTemplate> chat_template() const;

    /// Queues a generation. Up to max_sequences run together, first come, first served; when the
    /// KV cache is full the newest waits for the others.
    GenerationHandle generate(GenerationRequest request, GenerationEvents events = {});
    /// One continuation of the same prompt for each of `events`, with the seeds seed, seed + 1, ..
    /// The prompt is evaluated once.
    std::vector<GenerationHandle> generate_many(GenerationRequest request,
                                                std::vector<GenerationEvents> events);
    /// Runs tokens through the model without sampling.
    Result<void> evaluate(const EvaluateRequest& request);
    /// The prompt tokens that a request would start from. On the caller's thread.
    Result<std::vector<TokenId>> tokenize_request(const GenerationRequest& request) const;
    /// Writes to a file what is in memory of these tokens from the front on, so that a later
    /// restore_chat() saves their evaluation. `note` is kept beside it: the conversation, say.
    /// Generations start from there by themselves when their prompt begins with the same tokens.
    /// The file is written anew beside an old one and then put in its place; it is readable by its
    /// owner alone. Blocks like evaluate().
    /// Errors : bad_argument (nothing of it is in memory; what is there is no saved chat, see
    ///          check_chat_target()), io.
    Result<SavedChat> save_chat(const std::filesystem::path& path, std::span<const TokenId> tokens,
                                std::string_view note = {});
    /// Brings a saved context back into memory. It need not fit the next prompt. With
    /// Overflow::grow the context is made longer for one that has outgrown it. Blocks like
    /// evaluate().
    /// Errors : io; bad_format (not such a file, damaged); bad_argument (of another model, another
    ///          kv_type, other kernels or ranks); limit_exceeded (longer than the context).
    Result<SavedChat> restore_chat(const std::filesystem::path& path,
                                   Overflow overflow = Overflow::stop);
    /// Runs tokens through the model by the clock (benchmarks). Blocks like evaluate().
    Result<Timing> measure_speed(const TimingRequest& request);
    /// GB/s at which this machine reads the loaded weights with the model's number of threads;
    /// what decode speed is measured against. Blocks like evaluate().
    Result<double> measure_read_bandwidth();

  private:
    friend struct EngineAccess;  // tests replace the model loader through it
    Engine();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace hokku
