// SPDX-License-Identifier: Apache-2.0
// Thoughts and tool calls of a conversation, from the fake model through the engine and back.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/fake_model.h"
#include "engine/thinking_script.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

/// <think>, <tool_call>, and a generation prompt that opens the thought where `thinks` is set.
const std::string kTemplate =
    "{% for m in messages %}<{{ m.role }}>"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{{ m.content }}"
    "{% for c in m.tool_calls %}<tool_call>{\"name\": \"{{ c.function.name }}\", \"arguments\": "
    "{{ c.function.arguments | tojson }}}</tool_call>{% endfor %}"
    "{% if m.role == 'tool' %} for {{ m.tool_call_id }} of {{ m.name }}{% endif %}<end>"
    "{% endfor %}{% if add_generation_prompt %}<assistant>"
    "{% if thinks %}<think>\n{% endif %}"
    "{% if enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}";

const std::string kTools = R"([{"type": "function", "function": {"name": "add"}}])";

struct Heard {
    std::string text, thought, log;
    std::vector<ToolCall> calls;
    GenerationEvents events() {
        GenerationEvents all;
        all.on_text = [this](std::string_view piece) { text += piece; };
        all.on_thought = [this](std::string_view piece) { thought += piece; };
        all.on_text_was_thought = [this] {
            thought += text;
            text.clear();
        };
        all.on_tool_call_piece = [this](const ToolCallPiece& piece) {
            log += piece.arguments_json.empty()
                       ? std::string(piece.name) + " " + std::string(piece.id)
                       : std::string(piece.arguments_json);
        };
        all.on_tool_call = [this](const ToolCall& call) { calls.push_back(call); };
        return all;
    }
};

struct Fixture {
    std::shared_ptr<FakeControl> control = std::make_shared<FakeControl>();
    std::unique_ptr<Engine> engine;
    Heard heard;

    Fixture() { control->chat_template = kTemplate; }
    ~Fixture() { CHECK(control->num_faults == 0); }
    void start() {
        if (!engine) engine = make_loaded_fake_engine(control);
        REQUIRE(engine);
    }
    GenerationResult run(GenerationRequest request) {
        start();
        heard = {};
        GenerationResult result = engine->generate(std::move(request), heard.events()).wait();
        CHECK(heard.text == result.text);
        CHECK(heard.thought == result.thought);
        CHECK(heard.calls.size() == result.tool_calls.size());
        return result;
    }
    std::string prompt_of(const GenerationRequest& request) {
        start();
        const auto ids = engine->tokenize_request(request);
        return ids.ok() ? engine->tokenizer()->decode(*ids, true) : ids.error().message();
    }
};

