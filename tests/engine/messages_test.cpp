// SPDX-License-Identifier: Apache-2.0
// Tool calls back through real templates: what was read from a rendered reply must render to the
// same conversation again.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/fake_model.h"
#include "engine/messages.h"
#include "support/catch.h"
#include "support/golden.h"
#include "text/reply/reply_events.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Calls with objects as arguments, which is what the library makes.
constexpr std::array kRows{"tool_call_dict",        "tool_call_parallel",       "tool_call_last",
                           "reasoning_tool_call",   "tool_call_no_tools_kwarg", "kwargs_misc_tools",
                           "tool_call_dict+compat", "tool_call_parallel+compat"};

TemplateInput input_of(const Json& row) {
    TemplateInput input;
    input.tools_json = row.at("tools").dump();
    input.kwargs_json = row.at("kwargs").dump();
    input.add_generation_prompt = row.at("add_generation_prompt").get<bool>();
    const auto token = [&](const char* key, bool& is_given, std::string& text) {
        is_given = row.at(key).is_string();
        if (is_given) text = row.at(key).get<std::string>();
    };
    token("bos_token", input.has_bos_token, input.bos_token);
    token("eos_token", input.has_eos_token, input.eos_token);
    input.now = "2025-01-15T10:30:00";
    return input;
}

std::string text_of(const Json& message, const char* key) {
    const auto found = message.find(key);
    return found != message.end() && found->is_string() ? found->get<std::string>() : "";
}

/// The calls of a message, as they come out of the text that the template made of them.
std::optional<std::vector<ToolCall>> read_back(const ReplyCase& reply_case,
                                               const std::string& rendered, const Json& calls) {
    const std::string first = calls.front().at("function").at("name").get<std::string>();
    const Reply reply = parse_pieces(reply_case, {rendered});
    if (reply.calls.size() != calls.size()) return std::nullopt;
    std::vector<ToolCall> found = reply.calls;
    for (size_t i = 0; i < found.size(); ++i) {
        if (!found[i].is_valid()) return std::nullopt;
        found[i].id = calls[i].at("id").get<std::string>();
    }
    return found;
}

struct Totals {
    size_t same = 0, skipped = 0;
};

void check_row(const ChatTemplate& chat_template, const MessageStyle& style, const Json& row,
               const Json& tools, Totals& result) {
    TemplateInput input = input_of(row);
    Json given = row.at("messages");
    for (Json& message : given) {  // under both names, as messages_to_json() writes it
        if (message.contains("reasoning_content"))
            message["thinking"] = message["reasoning_content"];
    }
    input.messages_json = given.dump();
    // Compared with transformers elsewhere; what it has no text for is no example.
    const auto expected = chat_template.render(input);
    if (!row.contains("expected") || !expected.ok()) return;
    std::vector<ChatMessage> messages;
    for (const Json& message : row.at("messages")) {
        ChatMessage& copy = messages.emplace_back();
        copy.role = text_of(message, "role");
        copy.content = text_of(message, "content");
        copy.thought = text_of(message, "reasoning_content");
        copy.tool_call_id = text_of(message, "tool_call_id");
        copy.name = text_of(message, "name");
        if (!message.contains("tool_calls")) continue;
        // The turn alone, so that nothing else is read.
        Json turn = Json::array({row.at("messages")[0]});
        if (row.at("messages")[0].at("role") == "system") turn.push_back(row.at("messages")[1]);
        const size_t num_before = turn.size();
        input.messages_json = turn.dump();
        input.add_generation_prompt = true;
        const auto before = chat_template.render(input);
        turn.push_back(message);
        input.messages_json = turn.dump();
        input.add_generation_prompt = false;
        const auto with = chat_template.render(input);
        REQUIRE(num_before > 0);
        if (!before.ok() || !with.ok()) return;
        size_t common = static_cast<size_t>(
            std::mismatch(before->begin(), before->end(), with->begin(), with->end()).first -
            before->begin());
        const size_t marker = with->rfind('<', common - 1);
        if (marker != std::string::npos && with->find('>', marker) >= common) common = marker;
        ReplyCase reply_case = case_of(chat_template.source(), tools.dump());
        const std::string prompt = with->substr(0, common);
        reply_case.prompt_end = prompt;
        const auto calls = read_back(reply_case, with->substr(common), message.at("tool_calls"));
        if (!calls) {
            ++result.skipped;
            return;
        }
        copy.tool_calls = *calls;
    }
    input = input_of(row);
    const auto json = messages_to_json(messages, style);
    REQUIRE(json.ok());
    input.messages_json = *json;
    const auto text = chat_template.render(input);
    REQUIRE(text.ok());
    CHECK(*text == *expected);
    ++result.same;
}

}  // namespace

TEST_CASE("Messages: calls that were read from a reply render to the same conversation",
          "[engine][quick]") {
    const auto folder = find_golden("templates/visible");
    if (!folder) return report_skip("golden templates are not there");
    Totals result;
    for (const fs::directory_entry& entry : fs::directory_iterator(*folder)) {
        if (entry.path().extension() != ".json") continue;
        fs::path source = entry.path();
        source.replace_extension(".jinja");
        const auto chat_template = ChatTemplate::parse(read_file(source));
        REQUIRE(chat_template.ok());
        const MessageStyle style = find_message_style(*make_fake_tokenizer(), *chat_template);
        if (!style.shows_calls) continue;
        const Json rows = Json::parse(read_file(entry.path()));
        Json tools;
        for (const Json& row : rows) {
            if (row.at("tools").is_array() && !row.at("tools").empty()) tools = row.at("tools");
            if (row.at("name") == "tools_user") break;
        }
        for (const Json& row : rows) {
            const std::string name = row.at("name").get<std::string>();
            if (std::find(kRows.begin(), kRows.end(), name) == kRows.end()) continue;
            INFO(entry.path().stem().string() << ": " << name);
            check_row(*chat_template, style, row, tools, result);
        }
    }
    CHECK(result.same >= 210);
    CHECK(result.skipped <= 18);  // round_trip_test.cpp says why
}
