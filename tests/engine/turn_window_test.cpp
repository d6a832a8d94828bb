// SPDX-License-Identifier: Apache-2.0
#include "engine/turn_window.h"

#include <algorithm>
#include <string>

#include "engine/fake_model.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

constexpr const char* kTemplate =
    "{% for m in messages %}{% if m.role == 'user' %}<user>{% elif m.role == 'assistant' %}"
    "<assistant>{% else %}[{{ m.role }}]{% endif %}{{ m.content }}<end>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";

ModelText make_text(const std::string& source = kTemplate) {
    ModelText text;
    text.tokenizer = make_fake_tokenizer();
    text.chat_template = std::make_shared<const ChatTemplate>(ChatTemplate::parse(source).value());
    return text;
}

GenerationRequest request_of(std::vector<ChatMessage> messages) {
    GenerationRequest request;
    request.messages = std::move(messages);
    return request;
}

/// As the template and the fake tokenizer have it: a token a byte, but for the control tokens.
size_t num_tokens(const std::vector<ChatMessage>& messages) {
    size_t count = 2;  // BOS, <assistant>
    for (const ChatMessage& message : messages) {
        const bool is_control = message.role == "user" || message.role == "assistant";
        count += message.content.size() + 1 + (is_control ? 1 : message.role.size() + 2);
    }
    return count;
}

std::vector<ChatMessage> long_talk(size_t num_turns) {
    std::vector<ChatMessage> messages = {{"system", "Be kind."}};
    for (size_t i = 0; i < num_turns; ++i) {
        messages.push_back({"user", "question " + std::to_string(i)});
        messages.push_back({"assistant", "answer " + std::to_string(i)});
    }
    messages.push_back({"user", "last"});
    return messages;
}

std::string text_of(const ModelText& text, const std::vector<TokenId>& tokens) {
    return text.tokenizer->decode(tokens, true);
}

}  // namespace

TEST_CASE("TurnWindow: the fewest of the oldest turns go, system and last turn stay",
          "[engine][quick]") {
    const ModelText text = make_text();
    const auto messages = long_talk(10);
    for (size_t limit = 0; limit < num_tokens(messages); ++limit) {
        TurnWindow window(request_of(messages), text);
        REQUIRE(window.can_drop());
        const auto prompt = window.drop_to(limit);
        REQUIRE(prompt.ok());
        const DroppedTurns dropped = window.dropped();
        REQUIRE(dropped.indices.size() % 2 == 0);
        REQUIRE_FALSE(dropped.indices.empty());
        for (size_t i = 0; i < dropped.indices.size(); ++i) CHECK(dropped.indices[i] == i + 1);
        CHECK(dropped.remaining.front().content == "Be kind.");
        CHECK(dropped.remaining.back().content == "last");
        CHECK(prompt->size() == num_tokens(dropped.remaining));
        CHECK(dropped.remaining.size() + dropped.indices.size() == messages.size());
        if (dropped.remaining.size() == 2) {
            CHECK_FALSE(window.can_drop());
            continue;
        }
        CHECK(prompt->size() <= limit);
        // One turn fewer would have been too long.
        if (dropped.indices.size() > 2) {
            auto longer = dropped.remaining;
            const size_t first = dropped.indices.back() - 1;
            longer.insert(longer.begin() + 1, {messages[first], messages[first + 1]});
            CHECK(num_tokens(longer) > limit);
        }
        CHECK(window.make_prompt().value() == *prompt);
    }
}

