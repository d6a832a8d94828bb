// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.h"
#include "console.h"
#include "constraint_flags.h"
#include "continuation_json.h"
#include "generation.h"
#include "model_options.h"
#include "sampling_flags.h"
#include "session.h"
#include "terminal.h"

namespace hokku::cli {

namespace {

struct ChatOptions {
    ModelOptions model;
    SamplingFlags sampling;
    ConstraintFlags constraints;
    std::optional<std::string> system;
    std::string first, session;
    uint64_t cache_mib = ChatCache::kDefaultLimitBytes >> 20;
    uint32_t max_tokens = 0;
    std::optional<uint32_t> thought_budget;
    Overflow overflow = Overflow::drop_oldest;
    bool prompt_lookup = true;
    bool json = false;
};

constexpr std::string_view kHelp =
    "  /help          this list\n"
    "  /reset         forget the conversation\n"
    "  /system TEXT   set the system message (and forget the conversation)\n"
    "  /again         answer the last message anew\n"
    "  /quit          leave; Ctrl-D does so too\n"
    "A line that ends in \\ goes on in the next one; one that begins with a space is no command.\n"
    "Ctrl-C stops an answer. At the prompt, or again before the answer has stopped, it leaves.\n";

/// "SmolLM2-135M-Instruct (Q4_1) on the CPU (avx512, 2 threads)".
std::string title_of(const ModelInfo& info) {
    const auto lower = [](std::string text) {
        for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        return text;
    };
    std::string title = info.path.stem().string();
    const std::string type = info.quantisation;
    if (!type.empty()) {
        if (title.size() > type.size() + 1 && lower(title).ends_with(lower(type)))
            title.resize(title.size() - type.size() - 1);  // With the dot or hyphen before it.
        title += " (" + type + ")";
    }
    const size_t space = info.device.find(' ');  // "CPU avx512, 2 threads"
    title += " on the " + info.device.substr(0, space);
    if (space != std::string::npos) title += " (" + info.device.substr(space + 1) + ")";
    return title;
}

/// The conversation and what is done with each line of input.
class Chat {
  public:
    Chat(LoadedModel& loaded, const ChatOptions& options, SamplingOptions sampling,
         std::vector<ConstraintSpec> constraints, const Session* session, bool is_interactive)
        : loaded_(loaded),
          sampling_(std::move(sampling)),
          constraints_(std::move(constraints)),
          max_tokens_(options.max_tokens),
          thought_budget_(options.thought_budget),
          overflow_(options.overflow),
          prompt_lookup_(options.prompt_lookup),
          session_(session),
          is_interactive_(is_interactive),
          is_json_(options.json),
          has_own_system_(options.system.has_value()) {
        conversation_.system = options.system.value_or("");
    }

    /// Goes on with a conversation that was kept. Another system message takes the old one's place.
    void resume(Conversation conversation) {
        if (has_own_system_) conversation.system = conversation_.system;
        conversation_ = std::move(conversation);
        if (conversation_.is_unanswered())
            write_message("the last message was not answered; /again answers it");
        session_->restore_context(*loaded_.engine, overflow_);
    }

    /// Keeps what the next message will start from.
    void save_context() {
        if (session_ == nullptr || !is_changed_ || conversation_.messages.empty()) return;
        const auto tokens = loaded_.engine->tokenize_request(make_request());
        if (tokens) session_->save_context(*loaded_.engine, *tokens);
    }

    /// Returns false when the chat is over.
    bool handle(const std::string& line) {
        if (line.find_first_not_of(" \t\n") == std::string::npos) return true;
        if (!line.starts_with('/')) return answer(line);
        const size_t end = line.find(' ');
        const std::string command = line.substr(0, end);
        const std::string rest = end == std::string::npos ? "" : line.substr(end + 1);
        if (command == "/quit" || command == "/exit") return false;
        if (command == "/reset") {
            start_anew(conversation_.system);
        } else if (command == "/system") {
            start_anew(rest);
        } else if (command == "/again") {
            return again();
        } else if (command == "/help") {
            write_note(kHelp);
        } else {
            refuse("no such command: " + command + "; /help lists those there are");
        }
        return true;
    }

    /// Errors so far; a chat that only failed is a failure for scripts.
    [[nodiscard]] bool has_failed() const { return has_failed_; }
    /// Forms that no answer can have together.
    [[nodiscard]] bool has_conflict() const { return has_conflict_; }
    /// The conversation is not on the disk as it is.
    [[nodiscard]] bool is_unsaved() const { return is_unsaved_; }

