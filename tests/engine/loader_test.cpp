// SPDX-License-Identifier: Apache-2.0
#include "hokku/devices.h"
#include "hokku/engine.h"
#include "support/catch.h"
#include "support/scratch_folder.h"
#include "support/tiny_model.h"

using hokku::Engine;

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
