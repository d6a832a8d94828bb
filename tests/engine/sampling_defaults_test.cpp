// SPDX-License-Identifier: Apache-2.0
#include "engine/sampling_defaults.h"

#include <limits>
#include <string>

#include "hokku/engine.h"
#include "support/catch.h"
#include "support/scratch_folder.h"
#include "support/tiny_model.h"

using namespace hokku;

TEST_CASE("ModelInfo: has the makers' sampling values, as far as they make sense",
          "[engine][quick]") {
    const testing::ScratchFolder folder;
    const auto plain = folder / "plain.gguf", path = folder / "tiny.gguf";
    const auto engine = Engine::create().value();
    testing::make_tiny_llama().write(plain);
    CHECK(engine->load({.path = plain}).value().sampling_defaults == SamplingDefaults());
    testing::make_tiny_llama()
        .set("general.sampling.temp", 0.6f)
        .set("general.sampling.top_k", int32_t{20})
        .set("general.sampling.top_p", 1.5f)
        .set("general.sampling.min_p", uint8_t{0})
        .set("general.sampling.penalty_repeat", std::numeric_limits<float>::quiet_NaN())
        .write(path);
    const SamplingDefaults defaults = engine->load({.path = path}).value().sampling_defaults;
    CHECK(defaults.temperature == 0.6f);
    CHECK(defaults.top_k == 20);
    CHECK_FALSE(defaults.top_p);
    CHECK(defaults.min_p == 0.0f);
    CHECK_FALSE(defaults.repeat_penalty);
}

// Expected values: the model cards of SmolLM2's Instruct models.
TEST_CASE("ModelInfo: has the values of the model card of small models whose files have none",
          "[engine][quick]") {
    const testing::ScratchFolder folder;
    const auto engine = Engine::create().value();
    int num_files = 0;  // Each time another: Windows writes over no file that is mapped.
    const auto defaults_of = [&](testing::GgufWriter& file) {
        const auto path = folder / (std::to_string(num_files++) + ".gguf");
        file.write(path);
        return engine->load({.path = path}).value().sampling_defaults;
    };
    auto chat = testing::make_tiny_llama();
    chat.set_string("general.basename", "SmolLM2")
        .set_string("tokenizer.chat_template", "{{ messages }}");
    CHECK(defaults_of(chat) == SamplingDefaults{.temperature = 0.2f, .top_p = 0.9f});
    SECTION("the file goes before the card") {
        chat.set("general.sampling.temp", 0.6f);
        CHECK(defaults_of(chat) == SamplingDefaults{.temperature = 0.6f});
    }
    SECTION("a model that is not for chats is another one") {
        auto base = testing::make_tiny_llama();
        base.set_string("general.basename", "SmolLM2").remove("tokenizer.chat_template");
        CHECK(defaults_of(base) == SamplingDefaults());
    }
    SECTION("so is one of another name") {
        chat.set_string("general.basename", "smollm3");
        CHECK(defaults_of(chat) == SamplingDefaults());
    }
}

TEST_CASE("SamplingDefaults: take the place of those values that they have", "[engine][quick]") {
    SamplingOptions sampling;
    sampling.min_p = 0.123f;
    SamplingDefaults{.temperature = 0.6f, .top_k = 20}.apply_to(sampling);
    CHECK(sampling.temperature == 0.6f);
    CHECK(sampling.top_k == 20);
    CHECK(sampling.min_p == 0.123f);
    CHECK_FALSE(sampling.repeat_penalty);
}