GenerationRequest chat(std::string kwargs = "{}") {
    GenerationRequest request;
    request.messages.push_back({"user", "Hi"});
    request.sampling.temperature = 0;
    request.sampling.repeat_penalty = 1.0f;
    request.template_kwargs_json = std::move(kwargs);
    return request;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "Engine: thoughts are set apart from the answer", "[engine][quick]") {
    control->script = answering("<think>\nI think.\n</think>\n\nHello.");
    const GenerationResult result = run(chat());
    CHECK(result.text == "Hello.");
    CHECK(result.thought == "I think.");
    CHECK(result.reason == StopReason::end_of_generation);
    CHECK(engine->model()->reply_format.name == "hermes");
    CHECK(engine->model()->reply_format.has_thoughts);
    CHECK_FALSE(engine->model()->reply_format.evidence.empty());

    SECTION("the prompt may open them") {
        // The script goes on behind what the prompt has of its text.
        const GenerationResult opened = run(chat(R"({"thinks": true})"));
        CHECK(opened.thought == "I think.");
        CHECK(opened.text == "Hello.");
        control->script = answering("I think.\n</think>\n\nHello.");
        // Without that, what came before is known to be one only then.
        const GenerationResult unopened = run(chat());
        CHECK(unopened.thought == "I think.");
        CHECK(unopened.text == "Hello.");
    }
    SECTION("one that was stopped goes on, whoever opened it") {
        for (const char* kwargs : {"{}", R"({"thinks": true})"}) {
            GenerationRequest request = chat(kwargs);
            request.messages.push_back({.role = "assistant", .content = "", .thought = "I th"});
            request.continue_final_message = true;
            const std::string prompt = prompt_of(request);
            CHECK(prompt.substr(prompt.rfind("<assistant>")) == "<assistant><think>\nI th");
            const GenerationResult rest = run(request);
            CHECK(rest.thought == "ink.");
            CHECK(rest.text == "Hello.");
        }
    }
    SECTION("text that is continued, and text with control tokens, is left alone") {
        GenerationRequest raw;
        raw.raw_text = "<assistant>";
        raw.parse_special = true;
        raw.sampling.temperature = 0;
        CHECK(run(raw).text == "<think>\nI think.\n</think>\n\nHello.");
        GenerationRequest special = chat();
        special.keep_special = true;
        CHECK(run(special).text == "<think>\nI think.\n</think>\n\nHello.");
    }
    SECTION("stop strings are for the answer") {
        GenerationRequest request = chat();
        request.stop_strings = {"think", "lo"};
        const GenerationResult stopped = run(request);
        CHECK(stopped.reason == StopReason::stop_string);
        CHECK(stopped.thought == "I think.");
        CHECK(stopped.text == "Hel");
    }
    SECTION("a callback that throws ends the generation") {
        GenerationEvents events;
        events.on_thought = [](std::string_view) { throw std::runtime_error("enough"); };
        const GenerationResult failed = engine->generate(chat(), events).wait();
        CHECK(failed.reason == StopReason::failed);
        REQUIRE(failed.error.has_value());
        CHECK(failed.error->message().find("enough") != std::string::npos);
    }
}

TEST_CASE_METHOD(Fixture, "Engine: a budget closes the thought, and the answer follows",
                 "[engine][quick]") {
    // Without a switch of its own.
    control->chat_template = kTemplate.substr(0, kTemplate.find("{% if enable_thinking"));
    control->chat_template += "{% endif %}";
    control->script = thinking_on("Hello.");
    GenerationRequest request = chat(R"({"thinks": true})");
    request.max_tokens = 100;
    CHECK(run(request).thought == std::string(100, 'a'));
    for (const uint32_t budget : {0u, 1u, 7u, 50u}) {
        INFO(budget);
        request.thought_budget_tokens = budget;
        const GenerationResult result = run(request);
        CHECK(result.thought == std::string(budget, 'a'));
        CHECK(result.text == "Hello.");
        CHECK(result.reason == StopReason::end_of_generation);
        // What was forced is part of the text that the model sees.
        CHECK(engine->tokenizer()->decode(result.tokens, false) ==
              std::string(budget, 'a') + "\n</think>\n\nHello.");
    }
}

TEST_CASE_METHOD(Fixture, "Engine: without a budget the template's own switch is used",
                 "[engine][quick]") {
    GenerationRequest request = chat();
    request.thought_budget_tokens = 0;
    CHECK(prompt_of(request).find("<assistant><think>\n\n</think>\n\n") != std::string::npos);
    request.template_kwargs_json = R"({"enable_thinking": true})";
    CHECK(prompt_of(request).find("<think>") == std::string::npos);
    // A model that begins a thought all the same is stopped at once.
    control->script = answering("<think>" + std::string(30, 'a'));
    request.max_tokens = 40;
    const GenerationResult result = run(request);
    CHECK(result.thought.empty());
    CHECK(engine->tokenizer()->decode(result.tokens, false).substr(0, 18) ==
          "<think>\n</think>\n\n");
}

