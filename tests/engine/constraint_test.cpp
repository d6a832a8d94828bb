// SPDX-License-Identifier: Apache-2.0
// Generations whose text must have a form, on the fake model.
#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>

#include "engine/fake_model.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

ConstraintSpec of_kind(ConstraintKind kind, std::string text) {
    return {.kind = kind, .text = std::move(text), .words = {}};
}

ConstraintSpec of_words(ConstraintKind kind, std::vector<std::string> words) {
    return {.kind = kind, .text = {}, .words = std::move(words)};
}

GenerationRequest constrained(std::vector<ConstraintSpec> constraints, uint32_t max_tokens = 200) {
    GenerationRequest request;
    request.raw_text = "prompt";
    request.sampling.seed = 1;
    request.constraints = std::move(constraints);
    request.max_tokens = max_tokens;
    return request;
}

/// The first text whose tokens the history has not gone beyond; bytes only, then the end.
Script preferring(std::string text, float strength = 100.0f) {
    return [text = std::move(text), strength](std::span<const int32_t> history,
                                              std::span<float> logits) {
        fake_logits(history, logits);
        const size_t index = history.size() - std::string_view("?prompt").size();  // with BOS
        const TokenId next =
            index < text.size() ? static_cast<unsigned char>(text[index]) : fake_token::eos;
        logits[static_cast<size_t>(next)] = strength;
    };
}

struct Fixture {
    std::shared_ptr<FakeControl> control = std::make_shared<FakeControl>();
    std::unique_ptr<Engine> engine = make_loaded_fake_engine(control);
    ~Fixture() { CHECK(control->num_faults == 0); }

    GenerationResult run(GenerationRequest request) {
        return engine->generate(std::move(request)).wait();
    }
    /// Must succeed.
    GenerationResult run_well(GenerationRequest request) {
        GenerationResult result = run(std::move(request));
        if (result.error) FAIL(result.text + ": " + result.error->message());
        CHECK(result.meets_constraints);
        return result;
    }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "Constraints: whatever the model wants, the text has the form",
                 "[engine][quick]") {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        GenerationRequest request =
            constrained({of_kind(ConstraintKind::regex, "[a-f]{3,9}-[0-9]{2}")});
        request.sampling.seed = seed;
        request.sampling.temperature = 3.0f;
        const GenerationResult result = run_well(std::move(request));
        CHECK(result.reason == StopReason::end_of_generation);
        CHECK(std::regex_match(result.text, std::regex("[a-f]{3,9}-[0-9]{2}")));
    }
    const std::vector<std::string> choices{"Hello world", "Hello you", "no"};
    for (const float temperature : {0.0f, 5.0f}) {
        GenerationRequest request = constrained({of_words(ConstraintKind::choice, choices)});
        request.sampling.temperature = temperature;
        const GenerationResult result = run_well(std::move(request));
        CHECK(std::count(choices.begin(), choices.end(), result.text) == 1);
    }
}

TEST_CASE_METHOD(Fixture, "Constraints: a text that can only end is not asked for its end",
                 "[engine][quick]") {
    const GenerationResult result =
        run_well(constrained({of_words(ConstraintKind::choice, {"abc"})}));
    CHECK(result.text == "abc");
    CHECK(result.reason == StopReason::end_of_generation);
    CHECK(result.tokens == std::vector<TokenId>{'a', 'b', 'c'});
}

TEST_CASE_METHOD(Fixture, "Constraints: the end is allowed where the text is complete, no sooner",
                 "[engine][quick]") {
    control->script = preferring("");  // the end at once, and ever after
    const auto result = run_well(constrained({of_kind(ConstraintKind::regex, "x{4,8}")}));
    CHECK(result.text == "xxxx");
    CHECK(result.tokens.back() == fake_token::eos);
}

TEST_CASE_METHOD(Fixture, "Constraints: all of them must hold", "[engine][quick]") {
    GenerationRequest request = constrained(
        {of_kind(ConstraintKind::regex, "[a-m]{6}"), of_kind(ConstraintKind::regex, "[h-z]{2,6}")});
    const GenerationResult result = run_well(std::move(request));
    CHECK(std::regex_match(result.text, std::regex("[h-m]{6}")));

    request = constrained(
        {of_words(ConstraintKind::choice, {"yes"}), of_words(ConstraintKind::choice, {"no"})});
    const GenerationResult impossible = run(std::move(request));
    REQUIRE(impossible.error.has_value());
    CHECK(impossible.error->what == "no choice has the other forms asked for");
    CHECK(impossible.error->where == "the choices \"yes\" and the choices \"no\"");
    CHECK(impossible.tokens.empty());
    CHECK_FALSE(impossible.meets_constraints);
}

