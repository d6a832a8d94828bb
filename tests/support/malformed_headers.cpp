// SPDX-License-Identifier: Apache-2.0
// Magic, version, counts, keys and value types (hazards A1, A2, A5, A9, A11, A12, 62).
#include <string>

#include "support/malformed_files.h"

namespace hokku::testing {

namespace {

constexpr uint64_t kMax = 0xFFFF'FFFF'FFFF'FFFF;

std::string header(uint32_t version, uint64_t num_tensors, uint64_t num_entries) {
    return "GGUF" + le(version) + le(num_tensors) + le(num_entries);
}

/// The bytes of every number of the header in the other order.
std::string big_endian(const std::string& magic, uint32_t version) {
    std::string bytes = magic;
    for (const uint64_t number : {uint64_t{version}, uint64_t{0}, uint64_t{0}}) {
        const size_t size = bytes.size() == 4 ? 4 : 8;
        for (size_t i = 0; i < size; ++i)
            bytes.push_back(static_cast<char>(number >> (8 * (size - 1 - i))));
    }
    return bytes + std::string(64, '\0');
}

void add_magics(MalformedList& list) {
    const std::string rest = header(3, 0, 0).substr(4) + std::string(64, '\0');
    list.add("A9-magic-only", "ends within", std::string("GGUF"));
    for (const size_t size : {size_t{1}, size_t{2}, size_t{3}, size_t{5}, size_t{7}, size_t{8},
                              size_t{12}, size_t{15}, size_t{16}, size_t{20}, size_t{23}})
        list.add("A9-bytes-" + std::to_string(size), "ends within",
                 header(3, 0, 0).substr(0, size));
    list.add("magic-lower-case", "does not start with GGUF", "gguf" + rest);
    list.add("magic-zeros", "does not start with GGUF", std::string(128, '\0'));
    list.add("magic-text", "does not start with GGUF", std::string(100, 'x'));
    list.add("magic-zip", "does not start with GGUF", "PK\3\4" + rest);
    list.add("magic-control", "\\x1b", "\x1B[2J" + rest);
    list.add("magic-safetensors", "does not start with GGUF",
             le(uint64_t{2}) + "{}" + std::string(64, ' '));
    list.add("magic-lfs-pointer", "Git LFS pointer",
             std::string("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"));
    list.add("magic-web-page", "web page", std::string("<!DOCTYPE html><html></html>\n"));
    for (const char* old : {"lmgg", "tjgg", "fmgg"})
        list.add(std::string("magic-old-") + old, "before GGUF", old + rest);
}

void add_versions(MalformedList& list) {
    for (const uint32_t version : {0u, 1u, 4u, 255u, 0xFFFFu, 0xFFFF'FFFFu})
        list.add("version-" + std::to_string(version),
                 "version " + std::to_string(version) + " is not supported",
                 header(version, 0, 0) + std::string(64, '\0'));
    list.add("version-1-huge-string", "version 1 is not supported",
             "GGUF" + le(1u) + le(0u) + le(1u) + le(kMax) + std::string(8, 'x'));
    for (const uint32_t version : {1u, 2u, 3u})
        list.add("62-big-endian-" + std::to_string(version), "big-endian",
                 big_endian("GGUF", version));
    list.add("62-big-endian-magic", "big-endian", big_endian("FUGG", 3));
}

void add_counts(MalformedList& list) {
    // 88 bytes, as in the published proof of concept of CVE-2024-23605.
    for (const uint64_t count : {uint64_t{0xFFFF'FFFF}, uint64_t{1} << 63, kMax, kMax / 13,
                                 uint64_t{1} << 32, uint64_t{6}}) {
        const std::string name = std::to_string(count);
        const std::string announced = "announces " + name;
        list.add("A1-entries-" + name, announced + "|ends within|empty metadata key",
                 header(3, 0, count) + std::string(64, '\0'));
        list.add("A2-tensors-" + name, announced, header(3, count, 0) + std::string(64, '\0'));
        list.add("A1-v2-entries-" + name, announced + "|ends within|empty metadata key",
                 header(2, 0, count) + std::string(64, '\0'));
    }
    GgufWriter good = make_good_file();
    good.num_entries = good.entries.size() + 1;
    list.add("A1-one-entry-more", "empty metadata key|runs past|not plain text", good);
    good = make_good_file();
    good.num_tensors = good.tensors.size() + 1;
    list.add("A2-one-tensor-more", "empty tensor name|dimensions|too long", good);
    // As many as the file has room for by the smallest encoding, and more than any model has.
    list.add("A1-entries-over-limit", "announces 70000 metadata entries",
             header(3, 0, 70'000) + std::string(14 * 70'000, '\0'));
    list.add("A2-tensors-over-limit", "announces 140000 tensors",
             header(3, 140'000, 0) + std::string(33 * 140'000, '\0'));
}

void add_keys(MalformedList& list) {
    // R6: 37 bytes, as in llama.cpp#24884.
    list.add("A11-empty-key", "empty metadata key",
             header(3, 0, 1) + gguf_string("") + le(0u) + "\1");
    const auto with_key = [](const std::string& key) {
        GgufWriter writer;
        writer.set(key, uint32_t{1});
        return writer;
    };
    list.add("key-control", "not plain text", with_key("a\x1B[31m"));
    list.add("key-newline", "not plain text", with_key("a\nb"));
    list.add("key-nul", "not plain text", with_key(std::string("a\0b", 3)));
    list.add("key-invalid-utf8", "not plain text", with_key("a\xFF"));
    list.add("key-too-long", "is too long", with_key(std::string(65'536, 'k')));

    GgufWriter twice;
    twice.set("same", uint32_t{1}).set("other", uint32_t{1});
    twice.entries.push_back({"same", 4, le(2u)});
    list.add("A12-duplicate-key", "duplicate metadata key", twice);
    twice = GgufWriter();
    for (int i = 0; i < 1000; ++i) twice.entries.push_back({"k", 0, "\1"});
    list.add("A12-duplicate-key-1000", "duplicate metadata key", twice);

    for (const uint32_t type : {13u, 14u, 255u, 256u, 1u << 31, 0xFFFF'FFFFu}) {
        const std::string name = std::to_string(type);
        GgufWriter writer;
        writer.set_raw("key", type, std::string(16, '\0'));
        list.add("A12-value-type-" + name, "unknown metadata value type " + name, writer);
        writer.set_raw("key", kArrayTypeId, le(type) + le(uint64_t{1}) + std::string(16, '\0'));
        list.add("A12-element-type-" + name, "unknown array element type " + name, writer);
    }
    for (const char* byte : {"\2", "\xFF"}) {
        GgufWriter writer;
        writer.set_raw("flag", 7, byte);
        list.add(*byte == 2 ? "bool-2" : "bool-255", "boolean has the value", writer);
    }
}

}  // namespace

std::vector<MalformedFile> malformed_headers() {
    MalformedList list(RefusedBy::reader);
    add_magics(list);
    add_versions(list);
    add_counts(list);
    add_keys(list);
    return std::move(list.files);
}

}  // namespace hokku::testing
