// SPDX-License-Identifier: Apache-2.0
// Renders real chat templates and compares every byte with what transformers' Jinja gives.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "hokku/chat_template.h"
#include "support/catch.h"
#include "support/golden.h"

namespace {

using hokku::ChatTemplate;
using hokku::TemplateInput;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TemplateInput input_of(const Json& row) {
    TemplateInput input;
    input.messages_json = row.at("messages").dump();
    input.tools_json = row.at("tools").dump();
    input.kwargs_json = row.at("kwargs").dump();
    input.add_generation_prompt = row.at("add_generation_prompt").get<bool>();
    input.continue_final_message = row.at("continue_final_message").get<bool>();
    const auto token = [&](const char* key, bool& is_given, std::string& text) {
        is_given = row.at(key).is_string();
        if (is_given) text = row.at(key).get<std::string>();
    };
    token("bos_token", input.has_bos_token, input.bos_token);
    token("eos_token", input.has_eos_token, input.eos_token);
    input.now = "2025-01-15T10:30:00";
    return input;
}

// Empty if the row holds, else what is wrong. Rows with a second right answer accept either: the
// first is what Jinja's sandbox makes of a template, the second what its authors meant.
std::string check_row(const ChatTemplate& chat_template, const Json& row) {
    const auto rendered = chat_template.render(input_of(row));
    std::set<std::string> right;
    for (const char* key :
         {"expected", "expected_if_mutation_allowed", "expected_if_safe_is_noop"}) {
        if (row.contains(key)) right.insert(row.at(key).get<std::string>());
    }
    if (rendered.ok()) {
        if (right.count(*rendered) > 0) return "";
        return right.empty() ? "renders where an error was expected" : "gives another text";
    }
    if (!row.contains("error")) return "fails: " + rendered.error().message();
    const bool is_own_message = row.at("error_type") == "raise_exception";
    if (is_own_message && rendered.error().what != row.at("error").get<std::string>()) {
        return "fails with another message: " + rendered.error().message();
    }
    return "";
}

// The parts of a rendering alternate and join to the same text.
std::string check_parts(const ChatTemplate& chat_template, const Json& row) {
    const auto text = chat_template.render(input_of(row));
    const auto parts = chat_template.render_parts(input_of(row));
    if (text.ok() != parts.ok()) return "render and render_parts disagree on failure";
    if (!text.ok()) return "";
    std::string joined;
    for (size_t i = 0; i < parts->size(); ++i) {
        joined += (*parts)[i].text;
        if ((*parts)[i].text.empty()) return "an empty part";
        if (i > 0 && (*parts)[i].is_content == (*parts)[i - 1].is_content) {
            return "two neighbours of the same origin";
        }
    }
    return joined == *text ? "" : "the parts do not join to the text";
}

}  // namespace

TEST_CASE("ChatTemplate: real templates render as transformers renders them", "[template][quick]") {
    const auto folder = hokku::testing::find_golden("templates/visible");
    if (!folder) return hokku::testing::report_skip("golden templates are not there");
    size_t num_rows = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(*folder)) {
        if (entry.path().extension() != ".json") continue;
        fs::path source = entry.path();
        source.replace_extension(".jinja");
        INFO(entry.path().filename().string());
        const auto chat_template = ChatTemplate::parse(read_file(source));
        REQUIRE(chat_template.ok());
        for (const Json& row : Json::parse(read_file(entry.path()))) {
            INFO(row.at("name").get<std::string>());
            CHECK(check_row(*chat_template, row) == "");
            CHECK(check_parts(*chat_template, row) == "");
            ++num_rows;
        }
    }
    CHECK(num_rows >= 2090);
}
