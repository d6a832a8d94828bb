// SPDX-License-Identifier: Apache-2.0
// A draft model changes the time of a text, not the text: on fake models, where any mistake in what
// the draft has stored shows in its guesses, and on tiny files, where vocabularies differ.
#include "engine/draft_model.h"

#include <algorithm>
#include <string>

#include "engine/engine_access.h"
#include "engine/model_loader.h"
#include "engine/overflow_chats.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/scratch_folder.h"
#include "support/tiny_model.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

/// As the model, but with another favourite wherever the text's length is a multiple of `every`.
Script mistaken(Script script, size_t every) {
    return [=](std::span<const int32_t> history, std::span<float> logits) {
        script(history, logits);
        if (history.size() % every == 0) logits['?'] = 60.0f;
    };
}

struct DraftRun {
    std::vector<GenerationResult> results;
    uint32_t num_steps = 0, num_draft_steps = 0, num_draft_rows = 0;
};

std::shared_ptr<FakeControl> guessing_control(const Script& script, uint32_t context = 512) {
    auto control = std::make_shared<FakeControl>();
    control->script = script;
    control->context_tokens = context;
    control->max_step_logits = 8;
    control->max_decode_rows = 8;
    control->least_prefill_rows = 8;
    control->max_guesses = 7;
    return control;
}

/// One after another in one engine. `draft`: null for none.
DraftRun run_all(std::vector<GenerationRequest> requests, std::shared_ptr<FakeControl> control,
                 std::shared_ptr<FakeControl> draft) {
    control->draft = draft;
    if (!draft) control->max_guesses = 0;
    auto engine = make_loaded_fake_engine(control);
    REQUIRE(engine);
    DraftRun run;
    for (GenerationRequest& request : requests) {
        request.prompt_lookup = false;
        run.results.push_back(engine->generate(request).wait());
    }
    run.num_steps = control->num_steps;
    engine.reset();
    CHECK(control->num_faults == 0);
    if (!draft) return run;
    run.num_draft_steps = draft->num_steps;
    run.num_draft_rows = draft->num_rows;
    CHECK(draft->num_faults == 0);
    return run;
}

void check_same(const DraftRun& plain, const DraftRun& drafted) {
    REQUIRE(plain.results.size() == drafted.results.size());
    for (size_t i = 0; i < plain.results.size(); ++i) {
        const GenerationResult& a = plain.results[i];
        const GenerationResult& b = drafted.results[i];
        CHECK(a.reason != StopReason::failed);
        CHECK(b.tokens == a.tokens);
        CHECK(b.text == a.text);
        CHECK(b.reason == a.reason);
        CHECK(b.stats.right_guesses <= b.stats.guessed_tokens);
        CHECK(b.stats.drafted_tokens == b.stats.guessed_tokens);
    }
}

GenerationRequest letters_request(std::string_view prompt, uint32_t max_tokens) {
    GenerationRequest request;
    request.tokens.emplace();
    for (const char c : prompt) request.tokens->push_back(static_cast<unsigned char>(c));
    request.max_tokens = max_tokens;
    request.sampling.temperature = 0;
    return request;
}

}  // namespace

TEST_CASE("DraftModel: a draft that is right saves steps, whatever text comes", "[engine][quick]") {
    const auto requests = {letters_request("abcdef", 120)};
    const DraftRun plain = run_all(requests, guessing_control(fake_logits), nullptr);
    const DraftRun drafted =
        run_all(requests, guessing_control(fake_logits), guessing_control(fake_logits));
    check_same(plain, drafted);
    CHECK(plain.num_steps == 120);
    CHECK(drafted.num_steps < 40);
    const GenerationStats& stats = drafted.results[0].stats;
    CHECK(stats.right_guesses == stats.guessed_tokens);
    CHECK(stats.forward_tokens == plain.results[0].stats.forward_tokens);
    // Nothing is evaluated twice: the prompt, and the text at most once.
    CHECK(drafted.num_draft_rows <= 6 + 120);
}

TEST_CASE("DraftModel: a draft that errs changes no text", "[engine][quick]") {
    const size_t every = GENERATE(1u, 2u, 3u, 5u, 11u);
    GenerationRequest request = letters_request("abcabcabdefabcab", 150);
    SECTION("greedy") {}
    SECTION("drawn") {
        request.sampling.temperature = 0.9f;
        request.sampling.seed = GENERATE(1u, 2u, 3u);
    }
    SECTION("with penalties, which look back") {
        request.sampling.temperature = 0.7f;
        request.sampling.repeat_penalty = 1.3f;
        request.sampling.seed = 9;
    }
    const auto requests = {request, letters_request("another", 40), request};
    for (const Script& script : {Script(fake_logits), Script(repetitive_logits)}) {
        const DraftRun plain = run_all(requests, guessing_control(script), nullptr);
        const DraftRun drafted =
            run_all(requests, guessing_control(script), guessing_control(mistaken(script, every)));
        check_same(plain, drafted);
        CHECK(drafted.num_draft_steps > 0);
    }
}