TEST_CASE_METHOD(Fixture, "Engine: tool calls are told and go back through the template",
                 "[engine][quick]") {
    const std::string call = R"({"name": "add", "arguments": {"a": [1, 2]}})";
    control->script =
        answering("<think>Sum.</think>I add.\n<tool_call>\n" + call + "\n</tool_call>");
    GenerationRequest request = chat();
    request.tools_json = kTools;
    const GenerationResult result = run(request);
    CHECK(result.text == "I add.");
    REQUIRE(result.tool_calls.size() == 1);
    CHECK(result.tool_calls[0].is_valid());
    CHECK(result.tool_calls[0].name == "add");
    CHECK(result.tool_calls[0].arguments_json == R"({"a": [1, 2]})");
    CHECK(result.tool_calls[0].id == "call00000");
    CHECK(heard.log == R"(add call00000{"a": [1, 2]})");

    request.messages.push_back(assistant_message(result));
    ChatMessage answer{"tool", "3"};
    answer.tool_call_id = result.tool_calls[0].id;
    answer.name = "add";
    request.messages.push_back(answer);
    CHECK(prompt_of(request) ==
          "<s><user>Hi<end><assistant><think>Sum.</think>I add.<tool_call>" + call +
              "</tool_call><end><tool>3 for call00000 of add<end><assistant>");
    // Ids go on from those of the conversation.
    CHECK(run(request).tool_calls.at(0).id == "call00001");
    // Whatever came before them has been dropped, and whoever gave them.
    request.messages[1].tool_calls[0].id = "call00041";
    request.messages[2].tool_call_id = "call00041";
    CHECK(run(request).tool_calls.at(0).id == "call00042");
    request.messages[2].tool_call_id = "call00077";
    CHECK(run(request).tool_calls.at(0).id == "call00078");
    for (const char* foreign : {"Call00090", "call000090", "call0009", "call9999x", "90", ""}) {
        request.messages[2].tool_call_id = foreign;
        CHECK(run(request).tool_calls.at(0).id == "call00042");
    }
    request.messages[2].tool_call_id = "call00041";

    request.messages[1].tool_calls[0].arguments_json = "{";
    CHECK(run(request).error.has_value());
}

TEST_CASE_METHOD(Fixture, "Engine: nothing is a call without tools, or where it is malformed",
                 "[engine][quick]") {
    const std::string call = "<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": }}</tool_call>";
    control->script = answering("A " + call + " B");
    GenerationRequest request = chat();
    CHECK(run(request).text == "A " + call + " B");

    request.tools_json = kTools;
    const GenerationResult result = run(request);
    CHECK(result.text == "A B");
    REQUIRE(result.tool_calls.size() == 1);
    CHECK_FALSE(result.tool_calls[0].is_valid());
    CHECK(result.tool_calls[0].text == call);
    // In the conversation it stands as the model wrote it.
    request.messages.push_back(assistant_message(result));
    CHECK(prompt_of(request).find("<assistant>A B\n" + call + "<end>") != std::string::npos);

    request.tools_json = "{}";
    CHECK(run(request).error.has_value());
}

TEST_CASE_METHOD(Fixture, "Engine: a call that is cut off is told with its text",
                 "[engine][quick]") {
    control->script = answering("<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1}}");
    GenerationRequest request = chat();
    request.tools_json = kTools;
    request.max_tokens = 25;
    const GenerationResult result = run(request);
    CHECK(result.reason == StopReason::max_tokens);
    CHECK(result.text.empty());
    REQUIRE(result.tool_calls.size() == 1);
    CHECK(result.tool_calls[0].problem == "the reply ends within it");
    CHECK(result.tool_calls[0].text == "<tool_call>{\"name\": \"add\"");
}

TEST_CASE_METHOD(Fixture, "Engine: constraints hold for the answer, not for the thought",
                 "[engine][quick]") {
    control->script = thinking_on("xyz");
    GenerationRequest request = chat(R"({"thinks": true})");
    request.constraints = {{.kind = ConstraintKind::choice, .text = "", .words = {"one", "two"}}};
    request.thought_budget_tokens = 5;
    const GenerationResult result = run(request);
    CHECK(result.thought == "aaaaa");
    CHECK((result.text == "one" || result.text == "two"));
    CHECK(result.meets_constraints);
}

