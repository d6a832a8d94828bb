// SPDX-License-Identifier: Apache-2.0
#include "generation.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "console.h"
#include "hokku/paths.h"
#include "terminal.h"

namespace hokku::cli {

namespace {

/// Cancels what is generated. The handles exist only once that has begun; a reader lost before is
/// noted.
class Canceller {
  public:
    void cancel() {
        const std::lock_guard lock(mutex_);
        is_cancelled_ = true;
        for (GenerationHandle& handle : handles_) handle.cancel();
    }
    void take(std::vector<GenerationHandle> handles) {
        const std::lock_guard lock(mutex_);
        handles_ = std::move(handles);
        if (!is_cancelled_) return;
        for (GenerationHandle& handle : handles_) handle.cancel();
    }
    GenerationResult wait(size_t index) { return handles_[index].wait(); }

  private:
    std::mutex mutex_;
    std::vector<GenerationHandle> handles_;
    bool is_cancelled_ = false;
};

/// Why it stopped, where that was not the model's own end.
const char* ending_of(StopReason reason) {
    switch (reason) {
        case StopReason::end_of_generation:
            return "";
        case StopReason::stop_string:
            return "; stopped before a --stop text";
        case StopReason::max_tokens:
            return "; cut off by -n";
        case StopReason::context_full:
            return "; cut off as the context is full";
        case StopReason::cancelled:
            return "; cancelled";
        case StopReason::failed:
            return "; failed";
    }
    return "";
}

/// Thoughts on a terminal: dimmed, on stderr, apart from what a program reads.
class ThoughtDisplay {
  public:
    void show(std::string_view text) {
        if (!is_terminal_) return;
        flush_results();
        if (!is_open_) std::fputs("\033[2m", stderr);
        is_open_ = true;
        const std::string visible = visible_text(text);
        std::fwrite(visible.data(), 1, visible.size(), stderr);
    }
    void close() {
        if (is_open_) std::fputs("\033[0m\n\n", stderr);
        is_open_ = false;
    }
    void note_late() {
        if (is_terminal_) std::fputs("\n\033[2m(the text above was a thought)\033[0m\n\n", stderr);
    }