TEST_CASE_METHOD(Fixture, "Constraints: only choices with the other forms are begun",
                 "[engine][quick]") {
    const auto words = of_words(ConstraintKind::required_words, {"no"});
    control->script = preferring("yes");
    const auto result = run_well(
        constrained({of_words(ConstraintKind::choice, {"yes", "yet no", "nobody"}), words}));
    CHECK(result.text == "yet no");
    const auto none = run(constrained({of_words(ConstraintKind::choice, {"yes"}), words}));
    REQUIRE(none.error.has_value());
    CHECK(none.error->code == ErrorCode::bad_argument);
    CHECK(none.text.empty());
    CHECK(none.error->message().find("\"yes\" and the required words \"no\"") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "Constraints: ways that cannot lead to a word are not taken",
                 "[engine][quick]") {
    const auto cat = of_words(ConstraintKind::required_words, {"cat"});
    for (const char* wanted : {"null", "12.5", "true", "-1"}) {
        CAPTURE(wanted);
        control->script = preferring(wanted);
        for (const auto& form :
             {of_kind(ConstraintKind::json_schema,
                      R"({"type": ["number", "null", "boolean", "string"]})"),
              of_kind(ConstraintKind::regex, "null|true|-?[0-9.]+|\"[a-z ]*\"")}) {
            GenerationRequest request = constrained({form, cat}, 60);
            request.sampling.temperature = 0;
            const auto result = run(std::move(request));
            if (result.error) FAIL(result.error->message());
            CHECK(result.text.find("cat") != std::string::npos);
        }
    }
    // A word that has begun within another can no more be set apart.
    for (const char* wanted : {"aabbab", "ba", "abab", "b"}) {
        CAPTURE(wanted);
        control->script = preferring(wanted);
        const auto result = run_well(constrained({of_kind(ConstraintKind::regex, "(a|b)*"),
                                                  of_words(ConstraintKind::required_words, {"ab"})},
                                                 20));
        CHECK(result.text == "ab");
    }
    // What is there of the word counts.
    control->script = preferring("cart-1");
    const auto regex = of_kind(ConstraintKind::regex, "ca(t-[0-9]|rt-[0-9])");
    CHECK(run_well(constrained({regex, cat})).text.starts_with("cat-"));
    // The key of an object leads to a string.
    control->script = preferring("{\"a\":7}");
    const auto result =
        run_well(constrained({of_kind(ConstraintKind::json_schema,
                                      R"({"type": "object", "properties": {"a": {"type": "integer"},
                     "b": {"enum": ["dog", "cat"]}}, "required": ["a"]})"),
                              cat}));
    CHECK(result.text.find("\"cat\"") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "Constraints: forms that turn out to contradict each other are named",
                 "[engine][quick]") {
    for (const auto& [form, word] :
         {std::pair{of_kind(ConstraintKind::regex, "[a-z ]{1,10}"), "forty-two"},
          std::pair{of_kind(ConstraintKind::json_schema, R"({"type": "string", "maxLength": 5})"),
                    "catalogue"},
          std::pair{of_kind(ConstraintKind::regex, "[0-9]{300}"), "cat"}}) {
        CAPTURE(form.text);
        const auto result =
            run(constrained({form, of_words(ConstraintKind::required_words, {word})}, 400));
        REQUIRE(result.error.has_value());
        INFO(result.error->message());
        CHECK(result.error->code == ErrorCode::bad_argument);
        CHECK(result.error->what.find("contradict each other") != std::string::npos);
        CHECK(result.error->where.find(word) != std::string::npos);
    }
}