TEST_CASE("TurnWindow: each time at least one more turn goes, until one is left",
          "[engine][quick]") {
    const ModelText text = make_text();
    TurnWindow window(request_of(long_talk(5)), text);
    size_t before = 0, times = 0;
    while (window.can_drop()) {
        REQUIRE(window.drop_to(100'000).ok());
        CHECK(window.dropped().indices.size() == before + 2);
        before += 2;
        ++times;
    }
    CHECK(times == 5);
}

TEST_CASE("TurnWindow: turns begin with a user's message", "[engine][quick]") {
    const ModelText text = make_text();
    const std::vector<ChatMessage> messages = {
        {"system", "a"},       {"system", "b"},      {"assistant", "hello"}, {"user", "1"},
        {"assistant", "call"}, {"tool", "result"},   {"assistant", "done"},  {"user", "2"},
        {"user", "3"},         {"assistant", "open"}};
    TurnWindow window(request_of(messages), text);
    std::vector<std::vector<size_t>> steps;
    while (window.can_drop()) {
        REQUIRE(window.drop_to(100'000).ok());
        steps.push_back(window.dropped().indices);
    }
    // A greeting is a turn by itself; tools belong to the turn of their call.
    CHECK(steps == std::vector<std::vector<size_t>>{{2}, {2, 3, 4, 5, 6}, {2, 3, 4, 5, 6, 7}});
    CHECK(window.dropped().remaining.size() == 4);
    CHECK_FALSE(TurnWindow(request_of({{"user", "x"}}), text).can_drop());
    CHECK_FALSE(TurnWindow(request_of({{"system", "x"}}), text).can_drop());
    CHECK_FALSE(TurnWindow(request_of({{"system", "x"}, {"user", "y"}}), text).can_drop());
}

TEST_CASE("TurnWindow: a summary stands before the first message that stays", "[engine][quick]") {
    const ModelText text = make_text();
    TurnWindow window(request_of(long_talk(4)), text);
    REQUIRE(window.drop_to(100'000).ok());
    const auto asked = window.make_summary_prompt(1000, 40);
    REQUIRE(asked.ok());
    const std::string prompt = text_of(text, *asked);
    CHECK(prompt.find("at most 20 words") != std::string::npos);
    CHECK(prompt.find("User: question 0\n\nAssistant: answer 0\n\n---") != std::string::npos);
    CHECK(prompt.find("question 1") == std::string::npos);
    CHECK(prompt.ends_with("<end><assistant>"));
    window.set_summary("They met.");
    const std::string first = text_of(text, window.make_prompt().value());
    CHECK(first.find("<user>[Summary of the conversation so far: They met.]\n\nquestion 1<end>") !=
          std::string::npos);
    CHECK(window.dropped().summary == "They met.");
    CHECK(window.dropped().remaining[1].content ==
          "[Summary of the conversation so far: They met.]\n\nquestion 1");

    // The next summary takes up the one before and covers only what is new.
    REQUIRE(window.drop_to(100'000).ok());
    const std::string next = text_of(text, window.make_summary_prompt(1000, 40).value());
    CHECK(next.find("Summary of what came before: They met.\n\nUser: question 1") !=
          std::string::npos);
    CHECK(next.find("question 0") == std::string::npos);
    window.set_summary("They met and spoke.");
    CHECK(window.dropped().remaining[1].content ==
          "[Summary of the conversation so far: They met and spoke.]\n\nquestion 2");
    CHECK(window.dropped().indices == std::vector<size_t>{1, 2, 3, 4});
}

TEST_CASE("TurnWindow: what is to be summarised is cut until it fits", "[engine][quick]") {
    const ModelText text = make_text();
    auto messages = long_talk(3);
    messages[1].content = std::string(5000, 'x') + "tail";
    messages[2].content = "short";
    TurnWindow window(request_of(messages), text);
    REQUIRE(window.drop_to(100'000).ok());
    for (const size_t limit : {400u, 800u, 6000u}) {
        const auto prompt = window.make_summary_prompt(limit, 20);
        REQUIRE(prompt.ok());
        CHECK(prompt->size() <= limit);
        const std::string asked = text_of(text, *prompt);
        CHECK(asked.find("Assistant: short") != std::string::npos);
        CHECK((asked.find("tail") != std::string::npos) == (limit > 5000));
        CHECK((asked.find("x ...") != std::string::npos) == (limit < 5000));
    }
    const auto none = window.make_summary_prompt(100, 20);
    REQUIRE_FALSE(none.ok());
    CHECK(none.error().code == ErrorCode::limit_exceeded);
}

TEST_CASE("TurnWindow: a summary is told of the calls of tools", "[engine][quick]") {
    const ModelText text = make_text();
    auto messages = long_talk(2);
    messages[2].content = "";
    messages[2].tool_calls = {
        {.id = "call00000", .name = "look_up", .arguments_json = R"({"what": "tides"})"},
        {.id = "call00001", .name = "", .text = "<call>broken", .problem = "no name"}};
    messages.insert(messages.begin() + 3,
                    {.role = "tool", .content = "High at noon", .name = "look_up"});
    TurnWindow window(request_of(messages), text);
    REQUIRE(window.drop_to(100'000).ok());
    const std::string prompt = text_of(text, window.make_summary_prompt(1000, 20).value());
    CHECK(prompt.find("Assistant: look_up({\"what\": \"tides\"})\n<call>broken\n\n"
                      "Result of look_up: High at noon\n\n---") != std::string::npos);
    // They are cut like other text.
    messages[2].tool_calls[0].arguments_json = R"({"what": ")" + std::string(5000, 'x') + R"("})";
    TurnWindow longer(request_of(messages), text);
    REQUIRE(longer.drop_to(100'000).ok());
    const auto cut = longer.make_summary_prompt(600, 20);
    REQUIRE(cut.ok());
    CHECK(text_of(text, *cut).find("x ...") != std::string::npos);
}

TEST_CASE("TurnWindow: the summary's template is told not to think", "[engine][quick]") {
    const ModelText text = make_text(
        "{% if enable_thinking is defined %}{{ enable_thinking }}{% endif %}{{ topic }}"
        "{% for m in messages %}<user>{{ m.content }}{% endfor %}");
    GenerationRequest request = request_of(long_talk(2));
    request.template_kwargs_json = R"({"topic": "cats", "enable_thinking": true})";
    TurnWindow window(request, text);
    REQUIRE(window.drop_to(100'000).ok());
    CHECK(text_of(text, window.make_prompt().value()).find("Truecats") != std::string::npos);
    CHECK(text_of(text, window.make_summary_prompt(1000, 20).value()).find("Falsecats") !=
          std::string::npos);
    // Some templates have another name for it.
    const ModelText other = make_text(
        "{% if not thinking is defined %}{% set thinking = false %}{% endif %}"
        "{% if thinking %}aloud{% endif %}{% for m in messages %}<user>{{ m.content }}{% endfor "
        "%}");
    request.template_kwargs_json = R"({"thinking": true})";
    TurnWindow aloud(request, other);
    REQUIRE(aloud.drop_to(100'000).ok());
    CHECK(text_of(other, aloud.make_prompt().value()).find("aloud") != std::string::npos);
    CHECK(text_of(other, aloud.make_summary_prompt(1000, 20).value()).find("aloud") ==
          std::string::npos);
}

TEST_CASE("TurnWindow: variables that are nested too deeply are left to the template",
          "[engine][quick]") {
    const ModelText text =
        make_text("{{ enable_thinking }}{% for m in messages %}<user>{{ m.content }}{% endfor %}");
    GenerationRequest request = request_of(long_talk(2));
    for (const size_t depth : {300u, 1'000'000u}) {
        request.template_kwargs_json =
            "{\"a\": " + std::string(depth, '[') + std::string(depth, ']') + "}";
        TurnWindow deep(request, text);
        const auto dropped = deep.drop_to(100'000);
        REQUIRE_FALSE(dropped.ok());
        CHECK(dropped.error().message().find("200 levels") != std::string::npos);
        CHECK_FALSE(deep.make_summary_prompt(1000, 20).ok());
    }
}

TEST_CASE("clean_summary: white space and half a sentence are left away", "[engine][quick]") {
    CHECK(clean_summary("  a b \n", false) == "a b");
    CHECK(clean_summary(" \n\t", false) == "");
    CHECK(clean_summary("", false) == "");
    CHECK(clean_summary("They met. They spo", false) == "They met. They spo");
    CHECK(clean_summary("They met. They spo", true) == "They met.");
    CHECK(clean_summary("They met. They spoke for hours and ho", true) ==
          "They met. They spoke for hours and ho");
    CHECK(clean_summary("Did they meet? Yes! Oh", true) == "Did they meet? Yes!");
    CHECK(clean_summary("\xe4\xbc\x9a\xe3\x80\x82\xe4\xbc\x9a", true) ==
          "\xe4\xbc\x9a\xe3\x80\x82");
    CHECK(clean_summary("", true) == "");
}

TEST_CASE("overflow_limits: there is room for prompt, answer and summary in every context",
          "[engine][quick]") {
    for (const uint32_t context : {1u, 2u, 8u, 64u, 128u, 512u, 4096u, 131072u}) {
        for (const uint32_t max_tokens : {0u, 1u, 100u, 1'000'000u}) {
            const OverflowLimits limits = overflow_limits(context, max_tokens);
            CHECK(limits.most_prompt >= 1);
            CHECK(limits.most_prompt <= context);
            CHECK(limits.wanted_prompt <= limits.most_prompt);
            CHECK(limits.most_prompt + std::max(context / 4, 1u) >= context);
            CHECK(limits.summary_tokens >= 16);
            CHECK(limits.summary_tokens <= 512);
        }
    }
}
