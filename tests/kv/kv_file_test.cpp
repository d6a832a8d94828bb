// SPDX-License-Identifier: Apache-2.0
#include "kv/kv_file.h"

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "base/hash64.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

using namespace hokku;
using hokku::testing::ScratchFolder;
namespace fs = std::filesystem;

namespace {

KvFileModel some_model() {
    KvFileModel model;
    model.hash = 0x0123456789abcdefu;
    model.file_bytes = 4711;
    model.kv_type = KvType::f16;
    model.layers = {{2, 8, 8}, {0, 0, 0}, {1, 16, 8}};
    model.block_tokens = 64;
    model.block_bytes = 96;
    model.kernels = "avx2";
    return model;
}

std::vector<std::byte> some_block(uint32_t index) {
    std::vector<std::byte> bytes(96);
    for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>((index * 31 + i * 7) & 0xffu);
    return bytes;
}

std::vector<int32_t> some_tokens(size_t count) {
    std::vector<int32_t> tokens(count);
    for (size_t i = 0; i < count; ++i) tokens[i] = static_cast<int32_t>(i * 977 % 50000);
    return tokens;
}

std::vector<std::byte> write_some(const fs::path& path, size_t num_tokens,
                                  const std::string& note) {
    auto writer = KvFileWriter::create(path, some_model(), some_tokens(num_tokens), note);
    REQUIRE(writer.ok());
    for (uint32_t i = 0; i < (num_tokens + 63) / 64; ++i)
        REQUIRE(writer->add_block(some_block(i)).ok());
    const auto size = writer->finish();
    REQUIRE(size.ok());
    std::ifstream file(path, std::ios::binary);
    std::vector<char> read{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    CHECK(read.size() == *size);
    const auto* bytes = reinterpret_cast<const std::byte*>(read.data());
    return {bytes, bytes + read.size()};
}

/// The file with one number changed and the header's checksum made right again, as a hostile
/// writer would do it.
template <class T>
std::vector<std::byte> forged(std::vector<std::byte> bytes, size_t offset, T value) {
    uint64_t note_bytes = 0;
    uint32_t num_layers = 0, num_tokens = 0;
    std::memcpy(&num_layers, bytes.data() + 32, 4);
    std::memcpy(&num_tokens, bytes.data() + 40, 4);
    std::memcpy(&note_bytes, bytes.data() + 56, 8);
    const size_t tables_bytes =
        num_layers * 12u + num_tokens * 4u + (num_tokens + 63u) / 64 * 8 + note_bytes;
    std::memcpy(bytes.data() + offset, &value, sizeof value);
    const std::span<const std::byte> all(bytes);
    const uint64_t hash = hash64(all.subspan(80, tables_bytes), hash64(all.first(72)));
    std::memcpy(bytes.data() + 72, &hash, 8);
    return bytes;
}

std::string error_of(std::span<const std::byte> bytes, ErrorCode code = ErrorCode::bad_format) {
    const auto view = KvFileView::parse(bytes, "a.kv");
    REQUIRE_FALSE(view.ok());
    CHECK(view.error().code == code);
    CHECK(view.error().where == "a.kv");
    return view.error().message();
}

bool contains(const std::string& text, const std::string& part) {
    INFO(text);
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("KvFile: what is written comes back", "[kv][quick]") {
    const ScratchFolder folder;
    for (const size_t num_tokens : {1u, 63u, 64u, 65u, 1000u}) {
        for (const std::string& note : {std::string(), std::string("{\"a\": 1}\0x", 10)}) {
            const auto bytes = write_some(folder / "a.kv", num_tokens, note);
            const auto view = KvFileView::parse(bytes, "a.kv");
            REQUIRE(view.ok());
            CHECK(view->check_model(some_model()).ok());
            CHECK(view->tokens() == some_tokens(num_tokens));
            CHECK(view->token(static_cast<uint32_t>(num_tokens) - 1) ==
                  some_tokens(num_tokens).back());
            CHECK(view->note() == note);
            REQUIRE(view->num_blocks() == (num_tokens + 63) / 64);
            for (uint32_t i = 0; i < view->num_blocks(); ++i) {
                CHECK(view->check_block(i).ok());
                const auto block = view->block(i);
                CHECK(std::vector<std::byte>(block.begin(), block.end()) == some_block(i));
            }
        }
    }
}

TEST_CASE("KvFile: a file cut anywhere is refused", "[kv][quick]") {
    const ScratchFolder folder;
    const auto bytes = write_some(folder / "a.kv", 100, "note");
    for (size_t size = 0; size < bytes.size(); ++size)
        CHECK_FALSE(KvFileView::parse(std::span(bytes).first(size), "a.kv").ok());
    auto longer = bytes;
    longer.push_back(std::byte{0});
    CHECK(contains(error_of(longer), "for 2 blocks of 96 bytes"));
}

TEST_CASE("KvFile: a changed bit is found, wherever it is", "[kv][quick]") {
    const ScratchFolder folder;
    const auto bytes = write_some(folder / "a.kv", 100, "note");
    const auto whole = KvFileView::parse(bytes, "a.kv");
    REQUIRE(whole.ok());
    const size_t tables_end = 80 + 3 * 12 + 100 * 4 + 2 * 8 + 4;
    for (size_t at = 0; at < bytes.size(); ++at) {
        if (at >= tables_end && at < 4096) continue;  // padding, of no meaning
        auto damaged = bytes;
        damaged[at] ^= std::byte{0x10};
        const auto view = KvFileView::parse(damaged, "a.kv");
        if (at < 4096) {
            CHECK_FALSE(view.ok());
            continue;
        }
        REQUIRE(view.ok());
        const uint32_t block = at < 4096 + 96 ? 0 : 1;
        const auto checked = view->check_block(block);
        REQUIRE_FALSE(checked.ok());
        CHECK(contains(checked.error().message(),
                       "block " + std::to_string(block + 1) + " of 2 is damaged"));
        CHECK(view->check_block(1 - block).ok());
    }
}

TEST_CASE("KvFile: hostile numbers with a right checksum are refused by name", "[kv][quick]") {
    const ScratchFolder folder;
    const auto good = write_some(folder / "a.kv", 100, "note");
    CHECK(contains(error_of(forged(good, 0, 'X')), "not a saved context"));
    CHECK(contains(error_of(forged<uint32_t>(good, 8, 1), ErrorCode::unsupported), "version 1"));
    CHECK(contains(error_of(forged<uint32_t>(good, 8, 3), ErrorCode::unsupported), "version 3"));
    CHECK(contains(error_of(forged<uint32_t>(good, 8, 0), ErrorCode::unsupported), "version 0"));
    CHECK(contains(error_of(forged<uint32_t>(good, 12, 4)), "KV type is 4"));
    for (const uint32_t count : {0u, 65537u, 0xffffffffu})
        CHECK(contains(error_of(forged(good, 32, count)), std::to_string(count) + " layers"));
    CHECK(contains(error_of(forged<uint32_t>(good, 36, 0)), "a block has 0 tokens"));
    for (const uint32_t count : {0u, 0x80000000u, 0xffffffffu})
        CHECK(contains(error_of(forged(good, 40, count)), std::to_string(count) + " tokens"));
    CHECK(contains(error_of(forged<uint64_t>(good, 48, 0)), "0 bytes"));
    for (const uint64_t size : {uint64_t{1}, uint64_t{97}, uint64_t{1} << 63, ~uint64_t{0}})
        CHECK(contains(error_of(forged(good, 48, size)), std::to_string(size) + " bytes"));
    for (const uint64_t size : {(uint64_t{64} << 20) + 1, uint64_t{1} << 63, ~uint64_t{0}})
        CHECK(contains(error_of(forged(good, 56, size)), "the note has " + std::to_string(size)));
    for (const uint64_t offset : {uint64_t{0}, uint64_t{4095}, uint64_t{8192}, ~uint64_t{0}})
        CHECK(contains(error_of(forged(good, 64, offset)), "begins at " + std::to_string(offset)));
    // Counts that are possible but do not fit the file.
    CHECK_FALSE(KvFileView::parse(forged<uint32_t>(good, 40, 0x7fffffff), "a.kv").ok());
    CHECK_FALSE(KvFileView::parse(forged<uint32_t>(good, 36, 1), "a.kv").ok());
    CHECK_FALSE(KvFileView::parse(forged<uint32_t>(good, 32, 65536), "a.kv").ok());
    CHECK_FALSE(KvFileView::parse(forged<uint64_t>(good, 56, uint64_t{64} << 20), "a.kv").ok());
}

TEST_CASE("KvFile: random damage is refused or leaves a view within the bytes", "[kv][quick]") {
    const ScratchFolder folder;
    const auto good = write_some(folder / "a.kv", 100, "note");
    uint32_t state = 12345;
    const auto random = [&] { return state = state * 1664525u + 1013904223u; };
    for (int round = 0; round < 20000; ++round) {
        const size_t at = 8 + (random() >> 8) % 72;
        const auto bytes = forged(good, at, static_cast<uint8_t>(random() >> 24));
        const auto view = KvFileView::parse(bytes, "a.kv");
        if (!view.ok()) continue;
        const auto tokens = view->tokens();
        REQUIRE(tokens.size() == view->num_tokens());
        for (uint32_t i = 0; i < view->num_blocks(); ++i)
            REQUIRE(view->block(i).data() + view->block(i).size() <= bytes.data() + bytes.size());
    }
}

TEST_CASE("KvFile: of another model, type or shape it is refused by what differs", "[kv][quick]") {
    const ScratchFolder folder;
    const auto bytes = write_some(folder / "a.kv", 10, "");
    const auto view = KvFileView::parse(bytes, "a.kv");
    REQUIRE(view.ok());
    const auto refusal = [&](const std::function<void(KvFileModel&)>& change) {
        KvFileModel model = some_model();
        change(model);
        const auto checked = view->check_model(model);
        REQUIRE_FALSE(checked.ok());
        CHECK(checked.error().code == ErrorCode::bad_argument);
        return checked.error().message();
    };
    CHECK(contains(refusal([](KvFileModel& m) { ++m.hash; }), "another model"));
    CHECK(contains(refusal([](KvFileModel& m) { ++m.file_bytes; }), "another model"));
    CHECK(contains(refusal([](KvFileModel& m) { m.kv_type = KvType::q8_0; }),
                   "a context of type f16"));
    CHECK(contains(refusal([](KvFileModel& m) { m.uses_long_rope = true; }), "LongRoPE"));
    CHECK(contains(refusal([](KvFileModel& m) { m.is_exact = true; }), "computed otherwise"));
    CHECK(contains(refusal([](KvFileModel& m) { m.kernels = "avx512"; }), "avx2 kernels"));
    CHECK(contains(refusal([](KvFileModel& m) { m.kernels = "gpu"; }), "other kernels"));
    CHECK(contains(refusal([](KvFileModel& m) { m.num_ranks = 2; }), "2 ranks"));
    CHECK(contains(refusal([](KvFileModel& m) { m.layers.pop_back(); }), "shapes"));
    CHECK(contains(refusal([](KvFileModel& m) { m.layers[2].key_dim = 8; }), "shapes"));
    CHECK(contains(refusal([](KvFileModel& m) { m.block_bytes = 192; }), "shapes"));
    CHECK(contains(refusal([](KvFileModel& m) { m.block_tokens = 32; }), "shapes"));
}

TEST_CASE("KvFileWriter: a file that is not finished is none", "[kv][quick]") {
    const ScratchFolder folder;
    {
        auto writer = KvFileWriter::create(folder / "a.kv", some_model(), some_tokens(100), "");
        REQUIRE(writer.ok());
        REQUIRE(writer->add_block(some_block(0)).ok());
        CHECK_FALSE(fs::exists(folder / "a.kv"));
    }
    CHECK(fs::is_empty(folder.path()));
    CHECK_FALSE(KvFileWriter::create(folder / "a.kv", some_model(), {}, "").ok());
    CHECK_FALSE(
        KvFileWriter::create(folder.path() / "no" / "a.kv", some_model(), some_tokens(1), "").ok());
}

TEST_CASE("KvFileWriter: only saved chats are replaced", "[kv][quick]") {
    const ScratchFolder folder;
    const fs::path path = folder / "a.kv", part = folder / "a.kv.part";
    const auto write_text = [](const fs::path& file, const std::string& text) {
        std::ofstream(file, std::ios::binary) << text;
    };
    const auto text_of = [](const fs::path& file) {
        std::ifstream stream(file, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(stream), {});
    };
    const auto create = [&] {
        return KvFileWriter::create(path, some_model(), some_tokens(1), "");
    };
    const auto refusal = [&] {
        const auto writer = create();
        REQUIRE_FALSE(writer.ok());
        CHECK(writer.error().code == ErrorCode::bad_argument);
        CHECK(check_kv_target(path).error().message() == writer.error().message());
        return writer.error().message();
    };
    for (const std::string text : {"", "precious", "HOKKUK", "GGUF"}) {
        write_text(path, text);
        CHECK(contains(refusal(), "a.kv"));
        CHECK(text_of(path) == text);
    }
    fs::remove(path);
    for (const std::string text : {"precious", "GGUF"}) {
        write_text(part, text);
        CHECK(contains(refusal(), "a.kv.part"));
        CHECK(text_of(part) == text);
    }
    fs::remove(part);
    fs::create_directory(path);
    CHECK(contains(refusal(), "folder"));
    fs::remove(path);
    // A file that comes while another is written.
    {
        auto writer = create();
        REQUIRE(writer.ok());
        REQUIRE(writer->add_block(some_block(0)).ok());
        CHECK(text_of(part).starts_with("HOKKUKV"));
        write_text(path, "precious");
        CHECK_FALSE(writer->finish().ok());
    }
    CHECK(text_of(path) == "precious");
    CHECK_FALSE(fs::exists(part));
    fs::remove(path);
    // What a writer left that was ended, and an earlier file.
    write_text(part, "");
    write_some(path, 10, "");
    write_text(part, "HOKKUKV~ and more");
    write_some(path, 20, "");
    CHECK_FALSE(fs::exists(part));
    fs::rename(path, folder / "target.kv");
    std::error_code cannot_link;  // not everyone may, on some systems
    fs::create_symlink(folder / "target.kv", path, cannot_link);
    if (cannot_link) return;
    CHECK(contains(refusal(), "link"));
    CHECK(fs::is_symlink(path));
}
