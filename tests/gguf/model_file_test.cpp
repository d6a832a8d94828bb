// SPDX-License-Identifier: Apache-2.0
#include "hokku/model_file.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/gguf_writer.h"

using hokku::inspect_model_file;
using hokku::InspectOptions;
using hokku::MetadataEntryInfo;
using hokku::ModelFileInfo;
using hokku::testing::GgufWriter;
using hokku::testing::ScratchFolder;

namespace {

ModelFileInfo inspect(const GgufWriter& writer, InspectOptions options = {}) {
    const ScratchFolder folder;
    writer.write(folder / "model.gguf");
    auto inspected = inspect_model_file(folder / "model.gguf", options);
    INFO((inspected.ok() ? "" : inspected.error().message()));
    REQUIRE(inspected.ok());
    return std::move(inspected).value();
}

const MetadataEntryInfo& entry(const ModelFileInfo& info, const std::string& key) {
    const MetadataEntryInfo* found = info.find(key);
    INFO(key);
    REQUIRE(found != nullptr);
    return *found;
}

}  // namespace

TEST_CASE("inspect_model_file: every metadata type is shown as JSON", "[gguf][quick]") {
    GgufWriter writer;
    writer.set("u8", uint8_t{255}).set("i8", int8_t{-128}).set("u16", uint16_t{65535});
    writer.set("i16", int16_t{-32768}).set("u32", uint32_t{4294967295}).set("i32", int32_t{-1});
    writer.set("u64", std::numeric_limits<uint64_t>::max());
    writer.set("i64", std::numeric_limits<int64_t>::min());
    writer.set("f32", 1e-6f).set("f64", 0.1).set("yes", true).set("no", false);
    writer.set("nan", std::numeric_limits<float>::quiet_NaN());
    writer.set("inf", -std::numeric_limits<double>::infinity());
    writer.set_string("text", "a \"b\"\n\xFF");
    const ModelFileInfo info = inspect(writer);
    CHECK(info.metadata.size() == 15);
    CHECK(info.metadata[0].key == "u8");
    CHECK(entry(info, "u8").value_json == "255");
    CHECK(entry(info, "u8").type == "UINT8");
    CHECK(entry(info, "i8").value_json == "-128");
    CHECK(entry(info, "u16").value_json == "65535");
    CHECK(entry(info, "i16").value_json == "-32768");
    CHECK(entry(info, "u32").value_json == "4294967295");
    CHECK(entry(info, "i32").value_json == "-1");
    CHECK(entry(info, "u64").value_json == "18446744073709551615");
    CHECK(entry(info, "i64").value_json == "-9223372036854775808");
    CHECK(entry(info, "f32").value_json == "1e-06");
    CHECK(entry(info, "f64").value_json == "0.1");
    CHECK(entry(info, "yes").value_json == "true");
    CHECK(entry(info, "no").value_json == "false");
    CHECK(entry(info, "nan").value_json == "\"nan\"");
    CHECK(entry(info, "inf").value_json == "\"-inf\"");
    CHECK(entry(info, "text").value_json == "\"a \\\"b\\\"\\n\xEF\xBF\xBD\"");
    CHECK(entry(info, "text").type == "STRING");
    CHECK(info.find("absent") == nullptr);
}

TEST_CASE("inspect_model_file: long arrays and strings are shortened and say so", "[gguf][quick]") {
    GgufWriter writer;
    writer.set_numbers("numbers", std::vector<int32_t>{1, -2, 3, 4});
    writer.set_numbers("flags", std::vector<bool>{true, false});
    writer.set_strings("tokens", {"<s>", "\xE2\x96\x81the", "x"});
    writer.set_strings("none", {});
    writer.set_string("long", "abc\xC3\xA4xyz");
    const ModelFileInfo info = inspect(writer, {.max_array_elements = 2, .max_string_bytes = 4});
    CHECK(entry(info, "numbers").value_json == "[1, -2]");
    CHECK(entry(info, "numbers").type == "ARRAY[INT32]");
    CHECK(entry(info, "numbers").num_elements == 4);
    CHECK(entry(info, "numbers").is_shortened);
    CHECK(entry(info, "flags").value_json == "[true, false]");
    CHECK_FALSE(entry(info, "flags").is_shortened);
    CHECK(entry(info, "tokens").value_json == "[\"<s>\", \"\xE2\x96\x81t\"]");
    CHECK(entry(info, "tokens").is_shortened);
    CHECK(entry(info, "none").value_json == "[]");
    CHECK(entry(info, "none").num_elements == 0);
    // The limit falls within the two bytes of the fourth character.
    CHECK(entry(info, "long").value_json == "\"abc\"");
    CHECK(entry(info, "long").is_shortened);
}

TEST_CASE("inspect_model_file: tensors are listed with sizes and totals", "[gguf][quick]") {
    GgufWriter writer;
    writer.add_f32("norm", {3}, {1, 2, 3});
    writer.add_tensor({"weight", 2, {64, 2, 5}, std::string(64 / 32 * 18 * 10, '\0'), {}, {}});
    writer.add_f32("empty", {4, 0}, {});
    const ModelFileInfo info = inspect(writer);
    REQUIRE(info.tensors.size() == 3);
    CHECK(info.tensors[0].type == "F32");
    CHECK(info.tensors[0].num_bytes == 12);
    CHECK(info.tensors[1].type == "Q4_0");
    CHECK(info.tensors[1].dims == std::vector<uint64_t>{64, 2, 5});
    CHECK(info.tensors[1].num_values == 640);
    CHECK(info.tensors[1].num_bytes == 360);
    CHECK(info.tensors[1].file_offset == info.tensors[0].file_offset + 32);
    CHECK(info.tensors[2].num_values == 0);
    REQUIRE(info.type_totals.size() == 2);
    CHECK(info.type_totals[0].type == "Q4_0");
    CHECK(info.type_totals[1].num_tensors == 2);
    CHECK(info.num_parameters == 643);
    CHECK(info.tensor_bytes == 372);
    CHECK(info.alignment == 32);
    CHECK(info.version == 3);
    CHECK(info.file_bytes == writer.bytes().size());
}
