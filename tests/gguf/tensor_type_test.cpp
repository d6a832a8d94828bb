// SPDX-License-Identifier: Apache-2.0
#include "gguf/tensor_type.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/catch.h"
#include "support/golden.h"

using hokku::find_tensor_type;
using hokku::traits_of;

TEST_CASE("TensorType: ids, names and block sizes are those of the references", "[gguf][quick]") {
    const auto root = hokku::testing::find_golden("quants");
    if (!root) return hokku::testing::report_skip("golden/quants is not beside the checkout");
    size_t num_types = 0;
    for (const auto& entry : std::filesystem::directory_iterator(*root)) {
        if (entry.path().extension() != ".json") continue;
        // The header fields stand before the blocks, which need not be parsed.
        std::ifstream file(entry.path());
        std::string start(2000, '\0');
        file.read(start.data(), static_cast<std::streamsize>(start.size()));
        const auto number_of = [&](const std::string& field) {
            const size_t at = start.find("\"" + field + "\":");
            return at == std::string::npos ? -1 : std::stoi(start.substr(at + field.size() + 3));
        };
        if (number_of("block_size") < 0) continue;
        const auto traits = find_tensor_type(static_cast<uint32_t>(number_of("ggml_type")));
        INFO(entry.path());
        REQUIRE(traits.has_value());
        CHECK(traits->name == entry.path().stem().string());
        CHECK(traits->block_values == static_cast<uint32_t>(number_of("block_size")));
        CHECK(traits->block_bytes == static_cast<uint32_t>(number_of("type_size")));
        ++num_types;
    }
    CHECK(num_types == 25);
}

TEST_CASE("TensorType: removed and unknown ids are refused", "[gguf][quick]") {
    for (const uint32_t id : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 43u, 1000u, 0xFFFF'FFFFu})
        CHECK_FALSE(find_tensor_type(id).has_value());
    size_t num_known = 0;
    for (uint32_t id = 0; id < 100; ++id) {
        const auto traits = find_tensor_type(id);
        if (!traits) continue;
        ++num_known;
        CHECK(static_cast<uint32_t>(traits->type) == id);
        CHECK(traits_of(traits->type).name == traits->name);
    }
    CHECK(num_known == 35);
}
