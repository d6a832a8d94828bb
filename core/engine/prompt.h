// SPDX-License-Identifier: Apache-2.0
// Prompt: the tokens that a request starts from: a conversation through the model's template, raw
// text, or ids as given.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/messages.h"
#include "hokku/chat_template.h"
#include "hokku/engine.h"
#include "hokku/result.h"
#include "hokku/tokenizer.h"
#include "text/reply/reply_format.h"

namespace hokku {

/// What of a model has to do with text. Immutable once made.
struct ModelText {
    std::shared_ptr<const Tokenizer> tokenizer;         // shared with the callers of the engine
    std::shared_ptr<const ChatTemplate> chat_template;  // likewise; null when there is none
    std::optional<Error> template_error;                ///< Why there is none, if the file has one.
    std::vector<TokenId> end_tokens;                    ///< Ascending.
    MessageStyle message_style;
    reply::ReplyFormat reply_format;  ///< With the vocabulary's control tokens.
};

/// Reads from the template what the text of the model looks like: all but its first three members.
void describe_text(ModelText& text, std::string_view architecture);

/// For conversations of a few words, rendered while a model loads: a hostile template must not hold
/// up the load. Real templates take less than a tenth of each.
inline constexpr TemplateLimits kProbeLimits{
    .max_steps = 200'000, .max_output_bytes = 1u << 20, .max_memory_bytes = 8u << 20};

/// BOS is there once where the model expects one, whether or not the template or the text has it
/// already. EOS is never added: the model is to go on.
///
/// Errors : bad_argument (not exactly one kind of prompt, an empty one, an id out of range),
///          bad_template, limit_exceeded, cancelled.
/// Threads: re-entrant.
Result<std::vector<TokenId>> make_prompt(const GenerationRequest& request, const ModelText& text,
                                         const std::stop_token& stop = {});

/// Errors : bad_argument naming the id and its place.
Result<void> validate_tokens(const std::vector<TokenId>& tokens, uint32_t num_vocab);

/// The variables of a template (JSON) with those that switch thoughts off, where the template knows
/// them; what is set stays so unless `even_if_set`. What is not an object, or nested more deeply
/// than a template may have it, comes back as it is: the template says so.
std::string without_thinking(const std::string& kwargs_json, std::string_view template_source,
                             bool even_if_set);

void set_special_tokens(TemplateInput& input, const Tokenizer& tokenizer);

/// All tokens that end a generation: those that the file names, and the one with which the
/// template closes the assistant's turn. Ascending.
std::vector<TokenId> find_end_tokens(const Tokenizer& tokenizer, const ChatTemplate* chat_template);

}  // namespace hokku
