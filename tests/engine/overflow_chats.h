// SPDX-License-Identifier: Apache-2.0
// Chats for tests of full contexts: a template, conversations of a wanted length, requests, and
// fake models that summarise or write what a test can foresee.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/fake_model.h"

namespace hokku::testing {

using Tokens = std::vector<TokenId>;

/// A control token for the role, the content, <end>; a system message is its content alone.
extern const char* const kTurnsTemplate;
/// The prompt that the template gives, by hand.
Tokens prompt_of(const std::vector<ChatMessage>& messages);

/// A system message, turns of twice as many bytes, and "the last" question.
std::vector<ChatMessage> talk(size_t num_turns, size_t bytes_each);
/// Greedy.
GenerationRequest request_for(std::vector<ChatMessage> messages, Overflow overflow,
                              uint32_t max_tokens = 0);

std::shared_ptr<FakeControl> make_control(uint32_t context_tokens, Script script = fake_logits);
/// A model that may go beyond its context, up to `trained`.
std::shared_ptr<FakeControl> growing_control(uint32_t context_tokens, uint32_t trained);

bool contains(std::span<const int32_t> tokens, std::string_view text);
/// The tokens are the prompt of a summary.
bool asks_for_summary(std::span<const int32_t> history);
/// Summaries are `summary`; everything else goes on with letters, told apart by whether a summary
/// is in the context: 's' or 'n'.
Script summarising(std::string summary);
/// Summaries are `summary`, everything else is by `rest`.
Script summarising(std::string summary, Script rest);

/// What on_dropped said, and after how many tokens of the answer.
struct Drop {
    size_t num_tokens = 0;
    DroppedTurns turns;
};

/// What the events of a generation said.
struct OverflowRecorder {
    std::vector<Drop> drops;
    std::vector<uint32_t> grown, prefill_totals;
    size_t num_tokens = 0;
    GenerationEvents events();
};

/// The greedy text by fake_logits() where the prompt changes as the drops say.
Tokens expected_text(const std::vector<ChatMessage>& messages, const std::vector<Drop>& drops,
                     size_t count);

}  // namespace hokku::testing
