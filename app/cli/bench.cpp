// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "commands.h"
#include "console.h"
#include "draft_timing.h"
#include "hokku/devices.h"
#include "model_options.h"
#include "screen_timing.h"
#include "typed_names.h"

namespace hokku::cli {

namespace {

struct BenchOptions {
    ModelOptions model;
    uint32_t prompt_tokens = 512, decode_tokens = 64, repetitions = 3;
    uint32_t sequences = 1;
    bool json = false;
};

struct BenchResult {
    double prefill_tok_s = 0, decode_tok_s = 0;  ///< Medians over the repetitions.
    double batched_tok_s = 0;                    ///< Of all sequences together.
    double peak_memory_mb = 0, read_bandwidth_gb_s = 0;
    std::optional<ScreenTiming> screen;
    std::optional<DraftTiming> draft;

    /// Time of a step with all sequences by that of a step with one.
    [[nodiscard]] double step_ratio(uint32_t sequences) const {
        return batched_tok_s > 0 ? decode_tok_s * sequences / batched_tok_s : 0;
    }
};

/// Fixed ids, well spread over the vocabulary and clear of the special ones at its start: the same
/// that other engines are timed with, so that figures can be compared.
std::vector<TokenId> fixed_ids(uint32_t count, uint64_t multiplier, uint32_t num_vocab) {
    constexpr uint32_t kMargin = 100, kLargest = 30000;
    const uint64_t span = num_vocab > 3 * kMargin ? std::min(num_vocab, kLargest) - 2 * kMargin : 1;
    const uint64_t first = num_vocab > 3 * kMargin ? kMargin : 0;
    std::vector<TokenId> ids(count);
    for (uint64_t i = 0; i < count; ++i) {
        ids[i] = static_cast<TokenId>((i * multiplier) % span + first);
    }
    return ids;
}

Result<BenchResult> measure(LoadedModel& loaded, const BenchOptions& options) {
    Engine& engine = *loaded.engine;
    const ModelInfo& info = loaded.info;
    TimingRequest request{.prompt = fixed_ids(options.prompt_tokens, 7919, info.num_vocab),
                          .decode = fixed_ids(options.decode_tokens, 104729, info.num_vocab)};
    BenchResult result;
    std::vector<double> prefill, decode, batched;
    if (info.screens_head) request.num_best = 0;
    for (uint32_t round = 0; round <= options.repetitions; ++round) {
        request.num_sequences = 1;
        Result<Timing> timing = engine.measure_speed(request);
        if (!timing) return timing.error();
        request.num_sequences = options.sequences;
        Result<Timing> together = options.sequences > 1 ? engine.measure_speed(request) : timing;
        if (!together) return together.error();
        result.peak_memory_mb = together->peak_memory_mb;
        if (round == 0) continue;  // Warms caches, frequencies and page tables.
        if (timing->prefill_s > 0) prefill.push_back(options.prompt_tokens / timing->prefill_s);
        if (timing->decode_s > 0) decode.push_back(options.decode_tokens / timing->decode_s);
        if (together->decode_s > 0)
            batched.push_back(options.decode_tokens * options.sequences / together->decode_s);
    }
    result.prefill_tok_s = median(std::move(prefill));
    result.decode_tok_s = median(std::move(decode));
    result.batched_tok_s = median(std::move(batched));
    Result<double> bandwidth = engine.measure_read_bandwidth();
    if (!bandwidth) return bandwidth.error();
    result.read_bandwidth_gb_s = *bandwidth;
    if (info.screens_head && options.decode_tokens > 0) {
        Result<ScreenTiming> screen =
            time_screen(loaded, options.decode_tokens, options.repetitions);
        if (!screen) return screen.error();
        result.screen = *screen;
    }
    if (info.draft_model.empty()) return result;
    Result<DraftTiming> draft = time_draft(loaded, options.decode_tokens, options.repetitions);
    if (!draft) return draft.error();
    result.draft = *draft;
    return result;
}

/// What the context must hold, and no less.
uint32_t least_context(const BenchOptions& options) {
    return options.prompt_tokens + options.decode_tokens;
}

/// What surely does.
uint32_t roomy_context(const BenchOptions& options) {
    // Each further sequence needs a copy of the prompt's last block.
    constexpr uint32_t kBlockTokens = 64;
    const uint32_t fixed = least_context(options) +
                           (options.sequences - 1) * (options.decode_tokens + 2 * kBlockTokens);
    const uint32_t screened =
        options.model.screen_head ? 2 * kScreenPromptTokens + options.decode_tokens : 0;
    if (options.model.draft_model.empty()) return std::max(fixed, screened);
    return std::max(fixed, kDraftPromptTokens + options.decode_tokens);
}

Error too_long(const BenchOptions& options, uint32_t context_tokens) {
    const std::string given = as_typed("--prompt") + " " + std::to_string(options.prompt_tokens) +
                              ", " + as_typed("--decode") + " " +
                              std::to_string(options.decode_tokens);
    const uint32_t asked = options.model.context_tokens.value_or(0);
    const std::string context = asked == context_tokens
                                    ? as_typed("--context") + " " + std::to_string(asked)
                                    : "the model's context of " + std::to_string(context_tokens);
    return {ErrorCode::bad_argument, "more tokens than the context holds", given + ", " + context,
            "a context of at least " + std::to_string(least_context(options)) +
                " tokens, or fewer tokens"};
}

/// What is read from memory in decoding.
struct Reading {
    double needed_gb_s = 0, share = 0;  ///< Of what the threads read at most.
};

Reading reading_of(const ModelInfo& info, const BenchResult& measured) {
    const double needed = measured.decode_tok_s * static_cast<double>(info.bytes_per_token) / 1e9;
    const double most = measured.read_bandwidth_gb_s;
    return {needed, most > 0 ? needed / most : 0};
}

/// "CUDA 13.0" where layers are on a GPU: which driver has made figures is part of them.
std::string driver_of(const ModelInfo& info) {
    if (info.device.find("GPU ") == std::string::npos) return {};
    const GpuList found = list_gpus();
    return found.gpus.empty() ? std::string() : found.gpus.front().driver;
}

void show_json(const BenchOptions& options, const ModelInfo& info, const BenchResult& measured) {
    nlohmann::ordered_json line({{"prefill_tok_s", measured.prefill_tok_s},
                                 {"decode_tok_s", measured.decode_tok_s},
                                 {"load_s", info.load_ms / 1e3},
                                 {"peak_memory_mb", measured.peak_memory_mb},
                                 {"kv_type", kv_type_name(info.kv_type)},
                                 {"kv_bytes", info.kv_bytes},
                                 {"bytes_per_token", info.bytes_per_token},
                                 {"read_bandwidth_gb_s", measured.read_bandwidth_gb_s},
                                 {"share_of_bandwidth", reading_of(info, measured).share},
                                 {"device", info.device},
                                 {"kernels", info.kernels},
                                 {"threads", info.num_threads},
                                 {"ranks", info.rank_weight_bytes.size()},
                                 {"rank_weight_bytes", info.rank_weight_bytes}});
    if (const std::string driver = driver_of(info); !driver.empty()) line["driver"] = driver;
    if (options.sequences > 1) {
        line["sequences"] = options.sequences;
        line["batched_decode_tok_s"] = measured.batched_tok_s;
        line["batched_step_ratio"] = measured.step_ratio(options.sequences);
    }
    if (measured.screen) {
        line["text_whole_head_tok_s"] = measured.screen->whole_tok_s;
        line["text_screened_top_k_tok_s"] = measured.screen->top_k_tok_s;
        line["text_screened_greedy_tok_s"] = measured.screen->greedy_tok_s;
    }
    if (measured.draft) {
        line["draft_model"] = info.draft_model;
        line["text_decode_tok_s"] = measured.draft->plain_tok_s;
        line["drafted_decode_tok_s"] = measured.draft->drafted_tok_s;
        line["guessed_tokens"] = measured.draft->guessed_tokens;
        line["right_guesses"] = measured.draft->right_guesses;
    }
    write_json_line(line);
}

template <class... Arguments>
void write_row(const char* format, Arguments... arguments) {
    char text[256];
    std::snprintf(text, sizeof text, format, arguments...);
    write_result(text);
}

void show_rows(const BenchOptions& options, const ModelInfo& info, const BenchResult& measured) {
    const bool has_decoded = options.decode_tokens > 0;
    const std::string driver = driver_of(info);
    write_result(info.path.stem().string() + " on " + info.device + "\n  kernels    " +
                 info.kernels + (driver.empty() ? "" : "; driver of " + driver) + "\n");
    write_row("  prefill    %8.1f tok/s (%s)\n", measured.prefill_tok_s,
              counted(options.prompt_tokens, "token").c_str());
    if (has_decoded)
        write_row("  decode     %8.2f tok/s (%s)\n", measured.decode_tok_s,
                  counted(options.decode_tokens, "token").c_str());
    write_row("  load       %8.3f s\n  memory     %8.0f MB at most\n", info.load_ms / 1e3,
              measured.peak_memory_mb);
    const Reading reading = reading_of(info, measured);
    if (has_decoded)
        write_row("  reads      %8.1f MB a token, %.1f of %.1f GB/s (%.0f %%)\n",
                  static_cast<double>(info.bytes_per_token) / 1e6, reading.needed_gb_s,
                  measured.read_bandwidth_gb_s, 100 * reading.share);
    if (info.rank_weight_bytes.size() > 1) {
        write_result("  ranks     ");
        for (const uint64_t bytes : info.rank_weight_bytes)
            write_row(" %.1f", static_cast<double>(bytes) / 1e6);
        write_result(" MB of weights each\n");
    }
    if (options.sequences > 1 && has_decoded)
        write_row("  together   %8.2f tok/s (%u sequences; a step takes %.2f times as long)\n",
                  measured.batched_tok_s, options.sequences,
                  measured.step_ratio(options.sequences));
    if (measured.screen) {
        const ScreenTiming& screen = *measured.screen;
        const double whole = screen.whole_tok_s > 0 ? screen.whole_tok_s : 1;
        write_result("  text of the model itself (" + counted(options.decode_tokens, "token") +
                     "):\n");
        write_row("  whole head %8.2f tok/s\n", screen.whole_tok_s);
        write_row(
            "  screened   %8.2f tok/s for the 40 best logits (%.2f times), %.2f for the best "
            "alone (%.2f)\n",
            screen.top_k_tok_s, screen.top_k_tok_s / whole, screen.greedy_tok_s,
            screen.greedy_tok_s / whole);
    }
    if (!measured.draft) return;
    const DraftTiming& draft = *measured.draft;
    const double gain = draft.plain_tok_s > 0 ? draft.drafted_tok_s / draft.plain_tok_s : 0;
    write_result("  what the model says itself, greedily (" +
                 counted(options.decode_tokens, "token") + "):\n");
    write_row("  no draft   %8.2f tok/s\n", draft.plain_tok_s);
    write_row("  draft      %8.2f tok/s, %.2f times as many", draft.drafted_tok_s, gain);
    if (draft.guessed_tokens > 0) {
        write_row(" (%.0f of %.0f guesses were right)\n", draft.right_guesses,
                  draft.guessed_tokens);
    } else {
        write_result(" (not asked: its guesses would not pay)\n");
    }
}

int bench(BenchOptions options) {
    const uint32_t least = least_context(options);
    std::optional<uint32_t>& context = options.model.context_tokens;
    if (context.value_or(0) > 0 && *context < least)
        return fail_arguments(too_long(options, *context));
    if (!context) context = roomy_context(options);
    options.model.max_sequences = options.sequences;
    Result<LoadedModel> loaded = load_model(options.model);
    if (!loaded) return fail_arguments(loaded.error());
    const ModelInfo& info = loaded->info;
    if (info.context_tokens < least) return fail_arguments(too_long(options, info.context_tokens));
    if (!info.draft_model.empty()) {
        Result<void> checked = check_draft_context(*loaded, options.decode_tokens);
        if (!checked) return fail_arguments(checked.error());
    }
    Result<BenchResult> measured = measure(*loaded, options);
    if (!measured) return fail_arguments(measured.error());
    if (options.json) {
        show_json(options, info, *measured);
    } else {
        show_rows(options, info, *measured);
    }
    return kDone;
}

}  // namespace

void add_bench(CLI::App& app, Action& chosen) {
    CLI::App* command = app.add_subcommand("bench", "Measure how fast a model runs here");
    auto options = std::make_shared<BenchOptions>();
    add_model_options(command, options->model);
    command->add_option("-p,--prompt", options->prompt_tokens, "Tokens of the prompt")
        ->type_name("N")
        ->capture_default_str()
        ->transform(is_whole(1, 1 << 20));
    command->add_option("-n,--decode", options->decode_tokens, "Tokens decoded after it")
        ->type_name("N")
        ->capture_default_str()
        ->transform(is_whole(0, 1 << 20));
    command
        ->add_option("-r,--repetitions", options->repetitions,
                     "Rounds after the warm-up; the medians are shown")
        ->type_name("N")
        ->capture_default_str()
        ->transform(is_whole(1, 1000));
    command
        ->add_option("--sequences", options->sequences,
                     "Also decode so many sequences in each step, up to 32")
        ->type_name("N")
        ->capture_default_str()
        ->transform(is_whole(1, 32));
    add_draft_options(command, options->model);
    command->add_flag("--json", options->json, "Print one JSON object");
    command->callback([&chosen, options] {
        // The first token is drawn from the prompt's logits, so that one alone takes no step.
        if (!options->model.draft_model.empty() && options->decode_tokens < 2)
            throw CLI::ValidationError("--draft-model needs at least --decode 2");
        chosen = [options] { return bench(*options); };
    });
}

}  // namespace hokku::cli
