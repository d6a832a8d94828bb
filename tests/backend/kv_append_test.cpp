// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "backend/attention_sequence.h"
#include "backend/cpu/thread_team.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::cpu;
using namespace hokku::testing;

namespace {

/// All rows of the sequence, by two lanes.
void append_all(Sequence& s) {
    ThreadTeam team(2);
    team.run(
        [](void* context, Lane lane) {
            auto& x = *static_cast<Sequence*>(context);
            const uint32_t heads = x.shape.num_kv_heads;
            const uint32_t key_dim = x.shape.key_dim, value_dim = x.shape.value_dim;
            append_kv(lane, x.pages(), x.k.data(), size_t{heads} * key_dim, x.v.data(),
                      size_t{heads} * value_dim, x.num_rows, 0, heads, key_dim, value_dim);
        },
        &s);
}

}  // namespace

TEST_CASE("append_kv: what no number can be stored for is stored as what it is",
          "[backend][quick]") {
    const Shape shape{1, 1, 40, 40};
    const auto append = [&](KvType type, float value) {
        Sequence s(shape, type, 0, 1, 1);
        s.k[33] = s.v[33] = value;
        append_all(s);
        CHECK(std::isnan(s.stored_keys()[33]) == std::isnan(s.stored_values()[33]));
        return s.stored_keys();
    };
    const float inf = std::numeric_limits<float>::infinity();
    CHECK(append(KvType::f16, 1e6f)[33] == 65504.0f);
    CHECK(append(KvType::f16, -1e6f)[33] == -65504.0f);
    CHECK(append(KvType::f16, inf)[33] == inf);
    CHECK(append(KvType::q8_0, 1e6f)[33] == Approx(1e6f).epsilon(0.001));
    CHECK(append(KvType::q8_0, 1e9f)[33] == 127.0f * 65504.0f);
    CHECK(std::isnan(append(KvType::q8_0, inf)[33]));  // found by the check of the logits
    CHECK(std::isnan(append(KvType::q8_0, -inf)[33]));
    CHECK(append(KvType::q8_0, 0.0f)[33] == 0.0f);
    CHECK(append(KvType::q4_0, 65504.0f)[33] == 65504.0f);
    CHECK(append(KvType::q4_0, -65504.0f)[33] == -65504.0f);
    CHECK(append(KvType::q4_0, 1e9f)[33] == 8 * 65504.0f);
    CHECK(append(KvType::q4_0, -3e38f)[33] == -8 * 65504.0f);
    CHECK(std::isnan(append(KvType::q4_0, inf)[33]));
    CHECK(std::isnan(append(KvType::q4_0, -inf)[33]));
    CHECK(append(KvType::q4_0, 0.0f)[33] == 0.0f);
    for (const KvType type : kTypes) {
        CHECK(std::isnan(append(type, std::numeric_limits<float>::quiet_NaN())[33]));
        CHECK(std::isfinite(append(type, 1e-7f)[33]));
    }
}

