// SPDX-License-Identifier: Apache-2.0
#include "gguf/gguf_file.h"

#include <chrono>
#include <string>

#include "support/catch.h"
#include "support/golden.h"

using hokku::GgufFile;
using hokku::TensorType;
using hokku::testing::find_golden;
using hokku::testing::report_skip;

TEST_CASE("GgufFile: a real tiny model opens, mapped and read", "[gguf][quick]") {
    const auto path = find_golden("arch/llama/model.gguf");
    if (!path) return report_skip("golden/arch is not beside the checkout");
    for (const bool use_mapping : {true, false}) {
        auto opened = GgufFile::open(*path, {use_mapping});
        INFO((opened.ok() ? "" : opened.error().message()));
        REQUIRE(opened.ok());
        const GgufFile& file = opened.value();
        CHECK(file.is_mapped() == use_mapping);
        CHECK(file.metadata().require_string("general.architecture").value() == "llama");
        REQUIRE(file.find_tensor("token_embd.weight") != nullptr);
        CHECK(file.find_tensor("token_embd.weight")->data.size() > 0);
        CHECK(file.find_tensor("no such tensor") == nullptr);
        CHECK_FALSE(file.take_read_fault());
    }
}