  private:
    /// A line that gets no answer: whoever reads --json waits for one.
    void refuse(const std::string& reason) {
        write_message(reason);
        if (is_json_) write_json_line({{"error", reason}});
        flush_results();
        has_failed_ = true;
    }

    void start_anew(const std::string& system) {
        conversation_ = {system, {}, {}};
        save_conversation();
        if (session_ != nullptr) session_->forget_context();
    }

    /// What cannot be saved is said once, not after each message.
    void save_conversation() {
        if (session_ == nullptr) return;
        is_changed_ = true;
        const Result<void> saved = session_->save(conversation_);
        if (!saved && !is_unsaved_)
            write_message("the conversation is not saved: " + saved.error().message());
        is_unsaved_ = !saved.ok();
    }

    bool again() {
        const Conversation before = conversation_;
        const auto& messages = conversation_.messages;
        while (!messages.empty() && messages.back().role == "assistant")
            conversation_.remove_last();
        // The answer that is there stays on the disk until there is another.
        if (conversation_.is_unanswered()) return reply(before);
        conversation_ = before;
        refuse("there is no message to answer");
        return true;
    }

    bool answer(const std::string& text) {
        const Conversation before = conversation_;
        conversation_.add_question(text);
        save_conversation();  // whatever happens while it is answered
        return reply(before);
    }

    /// For an answer to the conversation as it is now.
    [[nodiscard]] GenerationRequest make_request() const {
        GenerationRequest request;
        request.messages = conversation_.prompt();
        request.sampling = sampling_;
        request.constraints = constraints_;
        request.max_tokens = max_tokens_;
        request.thought_budget_tokens = thought_budget_;
        request.overflow = overflow_;
        request.prompt_lookup = prompt_lookup_;
        return request;
    }

    /// Answers the last message. If that fails, everything is as before.
    bool reply(const Conversation& before) {
        const GenerationRequest request = make_request();
        const std::vector<ChatMessage>& given = request.messages;
        const GenerationResult result = generate_to_stdout(loaded_, request, !is_json_, gap_);
        if (is_json_) write_json_line(continuation_json({.result = result, .tokens = {}}, nullptr));
        if (result.reason == StopReason::failed) {
            conversation_ = before;
            save_conversation();
            has_failed_ = true;
            has_conflict_ = has_conflict_ || is_conflict(result, request);
            if (result.error) fail(*result.error);
            return flush_results();
        }
        if (result.dropped) conversation_.set_prompt(result.dropped->remaining);
        conversation_.add(assistant_message(result));
        if (has_text(result) && !is_json_) {
            write_result("\n");
            if (!is_interactive_) gap_ = "\n";
        }
        save_conversation();
        if (is_terminal(Stream::err))
            write_note((has_text(result) ? "" : "\n") + ("\033[2m(" + summary_of(result)) +
                       ")\033[0m\n");
        if (result.reason != StopReason::cancelled && !report_constraints(result))
            has_failed_ = true;
        report_thought_alone(result);
        report_overflow(result, given, overflow_);
        if (result.reason == StopReason::context_full) {
            const bool goes_on =
                overflow_ == Overflow::drop_oldest || overflow_ == Overflow::summarise;
            write_message(goes_on ? "the answer was cut off where the context is full; the chat "
                                    "goes on"
                                  : "the context is full; /reset starts a new conversation");
        }
        return flush_results();
    }

