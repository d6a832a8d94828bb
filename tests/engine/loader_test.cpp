// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "engine/engine_access.h"
#include "engine/model_loader.h"
#include "hokku/devices.h"
#include "hokku/engine.h"
#include "support/catch.h"
#include "support/scratch_folder.h"
#include "support/synthetic_model.h"
#include "support/tiny_model.h"

using hokku::Engine;
using hokku::KvType;

TEST_CASE("Engine::load: no more threads are used than there are CPUs, with a warning",
          "[engine][quick]") {
    const hokku::testing::ScratchFolder folder;
    const auto path = folder / "tiny.gguf";
    hokku::testing::make_tiny_llama().write(path);
    const uint32_t num_cpus = hokku::list_devices().front().num_logical_cpus;
    const auto engine = Engine::create().value();
    const auto plain = engine->load({.path = path, .num_threads = 1});
    REQUIRE(plain.ok());
    CHECK(plain->num_threads == 1);
    const auto capped = engine->load({.path = path, .num_threads = 999 + num_cpus});
    REQUIRE(capped.ok());
    CHECK(capped->num_threads >= 1);
    CHECK(capped->num_threads <= num_cpus);
    REQUIRE(capped->warnings.size() == plain->warnings.size() + 1);
    CHECK(capped->warnings.back().find(std::to_string(999 + num_cpus) + " threads") !=
          std::string::npos);
}

TEST_CASE("Engine::load: what coarse scales cost a model with large key biases is told",
          "[engine][quick]") {
    const hokku::testing::ScratchFolder folder;
    hokku::testing::write_synthetic_model(
        folder / "biased.gguf", {.architecture = "qwen2", .num_vocab = 256, .key_bias = 100});
    hokku::testing::write_synthetic_model(folder / "plain.gguf", {.num_vocab = 256});
    const auto told = [&](const char* file, KvType type) {
        const auto info = Engine::create().value()->load(
            {.path = folder / file, .context_tokens = 128, .kv_type = type});
        REQUIRE(info.ok());
        for (const std::string& warning : info->warnings)
            if (warning.find("key biases reach") != std::string::npos)
                return warning.substr(warning.find(": "));
        return std::string();
    };
    CHECK(told("biased.gguf", KvType::f32).empty());
    CHECK(told("biased.gguf", KvType::f16).empty());
    CHECK(told("biased.gguf", KvType::q8_0) == ": a q8_0 context costs it accuracy, f16 does not");
    CHECK(told("biased.gguf", KvType::q4_0) ==
          ": a q4_0 context costs it much of its accuracy, f16 does not");
    CHECK(told("plain.gguf", KvType::q4_0).empty());
}

TEST_CASE("Engine::load: a plug-in that is there and broken is told, one that is missing is not",
          "[engine][quick]") {
    const hokku::testing::ScratchFolder folder;
    const auto path = folder / "tiny.gguf";
    hokku::testing::make_tiny_llama().write(path);
    const auto load = [&](hokku::ErrorCode code, std::string device) {
        const auto engine = hokku::EngineAccess::create(hokku::make_model_loader([code] {
                                return hokku::Error{code, "the plug-in is bad", "some file", ""};
                            })).value();
        return engine->load({.path = path, .device = std::move(device)});
    };
    using hokku::ErrorCode;
    for (const ErrorCode code : {ErrorCode::io, ErrorCode::bad_format, ErrorCode::unsupported}) {
        const auto info = load(code, "auto");
        REQUIRE(info.ok());
        CHECK(info->device_note == "the plug-in is bad (some file)");
        const bool is_told =
            !info->warnings.empty() &&
            info->warnings.back() == "GPUs are not used: the plug-in is bad (some file)";
        CHECK(is_told == (code != ErrorCode::unsupported));
        CHECK(load(code, "cuda").error().message() ==
              "the plug-in is bad (some file): expected the device auto or cpu");
    }
}