TEST_CASE_METHOD(Fixture, "Constraints: a text cut by a stop string is judged as it was cut",
                 "[engine][quick]") {
    const auto run_to = [&](ConstraintSpec spec, const std::string& stop,
                            const std::string& wanted) {
        control->script = preferring(wanted);
        GenerationRequest request = constrained({std::move(spec)});
        request.stop_strings = {stop};
        return run(std::move(request));
    };
    const auto choice = of_words(ConstraintKind::choice, {"yes sir", "yes"});
    struct Case {
        ConstraintSpec spec;
        std::string stop, wanted, text;
        bool is_met;
    };
    for (const Case& c :
         {Case{of_kind(ConstraintKind::regex, "yes sir"), "sir", "yes sir", "yes ", false},
          Case{choice, "ir", "yes sir", "yes s", false}, Case{choice, " s", "yes sir", "yes", true},
          Case{of_kind(ConstraintKind::json_schema, R"({"const": {"a": 1}})"), "}", "{\"a\":1}",
               "{\"a\":1", false},
          Case{of_kind(ConstraintKind::json, ""), "}", "{\"a\":1}", "{\"a\":1", false},
          Case{of_words(ConstraintKind::required_words, {"cat"}), "cat", "a cat sat", "a ", false},
          Case{of_words(ConstraintKind::required_words, {"cat"}), "sat", "a cat sat", "a cat ",
               true},
          Case{of_kind(ConstraintKind::gbnf, "root ::= \"ab\" \"cd\"?"), "cd", "abcd", "ab",
               true}}) {
        CAPTURE(c.spec.text, c.stop);
        const auto result = run_to(c.spec, c.stop, c.wanted);
        CHECK(result.reason == StopReason::stop_string);
        CHECK(result.text == c.text);
        CHECK(result.meets_constraints == c.is_met);
    }
}

TEST_CASE_METHOD(Fixture, "Constraints: a wrong one fails its own generation alone",
                 "[engine][quick]") {
    for (const ConstraintSpec& spec :
         {of_kind(ConstraintKind::gbnf, "root ::= ["), of_kind(ConstraintKind::regex, "("),
          of_kind(ConstraintKind::json_schema, "{"), of_words(ConstraintKind::choice, {}),
          of_words(ConstraintKind::required_words, {""})}) {
        const GenerationResult result = run(constrained({spec}));
        CHECK(result.reason == StopReason::failed);
        REQUIRE(result.error.has_value());
        CHECK(result.tokens.empty());
        CHECK_FALSE(result.meets_constraints);
        CHECK(run_well(constrained({of_kind(ConstraintKind::regex, "ok")})).text == "ok");
    }
    GenerationRequest request = constrained({of_kind(ConstraintKind::json, "")});
    request.ignore_end = true;
    CHECK(run(std::move(request)).error->where == "ignore_end");
}

TEST_CASE_METHOD(Fixture, "Constraints: a text cut off is said to lack its form",
                 "[engine][quick]") {
    const auto spec = of_kind(ConstraintKind::regex, "[a-z]{10}");
    GenerationResult result = run(constrained({spec}, 5));
    CHECK(result.reason == StopReason::max_tokens);
    CHECK_FALSE(result.meets_constraints);
    CHECK(result.text.size() == 5);

    control->script = preferring("abcdefghij");
    GenerationRequest request = constrained({spec});
    request.stop_strings = {"cd"};
    result = run(std::move(request));
    CHECK(result.reason == StopReason::stop_string);
    CHECK_FALSE(result.meets_constraints);
    CHECK(run_well(constrained({spec})).text == "abcdefghij");
    CHECK(run(constrained({})).meets_constraints);
}

TEST_CASE_METHOD(Fixture, "Constraints: unusable logits are an error although they are masked",
                 "[engine][quick]") {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        control->script = [bad](std::span<const int32_t> history, std::span<float> logits) {
            fake_logits(history, logits);
            logits['z'] = bad;
        };
        const GenerationResult result = run(constrained({of_kind(ConstraintKind::regex, "[ab]*")}));
        REQUIRE(result.error.has_value());
        CHECK(result.error->code == ErrorCode::numeric);
    }
}

TEST_CASE_METHOD(Fixture, "Constraints: the template's end of a turn ends a text as well",
                 "[engine][quick]") {
    control->chat_template =
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}<assistant>";
    engine = make_loaded_fake_engine(control);
    control->script = answering("abc");
    GenerationRequest request = constrained({of_kind(ConstraintKind::regex, "[a-z]*")});
    request.raw_text.reset();
    request.messages = {{"user", "Hi"}};
    const GenerationResult result = run_well(std::move(request));
    CHECK(result.text == "abc");
    CHECK(result.tokens.back() == fake_token::end);
}