TEST_CASE("DraftModel: one that is always wrong is hardly asked any more", "[engine][quick]") {
    const auto requests = {letters_request("abcdef", 400)};
    const DraftRun plain = run_all(requests, guessing_control(fake_logits), nullptr);
    const DraftRun drafted = run_all(requests, guessing_control(fake_logits),
                                     guessing_control(mistaken(fake_logits, 1)));
    check_same(plain, drafted);
    CHECK(drafted.results[0].stats.right_guesses == 0);
    CHECK(drafted.num_draft_steps < 100);
    CHECK(drafted.num_steps == 400);
}

TEST_CASE("DraftModel: it follows a conversation that loses its oldest turns", "[engine][quick]") {
    const auto messages = talk(8, 20);
    GenerationRequest request = request_for(messages, Overflow::drop_oldest, 0);
    request.ignore_end = true;
    request.max_tokens = 300;
    const auto run_with = [&](std::shared_ptr<FakeControl> draft) {
        auto control = guessing_control(fake_logits, 256);
        control->chat_template = kTurnsTemplate;
        return run_all({request}, control, std::move(draft));
    };
    const DraftRun plain = run_with(nullptr);
    const DraftRun drafted = run_with(guessing_control(mistaken(fake_logits, 4), 256));
    REQUIRE(plain.results[0].dropped);
    check_same(plain, drafted);
    CHECK(drafted.results[0].stats.right_guesses > 100);
}

TEST_CASE("DraftModel: beyond its context, and of tokens it does not know, it guesses nothing",
          "[engine][quick]") {
    const auto requests = {letters_request("abcdef", 150)};
    const DraftRun plain = run_all(requests, guessing_control(fake_logits), nullptr);
    SECTION("a shorter context") {
        const DraftRun drafted =
            run_all(requests, guessing_control(fake_logits), guessing_control(fake_logits, 64));
        check_same(plain, drafted);
        CHECK(drafted.results[0].stats.right_guesses > 30);
        CHECK(drafted.results[0].stats.right_guesses < 64);
    }
    SECTION("a smaller vocabulary") {
        auto draft = guessing_control(fake_logits);
        draft->num_vocab = 64;  // the letters are behind these
        const DraftRun drafted = run_all(requests, guessing_control(fake_logits), draft);
        check_same(plain, drafted);
        CHECK(drafted.num_draft_steps == 0);
    }
}

TEST_CASE("DraftModel: it grows with the context", "[engine][quick]") {
    GenerationRequest request = letters_request("abcdef", 200);
    request.overflow = Overflow::grow;
    const auto control_of = [] {
        auto control = guessing_control(fake_logits, 64);
        control->trained_context = 512;
        return control;
    };
    const DraftRun plain = run_all({request}, control_of(), nullptr);
    const DraftRun drafted = run_all({request}, control_of(), control_of());
    check_same(plain, drafted);
    CHECK(drafted.results[0].stats.right_guesses > 100);
}

TEST_CASE("DraftModel: it grows no further than to where LongRoPE takes other angles",
          "[engine][quick]") {
    const auto folder = find_golden("arch/phi3_longrope_short");
    if (!folder) return report_skip("golden/arch is not there");
    const auto loader = make_model_loader();
    const LoadOptions options{
        .path = *folder / "model.gguf", .context_tokens = 16, .device = "cpu"};
    LoadedModel loaded = loader->open(options, {}).value();
    REQUIRE(loader->start(loaded, options, {}).ok());
    const uint32_t trained = loaded.info.trained_context;
    const uint32_t boundary = loaded.model->spec().ropes.front().long_above_context;
    REQUIRE(boundary > 16);
    REQUIRE(boundary < trained);
    DraftModel draft(loaded, loaded);
    draft.grow(trained);
    CHECK(loaded.info.context_tokens == boundary);
}