  private:
    bool is_terminal_ = is_terminal(Stream::err);
    bool is_open_ = false;
};

/// What a message begins with, in quotes.
std::string first_words(std::string_view text) {
    constexpr size_t kMostBytes = 40;
    std::string words;
    for (const char c : text.substr(0, kMostBytes + 1)) {
        const bool is_space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
        if (!is_space || (!words.empty() && words.back() != ' ')) words += is_space ? ' ' : c;
    }
    if (text.size() > kMostBytes) {
        const size_t cut = words.rfind(' ');
        if (cut != std::string::npos && cut > 0) words.resize(cut);
        // Not within a character.
        while (cut == std::string::npos && !words.empty() && !is_utf8(words)) words.pop_back();
        words += "..";
    }
    while (words.ends_with(' ')) words.pop_back();
    return "\"" + words + "\"";
}

std::string heading(size_t number, size_t count) {
    return "=== " + std::to_string(number) + " of " + std::to_string(count) + " ===\n";
}

}  // namespace

void add_thought_budget(CLI::App* command, std::optional<uint32_t>& budget) {
    command
        ->add_option("--thought-budget", budget,
                     "Most tokens of thoughts before the answer; 0: none")
        ->type_name("N")
        ->transform(is_whole(0, kMostUint32));
}

void add_prompt_lookup(CLI::App* command, bool& prompt_lookup) {
    command->add_flag_callback(
        "--no-prompt-lookup", [&prompt_lookup] { prompt_lookup = false; },
        "Do not guess repeated text ahead; the answer is the same, later");
}

GenerationResult generate_to_stdout(LoadedModel& loaded, GenerationRequest request, bool stream,
                                    const std::string& before) {
    auto all = generate_several_to_stdout(loaded, std::move(request),
                                          {.stream = stream, .before = before});
    return std::move(all.front().result);
}

std::vector<Continuation> generate_several_to_stdout(LoadedModel& loaded, GenerationRequest request,
                                                     const ContinuationOptions& options) {
    // Shared with callbacks on the inference thread and on the one that waits for signals.
    auto canceller = std::make_shared<Canceller>();
    std::vector<Continuation> all(options.count);
    std::vector<GenerationEvents> events(options.count);
    const auto write = [canceller](std::string_view text) {
        if (!write_result(text) || !flush_results()) canceller->cancel();
    };
    const bool has_headings = options.stream && options.count > 1;
    // With the first word: what fails before has nothing to stand above. Shared by the callbacks.
    auto first_heading =
        std::make_shared<std::string>(has_headings ? heading(1, options.count) : std::string());
    const auto begin = [first_heading, write] {
        if (!first_heading->empty()) write(std::exchange(*first_heading, ""));
    };
    if (options.stream) {
        auto thoughts = std::make_shared<ThoughtDisplay>();  // shared by the callbacks
        GenerationEvents& first = events.front();
        first.on_thought = [thoughts, begin](std::string_view text) {
            begin();
            thoughts->show(text);
        };
        first.on_text_was_thought = [thoughts] { thoughts->note_late(); };
        first.on_text = [thoughts, begin, write,
                         gap = options.before](std::string_view text) mutable {
            begin();
            thoughts->close();
            if (!gap.empty()) write(std::exchange(gap, ""));
            write(text);
        };
        first.on_finished = [thoughts](const GenerationResult&) { thoughts->close(); };
    }
    for (size_t i = 0; i < all.size() && options.keeps_tokens; ++i) {
        events[i].on_token = [tokens = &all[i].tokens](const TokenLogprob& token) {
            tokens->push_back(token);
        };
    }
    loaded.interrupts->on_interrupt([canceller] { canceller->cancel(); });
    canceller->take(loaded.engine->generate_many(std::move(request), std::move(events)));
    std::string gap;  // above the headings but the first
    for (uint32_t i = 0; i < options.count; ++i) {
        const GenerationResult& result = all[i].result = canceller->wait(i);
        if (!has_headings || (result.reason == StopReason::failed && result.text.empty())) continue;
        if (i == 0) begin();
        if (i > 0) write(gap + heading(i + 1, options.count) + result.text);
        write("\n");
        gap = "\n";
    }
    loaded.interrupts->on_interrupt(nullptr);
    return all;
}

Result<void> check_chats(const ModelInfo& info) {
    if (info.has_chat_template) return {};
    return Error{ErrorCode::bad_template, "the model has no chat template", path_utf8(info.path),
                 "hokku run --raw, which continues a text, or a model made for chats"};
}

void warn_of_unseen(const GenerationRequest& request, const LoadedModel& loaded) {
    const auto prompt = loaded.engine->tokenize_request(request);
    const auto is_without = [&](const GenerationRequest& without) {
        const auto plain = loaded.engine->tokenize_request(without);
        return prompt && plain && *prompt == *plain;
    };
    if (request.tools_json != "null") {
        GenerationRequest without = request;
        without.tools_json = "null";
        if (is_without(without))
            write_message(
                "warning: the model's chat template does not know tools: the model is not shown "
                "them");
    }
    if (request.messages.size() > 1 && request.messages.front().role == "system") {
        GenerationRequest without = request;
        without.messages.erase(without.messages.begin());
        if (is_without(without))
            write_message(
                "warning: the model's chat template does not know system messages: the model is "
                "not shown it");
    }
    if (request.thought_budget_tokens.value_or(0) > 0 && !loaded.info.reply_format.has_thoughts)
        write_message(
            "warning: --thought-budget has no effect: how this model would mark thoughts is not "
            "known");
}

bool has_text(const GenerationResult& result) {
    const bool is_beside = !result.thought.empty() || result.reason == StopReason::cancelled;
    return !result.text.empty() || !is_beside;
}

void report_thought_alone(const GenerationResult& result) {
    const bool is_alone =
        result.text.empty() && !result.thought.empty() && result.tool_calls.empty();
    if (is_alone && result.reason != StopReason::cancelled)
        write_message("the model thought and gave no answer");
}

void report_overflow(const GenerationResult& result, const std::vector<ChatMessage>& given,
                     Overflow overflow) {
    if (!result.notice.empty()) write_message(result.notice);
    if (!result.dropped || result.dropped->indices.empty()) return;
    constexpr size_t kMostNamed = 8;
    const std::vector<size_t>& indices = result.dropped->indices;
    std::string names;
    for (const size_t index : indices) {
        if (index >= given.size()) continue;
        if (&index == &indices[0] + kMostNamed) {
            names += ", and " + std::to_string(indices.size() - kMostNamed) + " more";
            break;
        }
        names += (names.empty() ? "" : ", ") + first_words(given[index].content);
    }
    const size_t count = indices.size();
    const std::string what =
        count == 1 ? "the oldest message" : "the oldest " + std::to_string(count) + " messages";
    const std::string& summary = result.dropped->summary;
    std::string how = " left out";
    if (!summary.empty()) how = " summarised: " + summary;
    if (summary.empty() && overflow == Overflow::summarise)
        how +=
            ", without a summary: beside what stays there was no room for one, or the model wrote "
            "none";
    write_message("the context was full: " + what + " (" + names + ")" + how);
}

std::string summary_of(const GenerationResult& result) {
    const GenerationStats& stats = result.stats;
    std::string text = counted(stats.generated_tokens, "token");
    char number[64];
    // Behind the first one there is none to be timed.
    if (stats.generated_tokens > 1 && stats.decode_tok_s > 0) {
        std::snprintf(number, sizeof number, " at %.1f tok/s", stats.decode_tok_s);
        text += number;
    }
    if (stats.generated_tokens > 0) {
        std::snprintf(number, sizeof number, ", first after %.0f ms", stats.ttft_ms);
        text += number;
    }
    return text + "; seed " + std::to_string(result.seed) + ending_of(result.reason);
}

}  // namespace hokku::cli
