// SPDX-License-Identifier: Apache-2.0
#include "hokku/chat_template.h"

#include <string>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "text/template/render.h"

using hokku::ChatTemplate;
using hokku::ErrorCode;
using hokku::TemplateInput;
using hokku::testing::input_with;
using hokku::testing::render;
using hokku::testing::render_marked;

namespace {

constexpr const char* kTurns =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";
constexpr const char* kTrimmedTurns =
    "{% for m in messages %}<{{ m.role }}> {{ m.content | trim }}</{{ m.role }}>{% endfor %}";

std::string error_of(const ChatTemplate& chat_template, const TemplateInput& input) {
    const auto text = chat_template.render(input);
    return text.ok() ? "none" : text.error().message();
}

}  // namespace

TEST_CASE("ChatTemplate: the inputs are variables of the template", "[template][quick]") {
    const auto chat_template = ChatTemplate::parse(kTurns);
    REQUIRE(chat_template.ok());
    CHECK(chat_template->source() == kTurns);
    TemplateInput input = input_with(R"([{"role": "user", "content": "Hi"}])");
    CHECK(chat_template->render(input).value() == "<user>Hi</user>");
    input.add_generation_prompt = true;
    CHECK(chat_template->render(input).value() == "<user>Hi</user><assistant>");
    CHECK(render_marked("{{ tools is none }}{{ documents is none }}{{ bos_token is defined }}",
                        input_with("[]")) == "TrueTrueFalse");
    CHECK(render("{{ documents }}{{ a.b[1] }}", R"({"documents": 1, "a": {"b": [1, 2]}})") == "12");
}

TEST_CASE("ChatTemplate: a continued message is left open", "[template][quick]") {
    TemplateInput input = input_with(
        R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "One, "}])");
    input.continue_final_message = true;
    CHECK(render_marked(kTurns, input) == "<user>«Hi»</user><assistant>«One, »");
    // Where the template trims the message, so is its open end.
    CHECK(render_marked(kTrimmedTurns, input) == "<user> «Hi»</user><assistant> «One,»");

    input.messages_json =
        R"([{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "image"}]}])";
    CHECK(render_marked("{% for m in messages %}{% for p in m.content %}{{ p.text }}.{% endfor %}"
                        "{% endfor %}",
                        input) == "«a»");
}

TEST_CASE("ChatTemplate: what cannot be continued is an error", "[template][quick]") {
    const auto turns = ChatTemplate::parse(kTurns);
    const auto constant = ChatTemplate::parse("fixed");
    REQUIRE(turns.ok());
    REQUIRE(constant.ok());
    TemplateInput input = input_with("[]");
    input.continue_final_message = true;
    CHECK(error_of(*turns, input) == "the final message has no text to continue (messages)");
    input.messages_json = R"([{"role": "assistant", "content": null}])";
    CHECK(error_of(*turns, input) == "the final message has no text to continue (messages)");
    input.messages_json = R"([{"role": "assistant", "content": "x"}])";
    CHECK(error_of(*constant, input) ==
          "the template does not show the final message, so it cannot be continued");
}

TEST_CASE("ChatTemplate: the template's own message is passed on word for word",
          "[template][quick]") {
    const auto chat_template =
        ChatTemplate::parse("{{ raise_exception('Roles must alternate: ' ~ messages[0].role) }}");
    REQUIRE(chat_template.ok());
    const auto text = chat_template->render(input_with(R"([{"role": "tool"}])"));
    REQUIRE(!text.ok());
    CHECK(text.error().code == ErrorCode::bad_template);
    CHECK(text.error().what == "Roles must alternate: tool");
    CHECK(text.error().where.empty());  // its words alone
}

TEST_CASE("ChatTemplate: the clock is the caller's", "[template][quick]") {
    CHECK(render("{{ strftime_now('%d %b %Y, %A %B %-d, %H:%M:%S %p') }}") ==
          "15 Jan 2025, Wednesday January 15, 10:30:00 AM");
    CHECK(render("{{ strftime_now('%j %U %W %V %u %y %I %e%%') }}") == "015 02 02 03 3 25 10 15%");
    const auto chat_template = ChatTemplate::parse("{{ strftime_now('%F %a %j') }}");
    REQUIRE(chat_template.ok());
    TemplateInput input = input_with("[]");
    input.now = "2024-12-31";
    CHECK(chat_template->render(input).value() == "2024-12-31 Tue 366");
    input.now = "2025-02-29T00:00:00";
    CHECK(error_of(*chat_template, input) == "not a time (now): expected \"2025-01-15T10:30:00\"");
    input.now.clear();
    CHECK(chat_template->render(input).value().size() == 18);
}

TEST_CASE("ChatTemplate: malformed inputs name the input", "[template][quick]") {
    const auto chat_template = ChatTemplate::parse(kTurns);
    REQUIRE(chat_template.ok());
    CHECK(error_of(*chat_template, input_with("{}")) ==
          "not an array (messages): expected a JSON array");
    CHECK(error_of(*chat_template, input_with("[1,")) ==
          "not well-formed JSON at byte 4 (messages)");
    CHECK(error_of(*chat_template, input_with("[\"\xFF\"]")) ==
          "not well-formed JSON at byte 3 (messages)");
    TemplateInput input = input_with("[]");
    input.tools_json = "3";
    CHECK(error_of(*chat_template, input) == "not an array (tools): expected a JSON array or null");
    input = input_with("[]");
    input.kwargs_json = "[]";
    CHECK(error_of(*chat_template, input) == "not an object (kwargs): expected a JSON object");
    CHECK(render("a\n\xFF") == "error: the template is not UTF-8");
}

TEST_CASE("ChatTemplate: renders of one template may run at once", "[template][quick]") {
    const auto chat_template = ChatTemplate::parse(kTurns);
    REQUIRE(chat_template.ok());
    std::vector<std::string> results(4);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < results.size(); ++i) {
        threads.emplace_back([&, i] {
            for (int round = 0; round < 200; ++round) {
                const auto text = chat_template->render(
                    input_with(R"([{"role": "user", "content": ")" + std::to_string(i) + R"("}])"));
                results[i] = text.ok() ? *text : "failed";
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < results.size(); ++i) {
        CHECK(results[i] == "<user>" + std::to_string(i) + "</user>");
    }
}
