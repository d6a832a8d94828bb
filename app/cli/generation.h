// SPDX-License-Identifier: Apache-2.0
// One generation on the command line: streamed to stdout, stopped by Ctrl-C or by a reader that
// went away, summed up in a line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hokku/engine.h"
#include "model_options.h"

namespace CLI {
class App;
}

namespace hokku::cli {

/// Declares --thought-budget.
void add_thought_budget(CLI::App* command, std::optional<uint32_t>& budget);
/// Declares --no-prompt-lookup.
void add_prompt_lookup(CLI::App* command, bool& prompt_lookup);

/// Runs to its end. `stream`: text goes to stdout as it comes, after `before`; thoughts are shown
/// on stderr, where that is a terminal.
GenerationResult generate_to_stdout(LoadedModel& loaded, GenerationRequest request, bool stream,
                                    const std::string& before = {});

struct Continuation {
    GenerationResult result;
    std::vector<TokenLogprob> tokens;  ///< Only where they are asked for.
};

struct ContinuationOptions {
    uint32_t count = 1;
    bool stream = true;         ///< Texts go to stdout.
    bool keeps_tokens = false;  ///< With their log-probabilities.
    std::string before = {};    ///< Written before the first text.
};

/// Continuations of one prompt. Their texts go to stdout one after another, that of the first as it
/// comes; of several each stands below a line with its number.
std::vector<Continuation> generate_several_to_stdout(LoadedModel& loaded, GenerationRequest request,
                                                     const ContinuationOptions& options);

/// Errors : bad_template where messages cannot be given to the model.
Result<void> check_chats(const ModelInfo& info);
/// Warns on stderr of what the model is not shown, or has no use for, of a request with messages: a
/// template that does not know it writes the same prompt without.
void warn_of_unseen(const GenerationRequest& request, const LoadedModel& loaded);

/// False for what was interrupted before its first word, and for thoughts without an answer.
bool has_text(const GenerationResult& result);
/// Says so on stderr when there is nothing but a thought.
void report_thought_alone(const GenerationResult& result);

/// Says on stderr what the context no longer holds of the messages that were given, and why it did
/// not grow, if so.
void report_overflow(const GenerationResult& result, const std::vector<ChatMessage>& given,
                     Overflow overflow);

/// "12 tokens at 80.1 tok/s, first after 31 ms; seed 7", as far as there are such figures, and why
/// it stopped if not by itself.
std::string summary_of(const GenerationResult& result);

}  // namespace hokku::cli
