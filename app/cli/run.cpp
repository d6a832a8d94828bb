// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>

#include "commands.h"
#include "console.h"
#include "constraint_flags.h"
#include "continuation_json.h"
#include "generation.h"
#include "hokku/chat_cache.h"
#include "model_options.h"
#include "sampling_flags.h"
#include "token_list.h"
#include "typed_names.h"

namespace hokku::cli {

namespace {

using Json = nlohmann::ordered_json;

/// Continuations that are written at the same time; the others follow. More would gain little speed
/// and take each other's place in the KV cache.
constexpr uint32_t kMostTogether = 8;

struct RunOptions {
    ModelOptions model;
    SamplingFlags sampling;
    ConstraintFlags constraints;
    std::optional<std::string> prompt;
    std::optional<std::string> tokens;
    std::string prompt_file, tools_file, prompt_cache;
    std::optional<std::string> system;
    std::optional<uint32_t> thought_budget;
    std::vector<std::string> stop;
    uint32_t max_tokens = 0;
    uint32_t num_continuations = 1;
    std::optional<uint32_t> num_logprobs;
    std::optional<std::string> replacement;
    Overflow overflow = Overflow::stop;
    bool raw = false, parse_special = false, json = false;
    bool prompt_cache_ro = false;
    bool prompt_lookup = true;
};

/// Tools with a name each, which no other has.
Result<void> check_tools(const Json& tools, const std::string& where) {
    std::set<std::string> names;
    for (size_t i = 0; i < tools.size(); ++i) {
        const auto wrong = [&](std::string what) {
            return Error{ErrorCode::bad_format, "tool [" + std::to_string(i) + "] " + what, where,
                         "{\"type\": \"function\", \"function\": {\"name\": \"..\"}}"};
        };
        const Json& tool = tools[i];
        if (!tool.is_object()) return wrong("is no object");
        const auto wrapped = tool.find("function");
        const Json& function = wrapped != tool.end() && wrapped->is_object() ? *wrapped : tool;
        const auto name = function.find("name");
        if (name == function.end()) return wrong("has no name");
        if (!name->is_string() || name->get<std::string>().empty())
            return wrong("has a name that is no text");
        if (!names.insert(name->get<std::string>()).second)
            return wrong("has the name of another one, \"" + name->get<std::string>() + "\"");
    }
    return {};
}

/// A JSON array of tools, as the template is given it.
Result<std::string> read_tools(const std::string& path) {
    const std::string option = "--tools", where = option + " " + path;
    Result<std::string> text = read_input(path, option);
    if (!text) return text;
    Result<Json> tools = parse_json(*text, where);
    if (!tools) {
        Error error = tools.error();
        error.expected = "a JSON array of tools";
        return error;
    }
    if (!tools->is_array()) {
        return Error{ErrorCode::bad_format, "the tools are not a list", where,
                     "a JSON array of tools"};
    }
    if (Result<void> checked = check_tools(*tools, where); !checked) return checked.error();
    return text;
}

Result<GenerationRequest> make_request(const RunOptions& options) {
    GenerationRequest request;
    Result<SamplingOptions> sampling =
        sampling_options(options.sampling, options.num_continuations);
    if (!sampling) return sampling.error();
    request.sampling = std::move(*sampling);
    Result<std::vector<ConstraintSpec>> constraints = constraint_specs(options.constraints);
    if (!constraints) return constraints.error();
    request.constraints = std::move(*constraints);
    request.max_tokens = options.max_tokens;
    request.overflow = options.overflow;
    request.prompt_lookup = options.prompt_lookup;
    if (std::find(options.stop.begin(), options.stop.end(), "") != options.stop.end()) {
        return Error{ErrorCode::bad_argument, "the text to stop at is empty",
                     as_given("--stop", ""), "text"};
    }
    for (const std::string& stop : options.stop) {
        if (!is_utf8(stop))
            return Error{ErrorCode::bad_argument, "a text to stop at is not UTF-8",
                         as_given("--stop", stop), "UTF-8 text"};
    }
    request.stop_strings = options.stop;
    request.parse_special = options.parse_special;
    request.num_top_logprobs = options.num_logprobs.value_or(0);
    if (options.tokens) {
        Result<std::vector<TokenId>> ids = read_token_list(*options.tokens, "--tokens");
        if (!ids) return ids.error();
        if (options.replacement) {
            Result<void> replaced = replace_token(*options.replacement, *ids);
            if (!replaced) return replaced.error();
        }
        request.tokens = std::move(*ids);
        return request;
    }
    std::string prompt = options.prompt.value_or("");
    if (!options.prompt_file.empty()) {
        Result<std::string> text = read_input(options.prompt_file, "--file");
        if (!text) return text.error();
        prompt = std::move(*text);
    }
    if (options.raw) {
        request.raw_text = std::move(prompt);
        return request;
    }
    request.thought_budget_tokens = options.thought_budget;
    if (!options.tools_file.empty()) {
        Result<std::string> tools = read_tools(options.tools_file);
        if (!tools) return tools.error();
        request.tools_json = std::move(*tools);
    }
    if (options.system) request.messages.push_back({"system", *options.system});
    request.messages.push_back({"user", std::move(prompt)});
    return request;
}

bool is_incomplete(const GenerationResult& result) {
    return result.reason == StopReason::failed || result.reason == StopReason::cancelled;
}

Json as_json(const Continuation& continuation, const RunOptions& options,
             const LoadedModel& loaded) {
    return continuation_json(continuation,
                             options.num_logprobs ? loaded.engine->tokenizer().get() : nullptr);
}

/// Of what only the model can tell: ids of tokens.
Result<void> check_tokens(const RunOptions& options, const GenerationRequest& request,
                          uint32_t num_vocab) {
    Result<void> checked = check_bias(request.sampling, num_vocab);
    if (!checked || !request.tokens) return checked;
    // The replacement is the last of the given tokens.
    if (options.replacement && static_cast<uint32_t>(request.tokens->back()) >= num_vocab)
        return Error{
            ErrorCode::bad_argument, "there is no token " + std::to_string(request.tokens->back()),
            "--replace " + *options.replacement, "an id below " + std::to_string(num_vocab)};
    return check_ids(*request.tokens, num_vocab, "--tokens");
}

/// Says each error once, with the numbers of the continuations that it ended, unless it is all.
void report_errors(const std::vector<Continuation>& all) {
    std::vector<std::pair<const Error*, std::string>> errors;
    for (size_t i = 0; i < all.size(); ++i) {
        if (!all[i].result.error) continue;
        const Error& error = *all[i].result.error;
        const auto same = std::find_if(errors.begin(), errors.end(), [&](const auto& known) {
            return known.first->message() == error.message();
        });
        if (same == errors.end()) {
            errors.emplace_back(&error, std::to_string(i + 1));
        } else {
            same->second += ", " + std::to_string(i + 1);
        }
    }
    const bool is_common = errors.size() == 1 && std::all_of(all.begin(), all.end(), [](auto& one) {
                               return one.result.error.has_value();
                           });
    for (const auto& [error, numbers] : errors) {
        if (is_common) {
            fail(*error);
        } else {
            write_message(numbers + ": error: " + error->message());
        }
    }
}

int show_several(const RunOptions& options, const LoadedModel& loaded,
                 const GenerationRequest& request, const std::vector<Continuation>& all) {
    if (!flush_results()) return kFailed;  // nobody reads on
    bool is_whole = true, is_usage = false;
    Json list = Json::array();
    for (size_t i = 0; i < all.size(); ++i) {
        const GenerationResult& result = all[i].result;
        is_whole = is_whole && !is_incomplete(result);
        is_usage = is_usage || is_conflict(result, request);
        if (options.json) list.push_back(as_json(all[i], options, loaded));
        const std::string number = std::to_string(i + 1) + ": ";
        if (!result.error && !options.json) {
            for (const ToolCall& call : result.tool_calls)
                write_json_line({{"continuation", i + 1}, {"tool_call", tool_call_json(call)}});
            write_message(number + summary_of(result));
            report_thought_alone(result);
            report_overflow(result, request.messages, options.overflow);
        }
        if (!is_incomplete(result)) is_whole = report_constraints(result) && is_whole;
    }
    report_errors(all);
    if (is_usage) return kWrongUsage;
    if (options.json) write_json_line({{"continuations", std::move(list)}});
    return is_whole ? kDone : kFailed;
}

int show_one(const RunOptions& options, const LoadedModel& loaded, const GenerationRequest& request,
             const Continuation& continuation) {
    const GenerationResult& result = continuation.result;
    if (result.reason == StopReason::failed && result.error) {
        if (!result.notice.empty()) write_message(result.notice);
        // Whether an empty prompt is one depends on the model: some begin with a token of their
        // own.
        const bool is_empty = options.prompt && options.prompt->empty();
        const bool is_usage = is_empty || is_conflict(result, request);
        if (options.json && !is_usage) write_json_line(as_json(continuation, options, loaded));
        return is_usage ? fail_arguments(*result.error) : fail(*result.error);
    }
    if (options.json) {
        write_json_line(as_json(continuation, options, loaded));
    } else {
        if (!flush_results()) return kFailed;  // nobody reads on
        const bool is_call_alone = result.text.empty() && !result.tool_calls.empty();
        if (has_text(result) && !is_call_alone) write_result("\n");
        for (const ToolCall& call : result.tool_calls)
            write_json_line({{"tool_call", tool_call_json(call)}});
        write_message(summary_of(result));
        report_thought_alone(result);
        report_overflow(result, request.messages, options.overflow);
    }
    return is_incomplete(result) || !report_constraints(result) ? kFailed : kDone;
}

/// A saved context, or nothing yet.
Result<void> check_prompt_cache(const std::filesystem::path& path) {
    Result<void> checked = check_chat_target(path);
    if (checked) return checked;
    Error error = checked.error();
    error.where = "--prompt-cache " + error.where;
    return error;
}

/// What a file holds of a prompt costs time when it is missing or does not fit, but no text.
class PromptCache {
  public:
    PromptCache(const RunOptions& options, Engine& engine)
        : path_(path_from_utf8(options.prompt_cache)),
          is_kept_(!options.prompt_cache_ro),
          engine_(engine) {
        std::error_code error;
        if (path_.empty()) return;
        if (!std::filesystem::exists(path_, error)) {
            if (!is_kept_) write_message("there is no " + options.prompt_cache + " to start from");
            return;
        }
        if (Result<void> is_chat = check_prompt_cache(path_); !is_chat) {
            write_message("the prompt will be read again: this is not a saved context (" +
                          is_chat.error().where + ")");
            return;
        }
        const Result<SavedChat> restored = engine_.restore_chat(path_, options.overflow);
        if (!restored)
            write_message("the prompt will be read again: " + restored.error().message());
    }
    /// Keeps the prompt and its answer.
    void save(const GenerationRequest& request, const std::vector<TokenId>& answer) {
        if (path_.empty() || !is_kept_) return;
        Result<std::vector<TokenId>> tokens = engine_.tokenize_request(request);
        if (!tokens) return;
        tokens->insert(tokens->end(), answer.begin(), answer.end());
        const Result<SavedChat> saved = engine_.save_chat(path_, *tokens);
        if (!saved) write_message("the prompt is not saved: " + saved.error().message());
    }