namespace {

/// A block of q4_0 in a file: the bits of its scale, then its 16 bytes of codes.
struct NibbleBlock {
    float values[32];
    uint16_t scale;
    uint8_t codes[16];
};

// The blocks are those that gguf 0.19.0 (PyPI, gguf.quants.quantize) makes of the numbers; the
// first one can be followed by hand: scale -8 / -8 = 1, codes floor(value + 8.5).
const NibbleBlock kBlocks[] = {
    {{-8, -7.5, -7, -6.5, -6, -5.5, -5, -4.5, -4, -3.5, -3, -2.5, -2, -1.5, -1, -0.5,
      0,  0.5,  1,  1.5,  2,  2.5,  3,  3.5,  4,  4.5,  5,  5.5,  6,  6.5,  7,  7.5},
     0x3c00,
     {0x80, 0x91, 0x91, 0xa2, 0xa2, 0xb3, 0xb3, 0xc4, 0xc4, 0xd5, 0xd5, 0xe6, 0xe6, 0xf7, 0xf7,
      0xf8}},
    {{0.25f,  2.875f, 5.5f,    8.125f, 10.75f, 1.375f,  4.0f,   6.625f, 9.25f,  11.875f, 2.5f,
      5.125f, 7.75f,  10.375f, 1.0f,   3.625f, 6.25f,   8.875f, 11.5f,  2.125f, 4.75f,   7.375f,
      10.0f,  0.625f, 3.25f,   5.875f, 8.5f,   11.125f, 1.75f,  4.375f, 7.0f,   9.625f},
     0xbdf0,
     {0x48, 0x26, 0x04, 0x73, 0x51, 0x37, 0x15, 0x84, 0x62, 0x40, 0x26, 0x15, 0x73, 0x51, 0x37,
      0x26}},
    // A key of Qwen2: two large biases, and what 4 bits leave of the rest.
    {{-2.0f,  1.25f,  0.25f, -0.75f, -1.75f, 175.25f, 0.5f,   -0.5f,  -1.5f, 1.75f,  0.75f,
      -0.25f, -1.25f, 2.0f,  1.0f,   0.0f,   -1.0f,   -2.0f,  1.25f,  0.25f, -34.5f, -1.75f,
      1.5f,   0.5f,   -0.5f, -1.5f,  1.75f,  0.75f,   -0.25f, -1.25f, 2.0f,  1.0f},
     0xcd7a,
     {0x88, 0x88, 0x88, 0x88, 0xa8, 0x80, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88,
      0x88}},
    {{},
     0x8000,
     {0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88,
      0x88}},
    {{-0.9375f, -0.3125f, 0.3125f,  -1.0f,    -0.4375f, 0.1875f,  0.8125f,  -0.5625f,
      0.0625f,  0.6875f,  -0.6875f, 1.0f,     0.5625f,  -0.8125f, -0.1875f, 0.4375f,
      -0.9375f, -0.3125f, 0.3125f,  0.9375f,  -0.4375f, 0.1875f,  0.8125f,  -0.5625f,
      0.0625f,  0.6875f,  -0.6875f, -0.0625f, 0.5625f,  -0.8125f, -0.1875f, 0.4375f},
     0x3000,
     {0x11, 0x66, 0xbb, 0xf0, 0x55, 0xaa, 0xff, 0x44, 0x99, 0xee, 0x33, 0x8f, 0xdd, 0x22, 0x77,
      0xcc}},
    // Subnormal halves.
    {{-10 * 0x1p-24f, -9 * 0x1p-24f, -8 * 0x1p-24f, -7 * 0x1p-24f, -6 * 0x1p-24f, -5 * 0x1p-24f,
      -4 * 0x1p-24f,  -3 * 0x1p-24f, -2 * 0x1p-24f, -1 * 0x1p-24f, 0 * 0x1p-24f,  1 * 0x1p-24f,
      2 * 0x1p-24f,   3 * 0x1p-24f,  4 * 0x1p-24f,  5 * 0x1p-24f,  6 * 0x1p-24f,  7 * 0x1p-24f,
      8 * 0x1p-24f,   9 * 0x1p-24f,  10 * 0x1p-24f, 11 * 0x1p-24f, 12 * 0x1p-24f, 13 * 0x1p-24f,
      14 * 0x1p-24f,  15 * 0x1p-24f, 16 * 0x1p-24f, 17 * 0x1p-24f, 18 * 0x1p-24f, 19 * 0x1p-24f,
      20 * 0x1p-24f,  21 * 0x1p-24f},
     0x8003,
     {0x6c, 0x5b, 0x5b, 0x5b, 0x4a, 0x4a, 0x3a, 0x39, 0x39, 0x28, 0x28, 0x28, 0x17, 0x17, 0x06,
      0x06}},
};

}  // namespace

TEST_CASE("append_kv: a group of q4_0 is the block of a GGUF file", "[backend][quick]") {
    for (const NibbleBlock& block : kBlocks) {
        Sequence s({1, 1, 32, 32}, KvType::q4_0, 0, 6, 1);
        constexpr size_t kSlot = 5;
        std::copy_n(block.values, 32, s.k.data() + kSlot * 32);
        std::copy_n(block.values, 32, s.v.data() + kSlot * 32);
        append_all(s);
        CAPTURE(&block - kBlocks);
        const size_t page = s.blocks[0];
        const std::byte* keys = s.key_pages.data() + page * s.key_stride();
        const std::byte* values = s.value_pages.data() + page * s.value_stride();
        for (size_t j = 0; j < 16; ++j) {
            CHECK(std::to_integer<int>(keys[j * 64 + kSlot]) == block.codes[j]);
            CHECK(std::to_integer<int>(values[kSlot * 16 + j]) == block.codes[j]);
        }
        uint16_t scale = 0;
        std::memcpy(&scale, keys + 16 * 64 + kSlot * 2, sizeof scale);
        CHECK(scale == block.scale);
        std::memcpy(&scale, values + 16 * 64 + kSlot * 2, sizeof scale);
        CHECK(scale == block.scale);
    }
}

TEST_CASE("append_kv: groups that end with a head keep to themselves", "[backend][quick]") {
    // 40 dimensions: a group of 32 and one of 8, whose large numbers are not the other's.
    Sequence s({2, 2, 40, 40}, KvType::q4_0, 0, 3, 1);
    for (size_t i = 0; i < s.k.size(); ++i) s.k[i] = s.v[i] = i % 40 < 32 ? 0.5f : 4000.0f;
    append_all(s);
    CHECK(s.stored_keys() == s.k);  // 0.5 and 4000 are 8 scales of 0.0625 and 500: exact.
    CHECK(s.stored_values() == s.v);
}
