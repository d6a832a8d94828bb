// SPDX-License-Identifier: Apache-2.0
#include "backend/dequantize.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/golden.h"

using hokku::TensorType;
using nlohmann::json;

namespace {

std::vector<std::byte> bytes_of_hex(const std::string& hex) {
    std::vector<std::byte> bytes(hex.size() / 2);
    for (size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
    }
    return bytes;
}

/// Golden files write values that JSON has no numbers for as strings.
float golden_float(const json& value) {
    if (!value.is_string()) return value.get<float>();
    const std::string text = value.get<std::string>();
    if (text == "inf") return INFINITY;
    if (text == "-inf") return -INFINITY;
    return NAN;
}

bool same_bits(float a, float b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return std::memcmp(&a, &b, sizeof a) == 0;
}

void check_type(const std::string& name) {
    const auto path = hokku::testing::find_golden("quants/" + name + ".json");
    if (!path) return hokku::testing::report_skip("golden/quants/" + name + ".json is not there");
    std::ifstream file(*path);
    const json golden = json::parse(file);
    const auto type = static_cast<TensorType>(golden.at("ggml_type").get<uint32_t>());
    REQUIRE(hokku::can_dequantize(type));
    REQUIRE(golden.at("blocks").size() >= 64);
    // A block in front makes the blocks' addresses odd for some types: any alignment must do.
    for (const json& block : golden.at("blocks")) {
        std::vector<std::byte> bytes = bytes_of_hex(block.at("hex").get<std::string>());
        bytes.insert(bytes.begin(), std::byte{0});
        const json& expected = block.at("f32");
        std::vector<float> values(expected.size(), 123.0f);
        hokku::dequantize_row(type, bytes.data() + 1, values.size(), values.data());
        for (size_t i = 0; i < values.size(); ++i) {
            const float want = golden_float(expected[i]);
            if (same_bits(values[i], want)) continue;
            FAIL(name << ", block " << block.at("label") << ", value " << i << ": " << values[i]
                      << " instead of " << want);
        }
    }
}

}  // namespace

#define GOLDEN_TYPE(name)                                                           \
    TEST_CASE("dequantize_row: " name " blocks are bit-equal to the golden values", \
              "[backend][quick]") {                                                 \
        check_type(name);                                                           \
    }

GOLDEN_TYPE("Q4_0")
GOLDEN_TYPE("Q4_1")
GOLDEN_TYPE("Q5_0")
GOLDEN_TYPE("Q5_1")
GOLDEN_TYPE("Q8_0")
GOLDEN_TYPE("Q2_K")
GOLDEN_TYPE("Q3_K")
GOLDEN_TYPE("Q4_K")
GOLDEN_TYPE("Q5_K")
GOLDEN_TYPE("Q6_K")
GOLDEN_TYPE("IQ1_M")
GOLDEN_TYPE("IQ1_S")
GOLDEN_TYPE("IQ2_S")
GOLDEN_TYPE("IQ2_XS")
GOLDEN_TYPE("IQ2_XXS")
GOLDEN_TYPE("IQ3_S")
GOLDEN_TYPE("IQ3_XXS")
GOLDEN_TYPE("IQ4_NL")
GOLDEN_TYPE("IQ4_XS")
GOLDEN_TYPE("MXFP4")
GOLDEN_TYPE("NVFP4")
GOLDEN_TYPE("Q1_0")
GOLDEN_TYPE("Q2_0")
GOLDEN_TYPE("TQ1_0")
GOLDEN_TYPE("TQ2_0")

TEST_CASE("dequantize_row: F16 and BF16 cover normal, subnormal and infinite values",
          "[backend][quick]") {
    // 1, -2, smallest subnormal, largest finite, inf, -0 (IEEE 754-2008, 3.6).
    const uint16_t halves[] = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x8000};
    const float expected[] = {1.0f, -2.0f, 0x1p-24f, 65504.0f, INFINITY, -0.0f};
    float values[6];
    hokku::dequantize_row(TensorType::f16, reinterpret_cast<const std::byte*>(halves), 6, values);
    for (int i = 0; i < 6; ++i) CHECK(same_bits(values[i], expected[i]));
    const uint16_t bfloats[] = {0x3f80, 0xc000, 0x0001, 0x7f80, 0x8000, 0x7fc0};
    const float expected_b[] = {1.0f, -2.0f, 0x1p-133f, INFINITY, -0.0f, NAN};
    hokku::dequantize_row(TensorType::bf16, reinterpret_cast<const std::byte*>(bfloats), 6, values);
    for (int i = 0; i < 6; ++i) CHECK(same_bits(values[i], expected_b[i]));
}
