// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "commands.h"
#include "console.h"
#include "constraint_flags.h"
#include "generation.h"
#include "model_options.h"
#include "sampling_flags.h"

namespace hokku::cli {

namespace {

struct ChatOptions {
    ModelOptions model;
    SamplingFlags sampling;
    ConstraintFlags constraints;
    std::string system, first;
    uint32_t max_tokens = 0;
};

constexpr std::string_view kHelp =
    "  /help          this list\n"
    "  /reset         forget the conversation\n"
    "  /system TEXT   set the system message (and forget the conversation)\n"
    "  /again         answer the last message anew\n"
    "  /quit          leave; Ctrl-D and a second Ctrl-C do so too\n"
    "A line that ends in \\ goes on in the next one. Ctrl-C stops an answer.\n";

/// The conversation and what is done with each line of input.
class Chat {
  public:
    Chat(LoadedModel& loaded, const ChatOptions& options, SamplingOptions sampling,
         std::vector<ConstraintSpec> constraints)
        : loaded_(loaded),
          sampling_(std::move(sampling)),
          constraints_(std::move(constraints)),
          max_tokens_(options.max_tokens),
          system_(options.system) {
        reset();
    }

    /// Returns false when the chat is over.
    bool handle(const std::string& line) {
        if (line.empty()) return true;
        if (!line.starts_with('/')) return answer(line);
        const size_t end = line.find(' ');
        const std::string command = line.substr(0, end);
        const std::string rest = end == std::string::npos ? "" : line.substr(end + 1);
        if (command == "/quit" || command == "/exit") return false;
        if (command == "/reset") {
            reset();
        } else if (command == "/system") {
            system_ = rest;
            reset();
        } else if (command == "/again") {
            return again();
        } else {
            if (command != "/help") write_message("no such command: " + command);
            std::fputs(kHelp.data(), stderr);
        }
        return true;
    }

    /// Errors so far; a chat that only failed is a failure for scripts.
    [[nodiscard]] bool has_failed() const { return has_failed_; }

  private:
    void reset() {
        messages_.clear();
        if (!system_.empty()) messages_.push_back({"system", system_});
    }

    bool again() {
        while (!messages_.empty() && messages_.back().role == "assistant") messages_.pop_back();
        if (messages_.empty() || messages_.back().role != "user") {
            write_message("there is no message to answer");
            return true;
        }
        const std::string text = messages_.back().content;
        messages_.pop_back();
        return answer(text);
    }

    bool answer(const std::string& text) {
        messages_.push_back({"user", text});
        GenerationRequest request;
        request.messages = messages_;
        request.sampling = sampling_;
        request.constraints = constraints_;
        request.max_tokens = max_tokens_;
        const GenerationResult result = generate_to_stdout(loaded_, std::move(request), true);
        if (result.reason == StopReason::failed) {
            messages_.pop_back();
            has_failed_ = true;
            if (result.error) fail(*result.error);
            return true;
        }
        messages_.push_back({"assistant", result.text});
        write_result("\n");
        if (isatty(STDERR_FILENO) != 0) {
            std::fprintf(stderr, "\033[2m(%s)\033[0m\n", summary_of(result).c_str());
        }
        if (result.reason != StopReason::cancelled && !report_constraints(result))
            has_failed_ = true;
        if (result.reason == StopReason::context_full) {
            write_message("the context is full; /reset starts a new conversation");
        }
        return flush_results();
    }

    LoadedModel& loaded_;
    SamplingOptions sampling_;
    std::vector<ConstraintSpec> constraints_;
    uint32_t max_tokens_;
    std::string system_;
    std::vector<ChatMessage> messages_;
    bool has_failed_ = false;
};

/// One message: a line, with those that it continues on. Absent at the end of input.
Result<std::optional<std::string>> read_message(bool is_interactive) {
    std::string message;
    for (const char* prompt = "> ";; prompt = ". ") {
        if (is_interactive) std::fputs(prompt, stderr);
        std::string line;
        Result<bool> is_there = read_stdin_line(line);
        if (!is_there) return is_there.error();
        if (!*is_there) break;
        if (line.ends_with('\r')) line.pop_back();
        if (!line.ends_with('\\')) return std::optional(message + line);
        line.back() = '\n';
        message += line;
    }
    if (message.empty()) return std::optional<std::string>();
    return std::optional(message);
}

int chat(const ChatOptions& options) {
    Result<SamplingOptions> sampling = sampling_options(options.sampling);
    if (!sampling) return fail_arguments(sampling.error());
    Result<std::vector<ConstraintSpec>> constraints = constraint_specs(options.constraints);
    if (!constraints) return fail_arguments(constraints.error());
    Result<LoadedModel> loaded = load_model(options.model);
    if (!loaded) return fail(loaded.error());
    const bool is_interactive = isatty(STDIN_FILENO) != 0;
    if (is_interactive) {
        std::fprintf(stderr, "%s on %s. /help lists the commands.\n",
                     loaded->info.path.stem().c_str(), loaded->info.device.c_str());
    }
    Chat conversation(*loaded, options, std::move(*sampling), std::move(*constraints));
    if (!options.first.empty()) {
        std::fprintf(stderr, "> %s\n", options.first.c_str());
        if (!conversation.handle(options.first)) return kDone;
    }
    while (true) {
        Result<std::optional<std::string>> message = read_message(is_interactive);
        if (!message) return fail(message.error());
        if (!message->has_value()) break;
        if (!conversation.handle(**message)) return kDone;
    }
    if (is_interactive) std::fputs("\n", stderr);
    return !is_interactive && conversation.has_failed() ? kFailed : kDone;
}

}  // namespace

void add_chat(CLI::App& app, Action& chosen) {
    CLI::App* command = app.add_subcommand(
        "chat", "Talk with a model; without a terminal, answer each line of stdin");
    auto options = std::make_shared<ChatOptions>();
    add_model_options(command, options->model);
    command->add_option("--system", options->system, "The system message")->type_name("TEXT");
    command->add_option("--first", options->first, "Answer this message first")->type_name("TEXT");
    command
        ->add_option("-n,--max-tokens", options->max_tokens,
                     "Most tokens of an answer; 0: until the context is full")
        ->type_name("N")
        ->transform(is_whole(0, kMostUint32));
    add_sampling_flags(command, options->sampling);
    add_constraint_flags(command, options->constraints);
    command->callback([&chosen, options] { chosen = [options] { return chat(*options); }; });
}

}  // namespace hokku::cli