TEST_CASE_METHOD(Fixture, "Engine: a thought that the model opens itself is free of constraints",
                 "[engine][quick]") {
    control->script = answering("<think>Is it one? </think>two");
    GenerationRequest request = chat();
    request.constraints = {{.kind = ConstraintKind::choice, .text = "", .words = {"one", "two"}}};
    GenerationResult result = run(request);
    CHECK(result.thought == "Is it one?");
    CHECK(result.text == "two");
    CHECK(result.meets_constraints);
    // Where the answer may begin like the marker, both ways are open until one is taken.
    request.constraints = {
        {.kind = ConstraintKind::choice, .text = "", .words = {"<thing>", "two"}}};
    result = run(request);
    CHECK(result.thought == "Is it one?");
    CHECK(result.text == "two");
    control->script = answering("<thing>");
    result = run(request);
    CHECK(result.thought.empty());
    CHECK(result.text == "<thing>");
    CHECK(result.meets_constraints);
    // No thoughts are wanted: the marker is none.
    control->script = answering("<think>Is it one? </think>two");
    request.thought_budget_tokens = 0;
    CHECK(run(request).thought.empty());
    CHECK(run(request).meets_constraints);
    // Cut off within the marker.
    request.thought_budget_tokens.reset();
    request.constraints = {{.kind = ConstraintKind::regex, .text = "[a-z]*", .words = {}}};
    request.max_tokens = 3;
    CHECK_FALSE(run(request).meets_constraints);
}

TEST_CASE_METHOD(Fixture, "Engine: a token that ends a thought holds nothing of the answer",
                 "[engine][quick]") {
    const auto long_token = std::find(fake_long_tokens().begin(), fake_long_tokens().end(), "k>{");
    REQUIRE(long_token != fake_long_tokens().end());
    const auto id =
        static_cast<TokenId>(fake_token::first_long + (long_token - fake_long_tokens().begin()));
    control->script = [id](std::span<const int32_t> history, std::span<float> logits) {
        const auto turn = std::find(history.rbegin(), history.rend(), fake_token::assistant).base();
        const std::string said = make_fake_tokenizer()->decode({turn, history.end()}, false);
        const std::string wanted = "Hm.</think>7";
        std::fill(logits.begin(), logits.end(), 0.0f);
        const size_t place = said.size() - std::string("<think>\n").size();
        const TokenId next =
            place < wanted.size() ? static_cast<TokenId>(wanted[place]) : fake_token::end;
        logits[static_cast<size_t>(next)] = 100.0f;
        if (said.ends_with("</thin")) logits[static_cast<size_t>(id)] = 200.0f;
    };
    GenerationRequest request = chat(R"({"thinks": true})");
    request.constraints = {{.kind = ConstraintKind::regex, .text = "[0-9]", .words = {}}};
    const GenerationResult result = run(request);
    CHECK(result.thought == "Hm.");
    CHECK(result.text == "7");
    CHECK(result.meets_constraints);
}

TEST_CASE_METHOD(Fixture, "Engine: markers that people quote are none of a message that goes on",
                 "[engine][quick]") {
    control->script = [](std::span<const int32_t> history, std::span<float> logits) {
        std::fill(logits.begin(), logits.end(), 0.0f);
        const bool has_answered = history.back() == '!';
        logits[static_cast<size_t>(has_answered ? fake_token::end : '!')] = 100.0f;
    };
    GenerationRequest request = chat();
    request.messages = {{"user", "What is <think> for"}, {"assistant", "It opens"}};
    request.continue_final_message = true;
    GenerationResult result = run(request);
    CHECK(result.thought.empty());
    CHECK(result.text == "!");
    request.messages = {{"user", "What is </think> for"}, {"assistant", "<think>It may"}};
    result = run(request);
    CHECK(result.thought == "!");
    CHECK(result.text.empty());
}

TEST_CASE_METHOD(Fixture, "Engine: what closes a thought is no end of the answer",
                 "[engine][quick]") {
    control->script = thinking_on("Hello.");
    control->more_end_tokens = {'/'};  // in "</think>"
    GenerationRequest request = chat(R"({"thinks": true})");
    request.thought_budget_tokens = 3;
    const GenerationResult result = run(request);
    CHECK(result.thought == "aaa");
    CHECK(result.text == "Hello.");
    CHECK(result.tokens.back() == fake_token::end);
}

