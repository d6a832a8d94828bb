// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gguf/gguf_file.h"
#include "support/catch.h"
#include "support/gguf_writer.h"

using Catch::Contains;
using hokku::GgufFile;
using hokku::GgufMetadata;
using hokku::testing::GgufWriter;
using hokku::testing::ScratchFolder;

namespace {

constexpr uint64_t kMaxU64 = std::numeric_limits<uint64_t>::max();
constexpr int64_t kMaxI64 = std::numeric_limits<int64_t>::max();
constexpr int64_t kMinI64 = std::numeric_limits<int64_t>::min();

GgufFile make_file(const ScratchFolder& folder, const GgufWriter& writer) {
    writer.write(folder / "keys.gguf");
    auto opened = GgufFile::open(folder / "keys.gguf");
    INFO((opened.ok() ? "" : opened.error().message()));
    REQUIRE(opened.ok());
    return std::move(opened).value();
}

template <class T>
std::string message_of(const hokku::Result<T>& result) {
    REQUIRE_FALSE(result.ok());
    CHECK_THAT(result.error().message(), Contains("keys.gguf"));
    return result.error().message();
}

}  // namespace

TEST_CASE("GgufMetadata: an integer of any type is taken when it is in range", "[gguf][quick]") {
    const ScratchFolder folder;
    GgufWriter writer;
    writer.set("u8", uint8_t{200}).set("i8", int8_t{100}).set("u16", uint16_t{60000});
    writer.set("i16", int16_t{30000}).set("u32", 4'000'000'000u).set("i32", 2'000'000'000);
    writer.set("u64", kMaxU64).set("i64", kMaxI64).set("minus", int64_t{-1});
    writer.set("f32", 1.0f).set("flag", true);
    const GgufFile file = make_file(folder, writer);
    const GgufMetadata& keys = file.metadata();
    CHECK(keys.find_uint("u8", 0, kMaxU64).value() == 200);
    CHECK(keys.find_uint("i8", 0, kMaxU64).value() == 100);
    CHECK(keys.find_uint("u16", 0, kMaxU64).value() == 60000);
    CHECK(keys.find_uint("i16", 0, kMaxU64).value() == 30000);
    CHECK(keys.find_uint("u32", 0, kMaxU64).value() == 4'000'000'000);
    CHECK(keys.find_uint("i32", 0, kMaxU64).value() == 2'000'000'000);
    CHECK(keys.find_uint("u64", 0, kMaxU64).value() == kMaxU64);
    CHECK(keys.find_uint("i64", 0, kMaxU64).value() == static_cast<uint64_t>(kMaxI64));
    CHECK_FALSE(keys.find_uint("absent", 0, 1).value().has_value());

    CHECK_THAT(message_of(keys.find_uint("minus", 0, kMaxU64)), Contains("the value is -1"));
    CHECK_THAT(message_of(keys.find_uint("u8", 0, 199)),
               Contains("the value is 200") && Contains("key u8") && Contains("from 0 to 199"));
    CHECK_THAT(message_of(keys.find_uint("u8", 201, 300)), Contains("the value is 200"));
    CHECK_THAT(message_of(keys.find_uint("f32", 0, 9)), Contains("type FLOAT32"));
    CHECK_THAT(message_of(keys.find_uint("flag", 0, 9)), Contains("type BOOL"));
    CHECK_THAT(message_of(keys.require_uint("absent", 0, 9)), Contains("key is missing"));
}

TEST_CASE("GgufMetadata: floats must be finite, texts and flags of their type", "[gguf][quick]") {
    const ScratchFolder folder;
    GgufWriter writer;
    writer.set("f32", 0.5f).set("f64", 0.1).set("nan", std::nanf("")).set("one", 1u);
    writer.set("inf", std::numeric_limits<double>::infinity()).set("yes", true);
    writer.set_string("text", "words");
    const GgufFile file = make_file(folder, writer);
    const GgufMetadata& keys = file.metadata();
    CHECK(keys.find_float("f32").value() == 0.5);
    CHECK(keys.find_float("f64").value() == 0.1);
    CHECK(keys.require_float("f64").value() == 0.1);
    CHECK_FALSE(keys.find_float("absent").value().has_value());
    CHECK_THAT(message_of(keys.find_float("nan")), Contains("finite"));
    CHECK_THAT(message_of(keys.find_float("inf")), Contains("finite"));
    CHECK_THAT(message_of(keys.find_float("one")), Contains("type UINT32"));
    CHECK_THAT(message_of(keys.require_float("absent")), Contains("key is missing"));
    CHECK(keys.find_bool("yes").value() == true);
    CHECK_THAT(message_of(keys.find_bool("one")), Contains("type UINT32"));
    CHECK_FALSE(keys.find_bool("absent").value().has_value());
    CHECK(keys.find_string("text").value() == "words");
    CHECK(keys.require_string("text").value() == "words");
    CHECK_THAT(message_of(keys.find_string("yes")), Contains("type BOOL"));
    CHECK_THAT(message_of(keys.require_string("absent")), Contains("key is missing"));
}

TEST_CASE("GgufMetadata: arrays are copied with their types and bounds checked", "[gguf][quick]") {
    const ScratchFolder folder;
    GgufWriter writer;
    writer.set_numbers("f32s", std::vector<float>{1.5f, -2.0f});
    writer.set_numbers("f64s", std::vector<double>{0.25});
    writer.set_numbers("i8s", std::vector<int8_t>{-1, 2});
    writer.set_numbers("u64s", std::vector<uint64_t>{1, kMaxU64});
    writer.set_numbers("i64s", std::vector<int64_t>{kMinI64, kMaxI64});
    writer.set_numbers("flags", std::vector<bool>{true, false});
    writer.set_numbers("none", std::vector<int32_t>{});
    writer.set_strings("texts", {"a", ""}).set("one", 1u);
    const GgufFile file = make_file(folder, writer);
    const GgufMetadata& keys = file.metadata();
    CHECK(keys.find_floats("f32s").value() == std::vector<float>{1.5f, -2.0f});
    CHECK(keys.find_floats("f64s").value() == std::vector<float>{0.25f});
    CHECK_FALSE(keys.find_floats("absent").value().has_value());
    CHECK_THAT(message_of(keys.find_floats("i8s")), Contains("ARRAY of INT8"));
    CHECK_THAT(message_of(keys.find_floats("one")), Contains("type UINT32"));
    CHECK(keys.find_ints("i8s", -1, 2).value() == std::vector<int64_t>{-1, 2});
    CHECK(keys.find_ints("i64s", kMinI64, kMaxI64).value() ==
          std::vector<int64_t>{kMinI64, kMaxI64});
    CHECK(keys.find_ints("flags", 0, 1).value() == std::vector<int64_t>{1, 0});
    CHECK(keys.find_ints("none", 0, 0).value() == std::vector<int64_t>{});
    CHECK_THAT(message_of(keys.find_ints("i8s", 0, 2)), Contains("element 0 is -1"));
    CHECK_THAT(message_of(keys.find_ints("i8s", -1, 1)), Contains("element 1 is 2"));
    CHECK_THAT(message_of(keys.find_ints("u64s", kMinI64, kMaxI64)),
               Contains("element 1 is 18446744073709551615"));
    CHECK_THAT(message_of(keys.find_ints("f32s", 0, 9)), Contains("ARRAY of FLOAT32"));
    CHECK_THAT(message_of(keys.find_ints("texts", 0, 9)), Contains("ARRAY of STRING"));
    REQUIRE(keys.find_strings("texts").ok());
    CHECK(*keys.find_strings("texts").value() == hokku::GgufStringArray{"a", ""});
    CHECK(keys.find_strings("absent").value() == nullptr);
    CHECK_THAT(message_of(keys.find_strings("i8s")), Contains("ARRAY of INT8"));
}

TEST_CASE("GgufMetadata: copies of huge arrays are refused", "[gguf][quick]") {
    const ScratchFolder folder;
    GgufWriter writer;
    constexpr uint64_t kCount = uint64_t{64} << 20;
    writer.set_raw("huge", hokku::testing::kArrayTypeId,
                   hokku::testing::le(0u) + hokku::testing::le(kCount));
    writer.write(folder / "keys.gguf");
    std::filesystem::resize_file(folder / "keys.gguf", writer.header().size() + kCount);  // sparse
    const auto opened = GgufFile::open(folder / "keys.gguf");
    REQUIRE(opened.ok());
    CHECK_THAT(message_of(opened.value().metadata().find_ints("huge", 0, 9)),
               Contains("67108864 elements"));
}
