// SPDX-License-Identifier: Apache-2.0
#include "gguf/gguf_file.h"

#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/child_process.h"
#include "support/gguf_writer.h"
#include "support/golden.h"
#include "support/tiny_model.h"

using hokku::ErrorCode;
using hokku::GgufFile;
using hokku::GgufTensor;
using hokku::TensorType;
using hokku::testing::GgufWriter;
using hokku::testing::ScratchFolder;

namespace {

GgufFile open_file(const std::filesystem::path& path, bool use_mapping = true) {
    auto opened = GgufFile::open(path, {use_mapping});
    INFO((opened.ok() ? "" : opened.error().message()));
    REQUIRE(opened.ok());
    return std::move(opened).value();
}

std::string data_of(const GgufFile& file, const std::string& name) {
    const GgufTensor* tensor = file.find_tensor(name);
    INFO(name);
    REQUIRE(tensor != nullptr);
    return {reinterpret_cast<const char*>(tensor->data.data()), tensor->data.size()};
}

/// A file with two tensors whose data is told apart by its letters.
GgufWriter make_letters() {
    GgufWriter writer;
    writer.set_string("general.architecture", "test");
    writer.add_tensor({"x", 24, {3}, "xyz", {}, {}});
    writer.add_tensor({"q", 8, {32, 2}, std::string(34, 'q') + std::string(34, 'r'), {}, {}});
    return writer;
}

}  // namespace

TEST_CASE("GgufFile: tensors are views of their data, mapped and read", "[gguf][quick]") {
    const ScratchFolder folder;
    make_letters().write(folder / "letters.gguf");
    for (const bool use_mapping : {true, false}) {
        const GgufFile file = open_file(folder / "letters.gguf", use_mapping);
        CHECK(file.is_mapped() == use_mapping);
        CHECK(file.version() == 3);
        CHECK(file.alignment() == 32);
        CHECK(file.file_bytes() == std::filesystem::file_size(folder / "letters.gguf"));
        CHECK(data_of(file, "x") == "xyz");
        CHECK(data_of(file, "q") == std::string(34, 'q') + std::string(34, 'r'));
        REQUIRE(file.tensors().size() == 2);
        const GgufTensor& q = file.tensors()[1];
        CHECK(q.type == TensorType::q8_0);
        CHECK(q.num_dims == 2);
        CHECK(q.ne == std::array<uint64_t, 4>{32, 2, 1, 1});
        CHECK(q.file_offset % 32 == 0);
        CHECK(file.find_tensor("y") == nullptr);
        CHECK_FALSE(file.has_read_fault());
    }
}

TEST_CASE("GgufFile: version 2 reads as version 3", "[gguf][quick]") {
    const ScratchFolder folder;
    GgufWriter writer = make_letters();
    writer.version = 2;
    writer.write(folder / "v2.gguf");
    const GgufFile file = open_file(folder / "v2.gguf");
    CHECK(file.version() == 2);
    CHECK(data_of(file, "x") == "xyz");
}

TEST_CASE("GgufFile: the data section starts at the file's own alignment", "[gguf][quick]") {
    for (const uint32_t alignment : {1u, 2u, 8u, 64u, 4096u, 1u << 20}) {
        const ScratchFolder folder;
        GgufWriter writer = make_letters();
        writer.alignment = alignment;
        writer.set("general.alignment", alignment);
        writer.pad_end = false;  // the last tensor may end with the file
        if (alignment == 1) {    // blocks of q8_0 lie at even bytes, header and "x" included
            const size_t before = writer.header().size() + 3;
            if (before % 2 != 0) writer.set_string("general.name", "x");
            if ((writer.header().size() + 3) % 2 != 0) writer.set_string("general.name", "xx");
        }
        writer.write(folder / "aligned.gguf");
        const GgufFile file = open_file(folder / "aligned.gguf");
        CHECK(file.alignment() == alignment);
        CHECK(file.tensors()[0].file_offset % alignment == 0);
        CHECK(data_of(file, "x") == "xyz");
        CHECK(data_of(file, "q") == std::string(34, 'q') + std::string(34, 'r'));
    }
}

TEST_CASE("GgufFile: tensors without values load", "[gguf][quick]") {
    const ScratchFolder folder;
    GgufWriter writer = make_letters();
    writer.add_f32("none", {0}, {});
    writer.add_f32("rows of nothing", {0, 4}, {});
    writer.add_f32("no rows", {4, 0}, {});
    writer.add_f32("all zero", {0, 0, 0, 0}, {});
    writer.add_tensor({"last", 24, {4}, "last", {}, {}});
    writer.write(folder / "empty.gguf");
    const GgufFile file = open_file(folder / "empty.gguf");
    for (const char* name : {"none", "rows of nothing", "no rows", "all zero"})
        CHECK(data_of(file, name).empty());
    CHECK(data_of(file, "last") == "last");
}

TEST_CASE("GgufFile: a file without tensors may end with its header", "[gguf][quick]") {
    const ScratchFolder folder;
    GgufWriter writer;
    writer.set_string("general.architecture", "test");
    hokku::testing::write_file(folder / "vocabulary.gguf", writer.header());
    CHECK(open_file(folder / "vocabulary.gguf").tensors().empty());
    writer.entries.clear();
    hokku::testing::write_file(folder / "nothing.gguf", writer.header());
    CHECK(open_file(folder / "nothing.gguf").metadata().entries().empty());
}