TEST_CASE_METHOD(Fixture, "Engine: continuations of one prompt have thoughts of their own",
                 "[engine][quick]") {
    control->script = thinking_on("Hello.");
    start();
    GenerationRequest request = chat(R"({"thinks": true})");
    request.thought_budget_tokens = 3;
    for (GenerationHandle& handle :
         engine->generate_many(request, std::vector<GenerationEvents>(3))) {
        const GenerationResult result = handle.wait();
        CHECK(result.thought == "aaa");
        CHECK(result.text == "Hello.");
    }
}

TEST_CASE_METHOD(Fixture, "Engine: calls may come before an answer that must have a form",
                 "[engine][quick]") {
    const std::string object = R"({"name": "add", "arguments": {"a": 1}})";
    GenerationRequest request = chat();
    request.tools_json = kTools;
    request.max_tokens = 200;
    const ConstraintSpec choice{
        .kind = ConstraintKind::choice, .text = "", .words = {"one", "two"}};
    const ConstraintSpec any_json{.kind = ConstraintKind::json, .text = "", .words = {}};
    struct Case {
        ConstraintSpec spec;
        std::string wanted, text;
        size_t num_calls;
    };
    const std::string call = "<tool_call>\n" + object + "\n</tool_call>";
    for (const Case& c :
         {Case{choice, call, "", 1}, Case{choice, call + "\n" + call, "", 2},
          Case{choice, "two", "two", 0}, Case{choice, call + "\ntwo", "two", 1},
          Case{choice, "<think>Hm.</think>\n" + call + "one", "one", 1},
          Case{any_json, call, "", 1}, Case{any_json, call + "{\"a\": [1]}", "{\"a\": [1]}", 1},
          // Without a marker, it is a call once it names a tool.
          Case{any_json, object, "", 1}, Case{any_json, object + "\n[1]", "[1]", 1},
          Case{any_json, R"({"name": "x"})", R"({"name": "x"})", 0}}) {
        CAPTURE(c.wanted);
        control->script = answering(c.wanted);
        request.constraints = {c.spec};
        const GenerationResult result = run(request);
        if (result.error) FAIL(result.error->message());
        CHECK(result.reason == StopReason::end_of_generation);
        CHECK(result.text == c.text);
        CHECK(result.meets_constraints);
        REQUIRE(result.tool_calls.size() == c.num_calls);
        for (const ToolCall& made : result.tool_calls) CHECK(made.arguments_json == R"({"a": 1})");
    }
    // Required words are waited for in the answer, not in calls.
    control->script = answering(call);
    request.constraints = {
        {.kind = ConstraintKind::required_words, .text = "", .words = {"arguments"}}};
    CHECK(run(request).tool_calls.size() == 1);
    CHECK(run(request).text.empty());
    CHECK(run(request).meets_constraints);
    control->script = answering(call + "It is 3.");
    CHECK(run(request).text == "It is 3. arguments");
    CHECK(run(request).meets_constraints);
}

TEST_CASE_METHOD(Fixture, "Engine: what begins like a call and is none is no way round the form",
                 "[engine][quick]") {
    GenerationRequest request = chat();
    request.tools_json = kTools;
    request.max_tokens = 60;
    request.constraints = {{.kind = ConstraintKind::choice, .text = "", .words = {"one", "two"}}};
    const auto wanting = [](const std::string& text) {
        return
            [wanted = answering(text)](std::span<const int32_t> history, std::span<float> logits) {
                wanted(history, logits);
                logits['{'] = std::max(logits['{'], 60.0f);
                logits['o'] = std::max(logits['o'], 50.0f);
            };
    };
    control->script = wanting("<tool_call>Well, three.</tool_call>");
    GenerationResult result = run(request);
    REQUIRE(result.tool_calls.size() == 1);
    CHECK(result.tool_calls[0].text == "<tool_call>{ell, three.</tool_call>");
    CHECK(result.text == "one");
    CHECK(result.meets_constraints);
    // A call that is wrong is no reason to go without the form.
    control->script = wanting("<tool_call>{\"name\": }</tool_call>");
    result = run(request);
    CHECK(result.tool_calls.size() == 1);
    CHECK(result.text == "one");
    CHECK(result.meets_constraints);
    // Without tools there is nothing to call.
    request.tools_json = "null";
    result = run(request);
    CHECK(result.tool_calls.empty());
    CHECK(result.text.find("tool_call") == std::string::npos);
    CHECK(result.meets_constraints == !result.text.empty());
}

