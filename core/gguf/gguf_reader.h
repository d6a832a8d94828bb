// SPDX-License-Identifier: Apache-2.0
// GgufReader: parses and validates the header, metadata and tensor table of one GGUF file. Every
// rule of the format is checked here, once, for all consumers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "gguf/gguf_file.h"
#include "hokku/result.h"

namespace hokku {

/// What one file (a whole model or one shard) holds. Views into `mapping`.
struct GgufShard {
    std::filesystem::path path;
    std::unique_ptr<MappedFile> mapping;
    GgufMetadata metadata;
    std::vector<GgufTensor> tensors;
    uint32_t version = 0;
    uint64_t alignment = 0;
};

/// Threads: one thread at a time.
class GgufReader {
  public:
    /// Opens, parses and validates one file; touches no tensor data. Adds the cost of its arrays
    /// of strings to `string_array_cost`, which is limited over all shards.
    static Result<GgufShard> read_shard(const std::filesystem::path& path,
                                        const GgufOpenOptions& options,
                                        uint64_t& string_array_cost);
    /// The same of a file that is open already.
    static Result<GgufShard> read_shard(const std::filesystem::path& path,
                                        std::unique_ptr<MappedFile> mapping,
                                        uint64_t& string_array_cost);
    /// Joins shards, in order of their number, into one file.
    static Result<GgufFile> join(const std::filesystem::path& path, std::vector<GgufShard> shards,
                                 const GgufOpenOptions& options);

  private:
    GgufReader(GgufShard& shard, std::string file_name, uint64_t& string_array_cost);

    Result<void> read_all();
    Result<void> read_header();
    Result<void> read_entries();
    Result<void> index_entries();
    Result<GgufEntry> read_entry();
    Result<GgufValue> read_value(GgufValueType type, std::string_view key);
    Result<GgufValue> read_array(std::string_view key);
    Result<GgufValue> read_string_array(uint64_t count, std::string_view key);
    Result<void> read_alignment();
    Result<void> read_tensors();
    Result<GgufTensor> read_tensor(uint64_t index);
    Result<void> read_dimensions(GgufTensor& tensor);
    Result<void> place_tensors();

    Result<std::string_view> read_string(uint64_t max_bytes, bool is_looked_at,
                                         std::string_view what, const std::string& where);
    template <class T>
    Result<T> read_number(std::string_view what, const std::string& where);
    template <class T, class Wide>
    Result<GgufValue> read_scalar(std::string_view key);

    [[nodiscard]] std::string at_key(std::string_view key) const;
    [[nodiscard]] std::string at_tensor(std::string_view name) const;
    [[nodiscard]] std::string at_position() const;
    [[nodiscard]] Error bad(std::string what, std::string where, std::string expected = {}) const;
    [[nodiscard]] Error cut_off(std::string_view what, const std::string& where,
                                uint64_t needed) const;

    GgufShard& shard_;
    std::string file_name_;
    ByteReader bytes_;
    uint64_t num_entries_ = 0, num_tensors_ = 0;
    uint64_t& string_array_cost_;
    std::vector<uint64_t> offsets_;  ///< Of the tensors, relative to the data section.
};

template <class T>
Result<T> GgufReader::read_number(std::string_view what, const std::string& where) {
    const std::optional<T> number = bytes_.read<T>();
    if (!number) return cut_off(what, where, sizeof(T));
    return *number;
}

/// Fit for messages, JSON and listings, where keys and names go: UTF-8 without control characters.
bool is_plain_text(std::string_view text);
/// A type's name as the specification writes it: "UINT32".
std::string_view gguf_type_name(GgufValueType type);
/// Bytes of one number of this type; 0 for strings and arrays.
uint64_t gguf_type_bytes(GgufValueType type);

}  // namespace hokku
