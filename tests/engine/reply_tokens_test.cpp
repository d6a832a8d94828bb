// SPDX-License-Identifier: Apache-2.0
// Replies as tokens of real vocabularies, where some markers are control tokens and some are not:
// the calls that a real template writes come out of the engine's reader again.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/reply_reader.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct Family {
    const char *vocabulary, *chat_template, *format;
};
constexpr std::array kFamilies{
    Family{"llama-bpe", "meta-llama-Llama-3.1-8B-Instruct", "llama-3"},
    Family{"qwen35", "Qwen3.5-4B", "qwen-coder"},
    Family{"qwen35", "Qwen-Qwen3-0.6B", "hermes"},
    Family{"gemma-4", "google-gemma-4-31B-it-interleaved", "gemma-4"},
};
constexpr std::array kRows{"tool_call_dict", "tool_call_parallel", "tool_call_last",
                           "reasoning_tool_call"};

ModelText text_of(const Family& family, const fs::path& vocabulary) {
    ModelText text;
    auto tokenizer = open_tokenizer(vocabulary);
    REQUIRE(tokenizer.ok());
    text.tokenizer = std::move(tokenizer).value();
    const auto source =
        find_golden(std::string("templates/visible/") + family.chat_template + ".jinja");
    auto parsed = ChatTemplate::parse(read_file(*source));
    REQUIRE(parsed.ok());
    text.chat_template = std::make_shared<const ChatTemplate>(std::move(parsed).value());
    describe_text(text, "");
    return text;
}

std::string render(const ModelText& text, const Json& row, const Json& messages, bool is_prompt) {
    TemplateInput input;
    input.messages_json = messages.dump();
    input.tools_json = row.at("tools").dump();
    input.kwargs_json = row.at("kwargs").dump();
    input.add_generation_prompt = is_prompt;
    input.now = "2025-01-15T10:30:00";
    const auto rendered = text.chat_template->render(input);
    return rendered.ok() ? *rendered : "";
}

/// The reply of a message of the row: its calls and thoughts as the engine would tell them.
GenerationResult read_reply(const ModelText& text, const Json& row, size_t index) {
    Json messages = row.at("messages");
    messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(index) + 1, messages.end());
    const std::string whole = render(text, row, messages, false);
    messages.erase(messages.end() - 1);
    const std::string prompt = render(text, row, messages, true);
    size_t common = static_cast<size_t>(
        std::mismatch(prompt.begin(), prompt.end(), whole.begin(), whole.end()).first -
        prompt.begin());
    const size_t marker = whole.rfind('<', common - 1);
    if (marker != std::string::npos && whole.find('>', marker) >= common) common = marker;

    GenerationRequest request;
    request.messages.push_back({"user", "Hi"});
    request.tools_json = row.at("tools").dump();
    GenerationEvents events;
    GenerationResult result;
    ReplyReader reader(request, events, text, result);
    const EncodeOptions as_special{.parse_special = true, .add_special = false};
    const auto before = text.tokenizer->encode(whole.substr(0, common), as_special);
    const auto tokens = text.tokenizer->encode(whole.substr(common), as_special);
    REQUIRE(before.ok());
    REQUIRE(tokens.ok());
    CHECK(reader.begin(*before).ok());
    for (const TokenId token : *tokens) {
        const auto& ends = text.end_tokens;
        if (std::binary_search(ends.begin(), ends.end(), token)) break;
        CHECK(reader.push(token).ok());
    }
    CHECK(reader.finish(StopReason::end_of_generation).ok());
    return result;
}

void check_row(const ModelText& text, const Json& row, size_t& num_calls) {
    const Json& messages = row.at("messages");
    for (size_t i = 0; i < messages.size(); ++i) {
        if (!messages[i].contains("tool_calls") || !row.contains("expected")) continue;
        const GenerationResult result = read_reply(text, row, i);
        const Json& calls = messages[i].at("tool_calls");
        REQUIRE(result.tool_calls.size() == calls.size());
        for (size_t k = 0; k < calls.size(); ++k) {
            const ToolCall& call = result.tool_calls[k];
            CHECK(call.problem == "");
            CHECK(call.name == calls[k].at("function").at("name"));
            CHECK(nlohmann::json::parse(call.arguments_json, nullptr, false) ==
                  nlohmann::json(calls[k].at("function").at("arguments")));
            ++num_calls;
        }
        // No marker is left in the text: the answer is what was said beside the calls.
        CHECK(result.text == messages[i].at("content").get<std::string>());
        if (messages[i].contains("reasoning_content") && text.reply_format.info().has_thoughts)
            CHECK(result.thought == messages[i].at("reasoning_content").get<std::string>());
    }
}

}  // namespace

TEST_CASE("ReplyReader: reads the tokens of real vocabularies", "[engine][quick]") {
    size_t num_calls = 0;
    for (const Family& family : kFamilies) {
        INFO(family.chat_template);
        const auto vocabulary = find_golden(std::string("vocab/") + family.vocabulary + ".gguf");
        if (!vocabulary) return report_skip("golden vocabularies are not there");
        const ModelText text = text_of(family, *vocabulary);
        CHECK(text.reply_format.name == family.format);
        const auto rows =
            find_golden(std::string("templates/visible/") + family.chat_template + ".json");
        for (const Json& row : Json::parse(read_file(*rows))) {
            const std::string name = row.at("name").get<std::string>();
            if (std::find(kRows.begin(), kRows.end(), name) == kRows.end()) continue;
            INFO(name);
            check_row(text, row, num_calls);
        }
    }
    CHECK(num_calls >= 18);
}