    LoadedModel& loaded_;
    SamplingOptions sampling_;
    std::vector<ConstraintSpec> constraints_;
    uint32_t max_tokens_;
    std::optional<uint32_t> thought_budget_;
    Overflow overflow_;
    bool prompt_lookup_;
    const Session* session_;  // null: nothing is kept
    Conversation conversation_;
    bool is_changed_ = false;  // since it was resumed
    bool is_interactive_, is_json_;
    bool has_own_system_;
    std::string gap_;  ///< Written before the next answer.
    bool has_failed_ = false, has_conflict_ = false, is_unsaved_ = false;
};

/// One message: a line, with those that it continues on. Absent at the end of input.
Result<std::optional<std::string>> read_message(bool is_interactive) {
    std::string message;
    for (const char* prompt = "> ";; prompt = ". ") {
        if (is_interactive) write_note(prompt);
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

/// Everything that is said, until it is over.
int talk(Chat& conversation, const ChatOptions& options, bool is_interactive) {
    bool goes_on = true;
    if (!options.first.empty()) {
        write_note("> " + visible_text(options.first) + "\n");
        goes_on = conversation.handle(options.first);
    }
    while (goes_on) {
        Result<std::optional<std::string>> message = read_message(is_interactive);
        if (!message) return fail(message.error());
        if (!message->has_value()) break;
        goes_on = conversation.handle(**message);
    }
    if (is_interactive && goes_on) write_note("\n");
    if (is_interactive || !conversation.has_failed()) return kDone;
    return conversation.has_conflict() ? kWrongUsage : kFailed;
}

/// The named chat and what was said in it, if there is a name.
Result<void> open_session(const ChatOptions& options, std::optional<Session>& session,
                          std::optional<Conversation>& conversation) {
    if (options.session.empty()) return {};
    Result<Session> opened = Session::open(options.session, options.cache_mib << 20);
    if (!opened) return opened.error();
    session.emplace(std::move(*opened));
    Result<std::optional<Conversation>> loaded = session->load();
    if (!loaded) return loaded.error();
    conversation = std::move(*loaded);
    return {};
}

/// What the model takes no notice of.
void warn_of_idle(const ChatOptions& options, const LoadedModel& loaded) {
    GenerationRequest request;
    if (!options.system.value_or("").empty())
        request.messages.push_back({"system", *options.system});
    request.messages.push_back({"user", "Hi"});
    request.thought_budget_tokens = options.thought_budget;
    warn_of_unseen(request, loaded);
}

int chat(const ChatOptions& options) {
    Result<SamplingOptions> sampling = sampling_options(options.sampling);
    if (!sampling) return fail_arguments(sampling.error());
    Result<std::vector<ConstraintSpec>> constraints = constraint_specs(options.constraints);
    if (!constraints) return fail_arguments(constraints.error());
    std::optional<Session> session;
    std::optional<Conversation> saved;
    if (Result<void> opened = open_session(options, session, saved); !opened)
        return fail_arguments(opened.error());
    Result<LoadedModel> loaded = load_model(options.model);
    if (!loaded) return fail_arguments(loaded.error());
    apply_recommended(options.sampling, loaded->info.sampling_defaults, *sampling);
    if (Result<void> checked = check_bias(*sampling, loaded->info.num_vocab); !checked)
        return fail_arguments(checked.error());
    if (Result<void> may = check_chats(loaded->info); !may) return fail(may.error());
    warn_of_idle(options, *loaded);
    const bool is_interactive = is_terminal(Stream::in);
    if (is_interactive) {
        write_note(title_of(loaded->info) + ". /help lists the commands.\n");
    }
    Chat conversation(*loaded, options, std::move(*sampling), std::move(*constraints),
                      session ? &*session : nullptr, is_interactive);
    if (saved) conversation.resume(std::move(*saved));
    const int code = talk(conversation, options, is_interactive);
    conversation.save_context();
    return conversation.is_unsaved() ? kFailed : code;
}

}  // namespace

void add_chat(CLI::App& app, Action& chosen) {
    CLI::App* command = app.add_subcommand(
        "chat",
        "Talk with a model; without a terminal, answer each line of stdin, with an empty line "
        "between the answers");
    auto options = std::make_shared<ChatOptions>();
    add_model_options(command, options->model);
    command->add_option("--system", options->system, "The system message")->type_name("TEXT");
    command->add_option("--first", options->first, "Answer this message first")->type_name("TEXT");
    add_thought_budget(command, options->thought_budget);
    add_prompt_lookup(command, options->prompt_lookup);
    add_draft_options(command, options->model);
    command
        ->add_option("-n,--max-tokens", options->max_tokens,
                     "Most tokens of an answer; 0: until the context is full")
        ->type_name("N")
        ->transform(is_whole(0, kMostUint32));
    command
        ->add_option("--session", options->session,
                     "Keep the chat under this name, and go on with it if there is one")
        ->type_name("NAME");
    command->add_flag("--json", options->json,
                      "Print each answer as one JSON object on a line of its own");
    CLI::Option* cache =
        command
            ->add_option("--session-cache", options->cache_mib,
                         "Most MiB that contexts of kept chats take together; the ones used "
                         "longest ago go first")
            ->type_name("MIB")
            ->capture_default_str()
            ->transform(is_whole(0, 1 << 30));
    add_overflow_option(command, options->overflow);
    add_sampling_flags(command, options->sampling);
    add_constraint_flags(command, options->constraints);
    command->callback([&chosen, options, cache, command] {
        check_constraint_usage(options->constraints);
        warn_of_idle_sampling(*command, options->sampling);
        note_given_sampling(*command, options->sampling);
        if (cache->count() > 0 && options->session.empty())
            throw CLI::ValidationError("--session-cache is for --session");
        chosen = [options] { return chat(*options); };
    });
}

}  // namespace hokku::cli