TEST_CASE_METHOD(Fixture, "Required words: a model that would end without them writes them",
                 "[engine][quick]") {
    const auto require = [](std::vector<std::string> words, uint32_t max_tokens = 100) {
        return constrained({of_words(ConstraintKind::required_words, std::move(words))},
                           max_tokens);
    };
    control->script = preferring("A text.");
    CHECK(run_well(require({"forty-two"})).text == "A text. forty-two");
    CHECK(run_well(require({"one", "two"})).text == "A text. one two");
    CHECK(run_well(require({"text"})).text == "A text.");
    CHECK(run_well(require({"\xE6\xB0\xB4"})).text ==
          "A text.\xE6\xB0\xB4");  // no space before Han
    control->script = preferring("");
    CHECK(run_well(require({"cat"})).text == "cat");

    SECTION("just in time, where the model goes on and on") {
        control->script = preferring(std::string(1000, 'x'));
        const GenerationResult result = run_well(require({"cat"}, 20));
        CHECK(result.text == std::string(16, 'x') + " cat");
        CHECK(result.reason == StopReason::max_tokens);
        // Of the long tokens " world" is one.
        CHECK(run_well(require({"world"}, 6)).text == "xxxxx world");
        CHECK(run_well(require({"cat"}, 3)).text == "cat");
        const GenerationResult too_short = run(require({"cat"}, 2));
        REQUIRE(too_short.error.has_value());
        CHECK(too_short.error->code == ErrorCode::limit_exceeded);
        CHECK(too_short.error->what.find("\"cat\"") != std::string::npos);
    }
    SECTION("at the limit, as one that was free takes its place and a space") {
        control->script = preferring(std::string(1000, 'x'));
        const GenerationResult first = run_well(require({"cat"}, 4));
        CHECK(first.text.starts_with("cat"));
        CHECK(first.tokens.size() == 4);
        CHECK(run_well(require({"cat"}, 5)).text == "x cat");
        // Too late for another one once this is "cats".
        control->script = preferring("a cats, a dog");
        for (const uint32_t most : {5u, 6u, 7u, 8u, 9u}) {
            CAPTURE(most);
            CHECK(run_well(require({"cat"}, most)).text.find("cats") == std::string::npos);
        }
        CHECK(run_well(require({"cat"}, 10)).text == "a cats cat");
    }
    SECTION("a letter behind an inserted word does not make it another one") {
        // After "cat" the model would write an s, then end.
        control->script = preferring("Some cats");
        const GenerationResult result = run_well(require({"cat"}));
        CHECK(result.text == "Some cats cat");
        control->script = [](std::span<const int32_t> history, std::span<float> logits) {
            fake_logits(history, logits);
            logits[fake_token::eos] = 50.0f;
            if (history.size() > 8 && history.back() == 't') logits['s'] = 100.0f;
        };
        CHECK(run_well(require({"cat"})).text == "cat");
    }
    SECTION("within another constraint, as far as that lets them") {
        control->script = preferring("\"ab\"");
        GenerationRequest request =
            constrained({of_kind(ConstraintKind::json_schema, R"({"type": "string"})"),
                         of_words(ConstraintKind::required_words, {"cat"})});
        request.sampling.temperature = 0;
        const GenerationResult result = run_well(std::move(request));
        CHECK(result.text.find("cat") != std::string::npos);
        CHECK(result.text.front() == '"');
        CHECK(result.text.back() == '"');
    }
}

TEST_CASE_METHOD(Fixture, "Constraints: log-probabilities are the model's own, before the mask",
                 "[engine][quick]") {
    control->script = preferring("zzz");
    GenerationRequest request = constrained({of_words(ConstraintKind::choice, {"a"})});
    request.num_top_logprobs = 1;
    std::vector<TokenLogprob> events;
    GenerationEvents callbacks;
    callbacks.on_token = [&](const TokenLogprob& token) { events.push_back(token); };
    engine->generate(std::move(request), std::move(callbacks)).wait();
    REQUIRE(events.size() == 1);
    CHECK(events[0].id == 'a');
    CHECK(events[0].logprob < -50);
    CHECK(events[0].top.at(0).first == 'z');
}
