// SPDX-License-Identifier: Apache-2.0
#include "model/rope.h"

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "gguf/gguf_file.h"
#include "support/catch.h"
#include "support/gguf_writer.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

/// The RoPE of a file that has only the keys and tensors that `change` writes.
struct Built {
    RopeSpec rope;
    std::optional<Error> error;
};
template <class Change>
Built build(const RopeRequest& request, Change&& change) {
    GgufWriter writer;
    writer.set("x.context_length", uint32_t{512});
    change(writer);
    const ScratchFolder scratch;
    writer.write(scratch / "rope.gguf");
    auto file = GgufFile::open(scratch / "rope.gguf");
    REQUIRE(file.ok());
    Hparams keys(*file, "x");
    Built built;
    built.rope = make_rope(keys, request);
    built.error = keys.error();
    return built;
}

const RopeRequest kEight{.num_dims = 8, .base = 10000.0};
const auto kNothing = [](GgufWriter&) {};

}  // namespace

TEST_CASE("Rope: without scaling the frequencies fall from 1 by powers of the base",
          "[model-layer][quick]") {
    const RopeSpec rope = build(kEight, kNothing).rope;
    REQUIRE(rope.inv_freq.size() == 4);
    // 10000^(-2i/8)
    CHECK(rope.inv_freq[0] == Approx(1.0));
    CHECK(rope.inv_freq[1] == Approx(0.1));
    CHECK(rope.inv_freq[2] == Approx(0.01));
    CHECK(rope.inv_freq[3] == Approx(0.001));
    CHECK(rope.magnitude == 1.0f);
    CHECK(rope.long_inv_freq.empty());
}

TEST_CASE("Rope: linear scaling divides every frequency, with or without a named type",
          "[model-layer][quick]") {
    for (const bool is_named : {true, false}) {
        const auto scaled = [&](GgufWriter& writer) {
            if (is_named) writer.set_string("x.rope.scaling.type", "linear");
            writer.set("x.rope.scaling.factor", 4.0f);
        };
        const RopeSpec rope = build(kEight, scaled).rope;
        CHECK(rope.inv_freq[0] == Approx(0.25));
        CHECK(rope.inv_freq[3] == Approx(0.00025));
        RopeRequest unscaled = kEight;
        unscaled.is_scaled = false;
        CHECK(build(unscaled, scaled).rope.inv_freq[0] == Approx(1.0));
    }
    const auto none = [](GgufWriter& writer) {
        writer.set_string("x.rope.scaling.type", "none");
        writer.set("x.rope.scaling.factor", 4.0f);
    };
    CHECK(build(kEight, none).rope.inv_freq[0] == Approx(1.0));
}

TEST_CASE("Rope: YaRN keeps fast dimensions, interpolates slow ones and ramps between",
          "[model-layer][quick]") {
    const auto yarn = [](GgufWriter& writer) {
        writer.set_string("x.rope.scaling.type", "yarn");
        writer.set("x.rope.scaling.factor", 4.0f);
        writer.set("x.rope.scaling.original_context_length", uint32_t{4096});
    };
    const RopeSpec rope = build({.num_dims = 128, .base = 10000.0}, yarn).rope;
    const auto plain = [](double i) { return std::pow(10000.0, -2.0 * i / 128.0); };
    // Dimension whose wavelength fits r times into 4096: 128 ln(4096 / (2 pi r)) / (2 ln 10000),
    // by hand 20.95 for r = 32 (rounded down: 20) and 45.03 for r = 1 (rounded up: 46).
    CHECK(rope.inv_freq[0] == Approx(1.0));
    CHECK(rope.inv_freq[20] == Approx(plain(20)));
    CHECK(rope.inv_freq[46] == Approx(plain(46) / 4));
    CHECK(rope.inv_freq[63] == Approx(plain(63) / 4));
    // In the middle of the ramp, 33, half of each.
    CHECK(rope.inv_freq[33] == Approx(plain(33) * (0.5 + 0.5 / 4)));
    CHECK(rope.magnitude == Approx(0.1 * std::log(4.0) + 1.0));
}

TEST_CASE("Rope: a YaRN log multiplier of 1 cancels the magnitude", "[model-layer][quick]") {
    const auto yarn = [](GgufWriter& writer) {
        writer.set_string("x.rope.scaling.type", "yarn");
        writer.set("x.rope.scaling.factor", 16.0f);
        writer.set("x.rope.scaling.yarn_log_multiplier", 1.0f);
    };
    CHECK(build(kEight, yarn).rope.magnitude == Approx(1.0));
}

TEST_CASE("Rope: factor tensors divide the frequencies, long ones are kept apart",
          "[model-layer][quick]") {
    const auto factors = [](GgufWriter& writer) {
        writer.set("x.rope.scaling.original_context_length", uint32_t{64});
        writer.set("x.rope.scaling.attn_factor", 1.5f);
        writer.add_f32("rope_factors_short.weight", {4}, {1, 2, 1, 1});
        writer.add_f32("rope_factors_long.weight", {4}, {1, 4, 8, 10});
    };
    const RopeSpec rope = build(kEight, factors).rope;
    CHECK(rope.inv_freq[1] == Approx(0.05));
    CHECK(rope.long_inv_freq[1] == Approx(0.025));
    CHECK(rope.long_inv_freq[3] == Approx(0.0001));
    CHECK(rope.long_above_context == 64);
    CHECK(rope.magnitude == 1.5f);

    const auto llama31 = [](GgufWriter& writer) {
        writer.add_f32("rope_freqs.weight", {4}, {1, 1, 2, 8});
    };
    CHECK(build(kEight, llama31).rope.inv_freq[3] == Approx(0.000125));
}

TEST_CASE("Rope: bad scaling is an error that names key or tensor", "[model-layer][quick]") {
    const auto message = [](auto&& change) {
        const Built built = build(kEight, change);
        REQUIRE(built.error);
        return built.error->message();
    };
    const auto unknown = [](GgufWriter& writer) {
        writer.set_string("x.rope.scaling.type", "magic");
    };
    CHECK(message(unknown).find("x.rope.scaling.type") != std::string::npos);
    CHECK(message(unknown).find("magic") != std::string::npos);
    const auto infinite = [](GgufWriter& writer) { writer.set("x.rope.scaling.factor", -2.0f); };
    CHECK(message(infinite).find("x.rope.scaling.factor") != std::string::npos);
    for (const std::vector<float>& values :
         {std::vector<float>{1, 1, 1}, std::vector<float>{1, 0, 1, 1},
          std::vector<float>{1, std::nanf(""), 1, 1}, std::vector<float>{1, -1, 1, 1}}) {
        const auto bad = [&](GgufWriter& writer) {
            writer.add_f32("rope_freqs.weight", {values.size()}, values);
        };
        CHECK(message(bad).find("rope_freqs.weight") != std::string::npos);
    }
}