TEST_CASE("Engine::load: a draft model takes nothing of what the context needs",
          "[engine][quick]") {
    const ScratchFolder folder;
    make_tiny_llama().write(folder / "tiny.gguf");
    LoadOptions options{.path = folder / "tiny.gguf", .context_tokens = 128, .device = "cpu"};
    // Two blocks of 64 positions and one for copies; keys and values of eight float32 each.
    constexpr uint64_t kContext =
        uint64_t{TinyLlama::kLayers} * TinyLlama::kKvHeads * 3 * 64 * (8 + 8) * 4;
    const auto load = [&](uint64_t available, const std::filesystem::path& draft) {
        const auto engine =
            EngineAccess::create(make_model_loader({}, [available] {
                return SystemMemory{.total_bytes = 4 * available, .available_bytes = available};
            })).value();
        options.draft_model = draft;
        return engine->load(options);
    };
    // One after the other they would fit, as the first one's pages come later.
    const uint64_t for_one = kContext * 3 / 2, for_both = kContext * 5 / 2;
    CHECK(load(for_one, {}).ok());
    const auto refused = load(for_one, options.path);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::limit_exceeded);
    CHECK(load(for_both, options.path).ok());
}

TEST_CASE("DraftModel: an error in it ends no text", "[engine][quick]") {
    const auto requests = {letters_request("abcdef", 100), letters_request("xyz", 20)};
    const DraftRun plain = run_all(requests, guessing_control(fake_logits), nullptr);
    auto draft = guessing_control(fake_logits);
    draft->before_step = [](const Step& step) -> Result<void> {
        if (step.sequences[0].num_cached < 40) return {};
        return Error{ErrorCode::numeric, "not a number", "layer 0", ""};
    };
    const DraftRun drafted = run_all(requests, guessing_control(fake_logits), draft);
    check_same(plain, drafted);
    CHECK(drafted.results[0].stats.right_guesses > 20);
    CHECK(drafted.results[1].stats.guessed_tokens == 0);  // it is not asked again
}

TEST_CASE("DraftModel: texts that run together have none, and a text alone has again",
          "[engine][quick]") {
    auto control = guessing_control(fake_logits);
    control->draft = guessing_control(fake_logits);
    const auto engine = make_loaded_fake_engine(control);
    REQUIRE(engine);
    GenerationRequest request = letters_request("abcdef", 60);
    request.prompt_lookup = false;
    GenerationRequest longer = letters_request("uvw", 150);
    longer.prompt_lookup = false;
    GenerationHandle first = engine->generate(request), second = engine->generate(longer);
    const GenerationResult a = first.wait(), b = second.wait();
    CHECK(a.tokens == expected_greedy(*request.tokens, 60));
    CHECK(b.tokens == expected_greedy(*longer.tokens, 150));
    CHECK(b.stats.right_guesses > 0);
    request.draft = false;
    CHECK(engine->generate(request).wait().stats.guessed_tokens == 0);
    CHECK(control->num_faults == 0);
}

TEST_CASE("Engine::load: a draft model must have the model's tokens", "[engine][quick]") {
    const ScratchFolder folder;
    make_tiny_llama().write(folder / "model.gguf");
    const auto engine = Engine::create().value();
    int num_drafts = 0;  // One file each: Windows does not let mapped ones be written.
    const auto load_with = [&](const GgufWriter& draft, uint32_t most = 7) {
        const auto path = folder / ("draft" + std::to_string(num_drafts++) + ".gguf");
        draft.write(path);
        return engine->load(
            {.path = folder / "model.gguf", .draft_model = path, .max_draft_tokens = most});
    };
    SECTION("the same") {
        const auto loaded = load_with(make_tiny_llama().set_string("general.name", "Small one"));
        REQUIRE(loaded.ok());
        CHECK(loaded->draft_model == "Small one");
        CHECK(loaded->draft_bytes > 0);
        CHECK(load_with(make_tiny_llama(), 0).error().code == ErrorCode::bad_argument);
        CHECK(load_with(make_tiny_llama(), 8).error().code == ErrorCode::bad_argument);
    }
    SECTION("other texts") {
        const auto loaded = load_with(make_tiny_llama_spm());
        REQUIRE_FALSE(loaded.ok());
        CHECK(loaded.error().code == ErrorCode::unsupported);
        CHECK(loaded.error().message().find("token 0") != std::string::npos);
        CHECK(loaded.error().message().find("draft model") != std::string::npos);
    }
    SECTION("another end") {
        const auto loaded = load_with(
            make_tiny_llama().set<uint32_t>("tokenizer.ggml.eos_token_id", TinyLlama::kBos));
        REQUIRE_FALSE(loaded.ok());
        CHECK(loaded.error().message().find("EOS") != std::string::npos);
        CHECK(loaded.error().message().find("259") != std::string::npos);
        CHECK(loaded.error().message().find("260") != std::string::npos);
    }
    SECTION("no file") {
        const auto loaded =
            engine->load({.path = folder / "model.gguf", .draft_model = folder / "none.gguf"});
        REQUIRE_FALSE(loaded.ok());
        CHECK(loaded.error().code == ErrorCode::io);
    }
}
