// SPDX-License-Identifier: Apache-2.0
// Strings, arrays, budgets and the alignment (hazards A3 to A7, A13, C1, recipes R5 and R6).
#include <fstream>
#include <string>

#include "support/malformed_files.h"

namespace hokku::testing {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMax = 0xFFFF'FFFF'FFFF'FFFF;

std::string header(uint64_t num_entries, uint32_t version = 3) {
    return "GGUF" + le(version) + le(uint64_t{0}) + le(num_entries);
}

void add_string_lengths(MalformedList& list) {
    for (const uint32_t version : {2u, 3u}) {
        for (const uint64_t length :
             {kMax, kMax >> 1, uint64_t{1} << 63, kMax - 7, uint64_t{1} << 32, uint64_t{65}}) {
            const std::string name = "v" + std::to_string(version) + "-" + std::to_string(length);
            const std::string rest(64, 'x');
            list.add("A3-key-" + name,
                     "metadata key of " + std::to_string(length) + " bytes runs past",
                     header(1, version) + le(length) + rest);
            list.add(
                "A3-value-" + name, "string of " + std::to_string(length) + " bytes runs past",
                header(1, version) + gguf_string("key") + le(kStringTypeId) + le(length) + rest);
            list.add(
                "A3-element-" + name, "string of " + std::to_string(length) + " bytes runs past",
                header(1, version) + gguf_string("key") + le(kArrayTypeId) + le(kStringTypeId) +
                    le(uint64_t{2}) + gguf_string("first") + le(length) + rest);
        }
    }
}

void add_array_counts(MalformedList& list) {
    const auto with_count = [](uint32_t type, uint64_t count) {
        return header(1) + gguf_string("key") + le(kArrayTypeId) + le(type) + le(count) +
               std::string(64, '\0');
    };
    // R5: each product with the element size wraps to a small number.
    struct Case {
        uint32_t type;
        uint64_t count;
    };
    for (const auto& [type, count] :
         {Case{10, uint64_t{1} << 61}, Case{4, uint64_t{1} << 62}, Case{8, uint64_t{1} << 63},
          Case{2, uint64_t{1} << 63}, Case{12, (uint64_t{1} << 61) + 1}, Case{0, kMax},
          Case{7, uint64_t{1} << 63}, Case{8, kMax}, Case{8, (uint64_t{1} << 61)},
          Case{0, uint64_t{65}}, Case{10, uint64_t{9}}, Case{8, uint64_t{9}}})
        list.add("A4-type-" + std::to_string(type) + "-count-" + std::to_string(count),
                 "array of " + std::to_string(count) + " elements runs past",
                 with_count(type, count));

    list.add("A13-array-of-arrays", "array of arrays", with_count(kArrayTypeId, 1));
    list.add("A13-array-of-arrays-2e63", "array of arrays",
             with_count(kArrayTypeId, uint64_t{1} << 63));
    std::string nested = header(1) + gguf_string("key") + le(kArrayTypeId);
    for (int level = 0; level < 10'000; ++level) nested += le(kArrayTypeId) + le(uint64_t{1});
    list.add("A13-nested-10000", "array of arrays", nested);
}

/// A file of `size` bytes, zeros but for the pieces.
struct SparseFile {
    std::ofstream file;
    fs::path path;
    explicit SparseFile(const fs::path& where)
        : file(where, std::ios::binary | std::ios::trunc), path(where) {}
    void put(std::string_view bytes) {
        file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
    void skip(uint64_t num_bytes) {
        file.seekp(static_cast<std::streamoff>(num_bytes), std::ios::cur);
    }
    fs::path finish() {
        const auto size = static_cast<uint64_t>(static_cast<std::streamoff>(file.tellp()));
        file.close();
        fs::resize_file(path, size);
        return path;
    }
};

void add_budgets(MalformedList& list) {
    list.add_made("A6-1000-number-arrays", "metadata section is too large",
                  [](const ScratchFolder& folder) {
                      SparseFile file(folder / "A6-1000-number-arrays.gguf");
                      file.put(header(1000));
                      for (int i = 0; i < 1000; ++i) {
                          file.put(gguf_string("array." + std::to_string(i)));
                          file.put(le(kArrayTypeId) + le(0u) + le(uint64_t{16} << 20));
                          file.skip(uint64_t{16} << 20);
                      }
                      return file.finish();
                  });
    // Zeros are empty strings.
    list.add_made("A6-1000-string-arrays", "arrays of strings are too large",
                  [](const ScratchFolder& folder) {
                      SparseFile file(folder / "A6-1000-string-arrays.gguf");
                      file.put(header(1000));
                      for (int i = 0; i < 1000; ++i) {
                          file.put(gguf_string("array." + std::to_string(i)));
                          file.put(le(kArrayTypeId) + le(kStringTypeId) + le(uint64_t{500'000}));
                          file.skip(8 * 500'000);
                      }
                      return file.finish();
                  });
    list.add_made("A6-one-huge-string-array", "arrays of strings are too large",
                  [](const ScratchFolder& folder) {
                      SparseFile file(folder / "A6-one-huge-string-array.gguf");
                      file.put(header(1) + gguf_string("array") + le(kArrayTypeId));
                      file.put(le(kStringTypeId) + le(uint64_t{100'000'000}));
                      file.skip(8 * uint64_t{100'000'000});
                      return file.finish();
                  });
    for (const uint64_t size :
         {(uint64_t{64} << 10) + 1, uint64_t{1} << 20, (uint64_t{2} << 30) + 1}) {
        const std::string id = "C1-token-of-" + std::to_string(size);
        list.add_made(id, "is too long|too large", [id, size](const ScratchFolder& folder) {
            SparseFile file(folder / (id + ".gguf"));
            file.put(header(1) + gguf_string("tokenizer.ggml.tokens") + le(kArrayTypeId));
            file.put(le(kStringTypeId) + le(uint64_t{1}) + le(size));
            file.skip(size);
            return file.finish();
        });
    }
    list.add_made("C1-string-of-2GiB", "is too long", [](const ScratchFolder& folder) {
        SparseFile file(folder / "C1-string-of-2GiB.gguf");
        file.put(header(1) + gguf_string("text") + le(kStringTypeId) + le((uint64_t{2} << 30) + 1));
        file.skip((uint64_t{2} << 30) + 1);
        return file.finish();
    });
}

void add_alignments(MalformedList& list) {
    const auto with = [](auto value) {
        GgufWriter writer = make_good_file();
        writer.set("general.alignment", value);
        return writer;
    };
    for (const uint32_t alignment :
         {0u, 3u, 13u, 33u, 48u, 1u << 21, 1u << 30, 1u << 31, 0xFFFF'FFFFu})
        list.add("A7-alignment-" + std::to_string(alignment), "the alignment is", with(alignment));
    list.add("A7-alignment-int32", "type INT32", with(int32_t{32}));
    list.add("A7-alignment-uint64", "type UINT64", with(uint64_t{32}));
    list.add("A7-alignment-uint8", "type UINT8", with(uint8_t{32}));
    list.add("A7-alignment-float", "type FLOAT32", with(32.0f));
    list.add("A7-alignment-bool", "type BOOL", with(true));
    GgufWriter writer = make_good_file();
    list.add("A7-alignment-string", "type STRING", writer.set_string("general.alignment", "32"));
    list.add("A7-alignment-array", "type ARRAY",
             writer.set_numbers("general.alignment", std::vector<uint32_t>{32}));
    // The data was laid out for another alignment.
    list.add("B10-alignment-not-of-data", "is not aligned", with(uint32_t{64}));
}

}  // namespace

std::vector<MalformedFile> malformed_metadata() {
    MalformedList list(RefusedBy::reader);
    add_string_lengths(list);
    add_array_counts(list);
    add_budgets(list);
    add_alignments(list);
    return std::move(list.files);
}

}  // namespace hokku::testing