  private:
    std::filesystem::path path_;
    bool is_kept_;
    Engine& engine_;
};

/// What fails before there is an answer, with the exit code for it: --json has it, too, unless it
/// is the command line that is wrong.
int refuse(const RunOptions& options, const Error& error, int code) {
    if (options.json && code == kFailed) write_json_line({{"error", error.message()}});
    return code;
}

int run(const RunOptions& options) {
    const auto fail_run = [&](const Error& error) { return refuse(options, error, fail(error)); };
    const auto fail_usage = [&](const Error& error) {
        return refuse(options, error, fail_arguments(error));
    };
    // Before the model, so that a slip in the arguments is told at once.
    Result<GenerationRequest> request = make_request(options);
    if (!request) return fail_usage(request.error());
    if (!options.prompt_cache.empty() && !options.prompt_cache_ro) {
        const std::filesystem::path path = path_from_utf8(options.prompt_cache);
        const std::filesystem::path folder = path.parent_path();
        std::error_code error;
        if (!folder.empty() && !std::filesystem::is_directory(folder, error))
            return fail_run({ErrorCode::io, "there is no such folder",
                             "--prompt-cache in " + path_utf8(folder), "a folder that is there"});
        const Result<void> may_write = check_prompt_cache(path);
        if (!may_write) return fail_run(may_write.error());
    }
    Result<LoadedModel> loaded = load_model(options.model);
    if (!loaded) return fail_usage(loaded.error());
    apply_recommended(options.sampling, loaded->info.sampling_defaults, request->sampling);
    Result<void> checked = check_tokens(options, *request, loaded->info.num_vocab);
    if (!checked) return fail_usage(checked.error());
    if (!request->messages.empty()) {
        if (Result<void> may = check_chats(loaded->info); !may) return fail_run(may.error());
        warn_of_unseen(*request, *loaded);
    }
    PromptCache cache(options, *loaded->engine);
    const std::vector<Continuation> all =
        generate_several_to_stdout(*loaded, *request,
                                   {.count = options.num_continuations,
                                    .stream = !options.json,
                                    .keeps_tokens = options.num_logprobs.has_value()});
    if (all.size() > 1) {
        const int code = show_several(options, *loaded, *request, all);
        cache.save(*request, {});
        return code;
    }
    const int code = show_one(options, *loaded, *request, all.front());
    cache.save(*request, all.front().result.tokens);
    return code;
}

/// Throws what CLI11 reports as wrong usage.
void check_usage(const RunOptions& options) {
    std::string prompts;
    for (const auto& [option, is_given] : {std::pair("-p", options.prompt.has_value()),
                                           std::pair("-f", !options.prompt_file.empty()),
                                           std::pair("--tokens", options.tokens.has_value())}) {
        if (is_given) prompts += (prompts.empty() ? "" : " and ") + as_typed(option);
    }
    if (prompts.empty()) throw CLI::ValidationError("give one of -p, -f and --tokens");
    if (prompts.find(' ') != std::string::npos)
        throw CLI::ValidationError("give one of -p, -f and --tokens, not " + prompts);
    if (options.system && (options.raw || options.tokens)) {
        throw CLI::ValidationError("--system has no meaning with --raw or --tokens");
    }
    if (options.prompt_cache_ro && options.prompt_cache.empty()) {
        throw CLI::ValidationError("--prompt-cache-ro is for --prompt-cache");
    }
    if ((!options.tools_file.empty() || options.thought_budget) &&
        (options.raw || options.tokens)) {
        throw CLI::ValidationError(
            "--tools and --thought-budget have no meaning with --raw or --tokens");
    }
    if (options.parse_special && !options.raw) {
        throw CLI::ValidationError("--parse-special is for --raw");
    }
    if (options.num_logprobs && !options.json) {
        throw CLI::ValidationError("--logprobs is for --json");
    }
    if (options.overflow == Overflow::drop_oldest || options.overflow == Overflow::summarise) {
        throw CLI::ValidationError(
            "--overflow drop_oldest and summarise are for chat: one message has nothing to leave "
            "out");
    }
    check_constraint_usage(options.constraints);
    if (options.replacement && !options.tokens) {
        throw CLI::ValidationError("--replace is for --tokens");
    }
}

}  // namespace

void add_run(CLI::App& app, Action& chosen) {
    CLI::App* command = app.add_subcommand("run", "Answer one prompt, streaming the text");
    auto options = std::make_shared<RunOptions>();
    command->add_option("-p,--prompt", options->prompt, "What to answer: a message to the model")
        ->type_name("TEXT");
    command->add_option("-f,--file", options->prompt_file, "... or one in a file; - is stdin")
        ->type_name("FILE");
    command->add_option("--tokens", options->tokens, "... or token ids to continue: 1,2,3 or @FILE")
        ->type_name("LIST");
    command
        ->add_option("--replace", options->replacement,
                     "With --tokens: the one at INDEX (from 0) becomes ID, those after it are "
                     "dropped, and the text goes on from there")
        ->type_name("INDEX=ID");
    command->add_option("--system", options->system, "The system message")->type_name("TEXT");
    command
        ->add_option("--tools", options->tools_file,
                     "Tools that the model may call: a JSON array; - is stdin")
        ->type_name("FILE");
    add_thought_budget(command, options->thought_budget);
    add_prompt_lookup(command, options->prompt_lookup);
    add_draft_options(command, options->model);
    command->add_flag("--raw", options->raw,
                      "Continue the text as it is, without the model's chat template");
    command->add_flag("--parse-special", options->parse_special,
                      "With --raw: text such as <|im_start|> becomes that control token");
    command
        ->add_option("-n,--max-tokens", options->max_tokens,
                     "Most tokens to generate; 0: until the context is full")
        ->type_name("N")
        ->transform(is_whole(0, kMostUint32));
    command
        ->add_option("--num", options->num_continuations,
                     "Continuations to write side by side, with seeds from --seed on")
        ->type_name("N")
        ->transform(is_whole(1, 64));
    command->add_option("--stop", options->stop, "Stop before this text; may be repeated")
        ->type_name("TEXT")
        ->allow_extra_args(false);
    command
        ->add_option("--prompt-cache", options->prompt_cache,
                     "Keep what was computed of prompt and answer in this file, and start from it")
        ->type_name("FILE");
    command->add_flag("--prompt-cache-ro", options->prompt_cache_ro,
                      "Start from that file, but leave it as it is");
    command->add_flag("--json", options->json, "Print one JSON object at the end instead");
    command
        ->add_option("--logprobs", options->num_logprobs,
                     "With --json: the log-probability of each token, and the N likeliest ones")
        ->type_name("N")
        ->transform(is_whole(0, 1000));
    add_model_options(command, options->model);
    add_overflow_option(command, options->overflow);
    add_sampling_flags(command, options->sampling);
    add_constraint_flags(command, options->constraints);
    command->callback([&chosen, options, command] {
        check_usage(*options);
        warn_of_idle_sampling(*command, options->sampling);
        note_given_sampling(*command, options->sampling);
        options->model.max_sequences = std::clamp(options->num_continuations, 1u, kMostTogether);
        chosen = [options] { return run(*options); };
    });
}

}  // namespace hokku::cli