TEST_CASE("GgufFile: names of 63 bytes and of other scripts load", "[gguf][quick]") {
    const ScratchFolder folder;
    GgufWriter writer;
    const std::string longest(63, 'n');
    writer.add_f32(longest, {1}, {1});
    writer.add_f32("\xE5\x90\x8D", {1}, {1});
    writer.write(folder / "names.gguf");
    const GgufFile file = open_file(folder / "names.gguf");
    CHECK(file.find_tensor(longest) != nullptr);
    CHECK(file.find_tensor("\xE5\x90\x8D") != nullptr);
}

TEST_CASE("GgufFile: a path in another script opens", "[gguf][quick]") {
    const ScratchFolder folder;
    const auto named = folder.path() / std::filesystem::path(u8"Загрузки 俳句 🌸");
    std::filesystem::create_directory(named);
    make_letters().write(named / std::filesystem::path(u8"модель.gguf"));
    CHECK(data_of(open_file(named / std::filesystem::path(u8"модель.gguf")), "x") == "xyz");
    const auto absent = GgufFile::open(named / std::filesystem::path(u8"нет.gguf"));
    REQUIRE_FALSE(absent.ok());
    CHECK_THAT(absent.error().message(), Catch::Contains("нет.gguf"));
}

#ifndef _WIN32  // Which refuses to shorten a mapped file.
TEST_CASE("GgufFile: a file cut while it is open reads as zeros and reports it", "[gguf][quick]") {
    const ScratchFolder folder;
    GgufWriter writer = make_letters();
    writer.add_tensor({"big", 24, {100'000}, std::string(100'000, 'b'), {}, {}});
    writer.write(folder / "shrinks.gguf");
    const GgufFile file = open_file(folder / "shrinks.gguf");
    const GgufTensor* big = file.find_tensor("big");
    REQUIRE(big != nullptr);
    CHECK(std::to_integer<int>(big->data.back()) == 'b');
    std::filesystem::resize_file(folder / "shrinks.gguf", 0);
    const volatile std::byte* last = &big->data.back();
    CHECK(std::to_integer<int>(*last) == 0);
    CHECK(file.has_read_fault());
    CHECK(file.has_read_fault());  // the page is still lost
}
#endif

TEST_CASE("GgufFile: a vocabulary of 150,000 tokens opens below 100 ms, tensors untouched",
          "[gguf][quick][serial]") {
    const ScratchFolder folder;
    GgufWriter writer;
    std::vector<std::string> tokens, merges;
    for (int i = 0; i < 150'000; ++i) {
        tokens.push_back("token" + std::to_string(i));
        merges.push_back("to ken" + std::to_string(i));
    }
    writer.set_strings("tokenizer.ggml.tokens", tokens);
    writer.set_strings("tokenizer.ggml.merges", merges);
    writer.set_numbers("tokenizer.ggml.token_type", std::vector<int32_t>(150'000, 1));
    constexpr uint64_t kTensorBytes = uint64_t{256} << 20;
    writer.add_tensor({"weights", 24, {kTensorBytes}, "", {}, {}});
    const auto path = folder / "vocabulary.gguf";
    writer.write(path);
    std::filesystem::resize_file(path, writer.bytes().size() + kTensorBytes);  // sparse

    double best_ms = 1e9;
    for (int round = 0; round < 3; ++round) {
        const auto start = std::chrono::steady_clock::now();
        const GgufFile file = open_file(path);
        const std::chrono::duration<double, std::milli> spent =
            std::chrono::steady_clock::now() - start;
        best_ms = std::min(best_ms, spent.count());
        const auto strings = file.metadata().find_strings("tokenizer.ggml.tokens");
        REQUIRE(strings.ok());
        CHECK(strings.value()->size() == 150'000);
    }
    INFO("opened in " << best_ms << " ms");
    if (hokku::testing::measures_memory()) {
        CHECK(best_ms < 100);
        const auto report = hokku::testing::run_in_child([&] {
            const auto opened = GgufFile::open(path);
            return opened.ok() ? "opened" : opened.error().message();
        });
        CHECK(report.text == "opened");
        CHECK(report.extra_kb < 32 * 1024);
    }
}

TEST_CASE("GgufFile: every reference file opens", "[gguf][quick]") {
    const auto root = hokku::testing::find_golden("arch");
    if (!root) return hokku::testing::report_skip("golden/arch is not beside the checkout");
    size_t num_files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root->parent_path())) {
        if (entry.path().extension() != ".gguf") continue;
        const auto opened = GgufFile::open(entry.path());
        INFO((opened.ok() ? "" : opened.error().message()));
        CHECK(opened.ok());
        ++num_files;
    }
    CHECK(num_files >= 100);
}

TEST_CASE("GgufFile: the tiny models for tests open", "[gguf][quick]") {
    const ScratchFolder folder;
    hokku::testing::make_tiny_llama().write(folder / "bpe.gguf");
    hokku::testing::make_tiny_llama_spm().write(folder / "spm.gguf");
    CHECK(open_file(folder / "bpe.gguf").tensors().size() == 21);
    CHECK(open_file(folder / "spm.gguf").tensors().size() == 21);
}
