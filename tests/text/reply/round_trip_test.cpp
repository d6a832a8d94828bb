// SPDX-License-Identifier: Apache-2.0
// What the real templates write for an assistant's tool calls is what a model of that family was
// trained to write: parsed, it must give the calls that were rendered.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hokku/chat_template.h"
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

/// What a template writes that no model can mean: the template, the row (all if empty), and why.
struct Unreadable {
    std::string_view template_name, row, reason;
};
constexpr std::array kUnreadable{
    Unreadable{"MiniMax-M3", "", "its calls are not read"},
    Unreadable{"LFM2.5-8B-A1B", "tool_call_parallel", "quotes in strings are not escaped"},
    Unreadable{"LFM2.5-8B-A1B", "tool_call_no_tools_kwarg", "quotes in strings are not escaped"},
    Unreadable{"NVIDIA-Nemotron-Nano-v2", "tool_call_parallel", "a thought is left open"},
    // Arguments given as text instead of an object.
    Unreadable{"deepseek-ai-DeepSeek-V3.1", "tool_call_json_string", "it is quoted"},
    Unreadable{"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "tool_call_json_string", "it is quoted"},
    Unreadable{"Kimi-K3", "tool_call_json_string", "it is quoted"},
    Unreadable{"Mistral-Small-3.2-24B-Instruct-2506", "tool_call_json_string", "it is quoted"},
    Unreadable{"openai-gpt-oss-120b", "tool_call_json_string", "it is quoted"},
    Unreadable{"google-gemma-4-31B-it-interleaved", "tool_call_json_string", "it is quoted"},
    Unreadable{"meetkai-functionary-medium-v3.1", "tool_call_json_string", "it is quoted"},
    Unreadable{"GigaChat3-10B-A1.8B", "tool_call_parallel", "only the first call is shown"},
    Unreadable{"GigaChat3.1-10B-A1.8B", "tool_call_parallel", "only the first call is shown"},
    Unreadable{"openai-gpt-oss-120b", "tool_call_parallel", "only the first call is shown"},
};

bool is_unreadable(std::string_view template_name, std::string_view row) {
    return std::any_of(kUnreadable.begin(), kUnreadable.end(), [&](const Unreadable& one) {
        return one.template_name == template_name && (one.row.empty() || one.row == row);
    });
}

TemplateInput input_of(const Json& row, const Json& messages, bool add_generation_prompt) {
    TemplateInput input;
    input.messages_json = messages.dump();
    input.tools_json = row.at("tools").dump();
    input.kwargs_json = row.at("kwargs").dump();
    input.add_generation_prompt = add_generation_prompt;
    const auto token = [&](const char* key, bool& is_given, std::string& text) {
        is_given = row.at(key).is_string();
        if (is_given) text = row.at(key).get<std::string>();
    };
    token("bos_token", input.has_bos_token, input.bos_token);
    token("eos_token", input.has_eos_token, input.eos_token);
    input.now = "2025-01-15T10:30:00";
    return input;
}

struct Turn {
    std::string prompt, reply;
};

/// The reply of the message at `index`, cut out of a rendered conversation.
std::optional<Turn> cut_turn(const ChatTemplate& chat_template, const Json& row, size_t index) {
    Json before = Json::array();
    for (size_t i = 0; i < index; ++i) before.push_back(row.at("messages")[i]);
    Json with = before;
    with.push_back(row.at("messages")[index]);
    const auto prompt = chat_template.render(input_of(row, before, true));
    const auto whole = chat_template.render(input_of(row, with, false));
    if (!prompt.ok() || !whole.ok()) return std::nullopt;
    // A template may open a thought that this turn does not have.
    size_t common = static_cast<size_t>(
        std::mismatch(prompt->begin(), prompt->end(), whole->begin(), whole->end()).first -
        prompt->begin());
    const size_t marker = whole->rfind('<', common - 1);
    if (marker != std::string::npos && whole->find('>', marker) >= common) common = marker;
    return Turn{whole->substr(0, common), whole->substr(common)};
}

/// The call as it was given: arguments may be an object or its text.
Json arguments_of(const Json& call) {
    const Json& arguments = call.at("function").at("arguments");
    return arguments.is_string() ? Json::parse(arguments.get<std::string>()) : arguments;
}

/// As values, whatever the order of the keys.
bool is_same(const Json& a, const std::string& b) {
    return nlohmann::json(a) == nlohmann::json::parse(b, nullptr, false);
}

std::string check_turn(const ReplyCase& reply_case, const Json& calls, std::string_view text) {
    const Reply reply = parse_reply(reply_case, text);
    std::string problems;
    if (reply.calls.size() != calls.size()) problems += "another number of calls; ";
    for (size_t i = 0; i < std::min(calls.size(), reply.calls.size()); ++i) {
        const ToolCall& call = reply.calls[i];
        if (!call.is_valid()) problems += call.problem + "; ";
        if (call.name != calls[i].at("function").at("name")) problems += "another name; ";
        if (!is_same(arguments_of(calls[i]), call.arguments_json)) problems += "other arguments; ";
    }
    if (!problems.empty()) problems += reply.events;
    return problems;
}

void check_template(const fs::path& rows_path, size_t& num_turns) {
    fs::path source_path = rows_path;
    source_path.replace_extension(".jinja");
    const auto chat_template = ChatTemplate::parse(read_file(source_path));
    REQUIRE(chat_template.ok());
    const Json rows = Json::parse(read_file(rows_path));
    Json tools;
    for (const Json& row : rows) {
        if (row.at("tools").is_array() && !row.at("tools").empty()) tools = row.at("tools");
        if (row.at("name") == "tools_user") break;
    }
    for (const Json& row : rows) {
        const Json& messages = row.at("messages");
        for (size_t i = 0; i < messages.size(); ++i) {
            if (!messages[i].contains("tool_calls")) continue;
            if (is_unreadable(rows_path.stem().string(), row.at("name").get<std::string>()))
                continue;
            const Json& calls = messages[i].at("tool_calls");
            const auto turn = cut_turn(*chat_template, row, i);
            const std::string name = calls[0].at("function").at("name");
            // Some templates leave the calls of a conversation out.
            if (!turn || turn->reply.find(name) == std::string::npos) {
                continue;
            }
            ReplyCase reply_case = case_of(chat_template->source(), tools.dump());
            reply_case.prompt_end = turn->prompt;
            INFO(rows_path.stem().string() << ": " << row.at("name") << "\n" << turn->reply);
            CHECK(check_turn(reply_case, calls, turn->reply) == "");
            ++num_turns;
        }
    }
}

}  // namespace

TEST_CASE("ReplyParser: reads back the tool calls that real templates write",
          "[text][reply][quick]") {
    const auto folder = find_golden("templates/visible");
    if (!folder) return report_skip("golden templates are not there");
    size_t num_turns = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(*folder)) {
        if (entry.path().extension() != ".json") continue;
        check_template(entry.path(), num_turns);
    }
    CHECK(num_turns >= 300);
}