TEST_CASE_METHOD(Fixture, "Engine: a form that writes a marker itself holds for the raw text",
                 "[engine][quick]") {
    GenerationRequest request = chat();
    request.tools_json = kTools;
    request.max_tokens = 200;
    const std::string object = R"({"name": "add", "arguments": {"a": 1}})";
    const std::string call = "<tool_call>" + object + "</tool_call>";
    const std::string thinking = "<think>Hm.</think>";
    const auto gbnf = [](const std::string& text) {
        return ConstraintSpec{.kind = ConstraintKind::gbnf, .text = text, .words = {}};
    };
    const ConstraintSpec grammar = gbnf("root ::= \"Go: <tool_call>{\" [^}]* \"}}</tool_call>.\"");
    const ConstraintSpec choice{
        .kind = ConstraintKind::choice, .text = "", .words = {"<tool_call>none</tool_call>", call}};
    const ConstraintSpec regex{
        .kind = ConstraintKind::regex, .text = R"(\<tool_call\>[a-z]+)", .words = {}};
    struct Case {
        ConstraintSpec spec;
        std::string wanted, text, thought;
    };
    for (const Case& c : {Case{grammar, "Go: " + call + ".", "Go: " + call + ".", ""},
                          Case{choice, call, call, ""}, Case{choice, thinking + call, call, "Hm."},
                          Case{regex, "<tool_call>abc", "<tool_call>abc", ""},
                          Case{gbnf(R"(root ::= "<think>" [a-z]+ "</think>" "yes")"),
                               "<think>so</think>yes", "<think>so</think>yes", ""}}) {
        CAPTURE(c.spec.text, c.wanted);
        control->script = answering(c.wanted);
        request.constraints = {c.spec};
        const GenerationResult result = run(request);
        if (result.error) FAIL(result.error->message());
        CHECK(result.reason == StopReason::end_of_generation);
        CHECK(result.text == c.text);
        CHECK(result.thought == c.thought);
        CHECK(result.tool_calls.empty());
        CHECK(result.meets_constraints);
    }
    // A word that is to occur prescribes no marker.
    control->script = answering(call);
    request.constraints = {{.kind = ConstraintKind::required_words, .text = "", .words = {"tool"}}};
    CHECK(run(request).tool_calls.size() == 1);
}

TEST_CASE_METHOD(Fixture, "Engine: what turns out to be a thought counts for no form",
                 "[engine][quick]") {
    GenerationRequest request = chat();
    request.max_tokens = 60;
    // Closed without having been opened.
    control->script = answering("A cat.\n</think>\n\nA dog.");
    request.constraints = {{.kind = ConstraintKind::required_words, .text = "", .words = {"cat"}}};
    GenerationResult result = run(request);
    CHECK(result.thought == "A cat.");
    CHECK(result.text == "A dog. cat");
    CHECK(result.meets_constraints);
    // Allowed by its letters, not by its name.
    request.constraints = {
        {.kind = ConstraintKind::regex, .text = "A cat\\.\n([^x]*A dog\\.)?", .words = {}}};
    result = run(request);
    CHECK(result.thought == "A cat.");
    CHECK_FALSE((result.meets_constraints && result.text == "A dog."));
    // Allowed as answer, and then cut short by the budget.
    request.thought_budget_tokens = 0;
    control->script = answering("<think> well");
    request.constraints = {
        {.kind = ConstraintKind::required_words, .text = "", .words = {"think"}}};
    result = run(request);
    CHECK(result.thought.empty());
    CHECK(result.text.find("think") != std::string::npos);
    CHECK(result.meets_constraints);
}
