// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "gguf/gguf_file.h"
#include "support/catch.h"
#include "support/gguf_writer.h"

using hokku::GgufFile;
using hokku::testing::GgufWriter;
using hokku::testing::ScratchFolder;

namespace {

const std::vector<std::string> kNames = {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf",
                                         "m-00003-of-00003.gguf"};

/// Three shards; the first holds the metadata and no tensor, as llama-gguf-split can write it.
void write_set(const ScratchFolder& folder) {
    for (uint16_t i = 0; i < 3; ++i) {
        GgufWriter shard;
        if (i == 0) shard.set_string("general.architecture", "test");
        shard.set("split.no", i).set("split.count", uint16_t{3});
        shard.set("split.tensors.count", int32_t{3});
        if (i == 1) shard.add_tensor({"a", 24, {2}, "aa", {}, {}});
        if (i == 1) shard.add_tensor({"b", 24, {2}, "bb", {}, {}});
        if (i == 2) shard.add_tensor({"c", 24, {2}, "cc", {}, {}});
        shard.write(folder / kNames[i]);
    }
}

}  // namespace

TEST_CASE("GgufFile: any shard opens the whole set", "[gguf][quick]") {
    const ScratchFolder folder;
    write_set(folder);
    for (const bool use_mapping : {true, false}) {
        for (const std::string& name : kNames) {
            const auto opened = GgufFile::open(folder / name, {use_mapping});
            INFO((opened.ok() ? "" : opened.error().message()));
            REQUIRE(opened.ok());
            const GgufFile& file = opened.value();
            CHECK(file.path() == folder / name);
            REQUIRE(file.shard_paths().size() == 3);
            CHECK(file.shard_paths()[2] == folder / kNames[2]);
            CHECK(file.metadata().require_string("general.architecture").value() == "test");
            REQUIRE(file.tensors().size() == 3);
            const auto* c = file.find_tensor("c");
            REQUIRE(c != nullptr);
            CHECK(c->shard_index == 2);
            CHECK(std::to_integer<int>(c->data[1]) == 'c');
            CHECK(file.find_tensor("b")->shard_index == 1);
            uint64_t total = 0;
            for (const std::string& each : kNames)
                total += std::filesystem::file_size(folder / each);
            CHECK(file.file_bytes() == total);
        }
    }
}

#ifndef _WIN32  // Where links need a privilege.
TEST_CASE("GgufFile: links to shards open the set that lies beside the links", "[gguf][quick]") {
    // As in the cache of the Hugging Face hub: names are links to files named by their hash.
    const ScratchFolder folder, links;
    write_set(folder);
    for (const std::string& name : kNames)
        std::filesystem::create_symlink(folder / name, links / name);
    CHECK(GgufFile::open(links / kNames[1]).ok());
}
#endif

TEST_CASE("GgufFile: a set of one is an ordinary file under any name", "[gguf][quick]") {
    const ScratchFolder folder;
    GgufWriter writer;
    writer.set("split.no", uint16_t{0}).set("split.count", uint16_t{1});
    writer.set("split.tensors.count", int32_t{0});
    writer.write(folder / "whole.gguf");
    CHECK(GgufFile::open(folder / "whole.gguf").ok());
}

TEST_CASE("GgufFile: what a set holds is limited over all its files", "[gguf][quick]") {
    // Each file alone is well below the 52 MiB that arrays of strings may cost.
    const auto open_set = [](size_t num_strings_each) {
        const ScratchFolder folder;
        for (uint16_t i = 0; i < 3; ++i) {
            GgufWriter shard;
            if (i == 0) shard.set_string("general.architecture", "test");
            shard.set("split.no", i).set("split.count", uint16_t{3});
            shard.set_strings("strings", std::vector<std::string>(num_strings_each));
            shard.write(folder / kNames[i]);
        }
        const auto opened = GgufFile::open(folder / kNames[2]);
        return opened.ok() ? std::string("opened") : opened.error().message();
    };
    // An empty string costs its length and a view: 24 bytes.
    constexpr size_t kMaxStrings = (size_t{52} << 20) / 24;
    CHECK(open_set(kMaxStrings / 3) == "opened");
    const std::string message = open_set(kMaxStrings / 3 + 1);
    CHECK(message.find("the arrays of strings are too large") == 0);
    CHECK(message.find("key strings") != std::string::npos);
    CHECK(message.find(".gguf") != std::string::npos);
}

TEST_CASE("GgufFile: the tensors of a set are counted over all its files", "[gguf][quick]") {
    constexpr size_t kMaxTensors = 131'072;
    const auto open_set = [](size_t num_tensors) {
        const ScratchFolder folder;
        size_t number = 0;
        for (uint16_t i = 0; i < 3; ++i) {
            GgufWriter shard;
            if (i == 0) shard.set_string("general.architecture", "test");
            shard.set("split.no", i).set("split.count", uint16_t{3});
            const size_t end = num_tensors * (i + 1) / 3;
            for (; number < end; ++number)
                shard.add_tensor({"t" + std::to_string(number), 24, {0}, "", {}, {}});
            shard.write(folder / kNames[i]);
        }
        const auto opened = GgufFile::open(folder / kNames[0]);
        return opened.ok() ? std::string("opened") : opened.error().message();
    };
    CHECK(open_set(kMaxTensors) == "opened");
    CHECK(open_set(kMaxTensors + 1).find("the set holds 131073 tensors (m-00001") == 0);
}
