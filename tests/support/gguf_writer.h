// SPDX-License-Identifier: Apache-2.0
// GgufWriter: builds small GGUF files in memory for tests, right ones and, because every part can
// be set by hand, wrong ones. It checks nothing.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "support/scratch_folder.h"

namespace hokku::testing {

/// The little-endian bytes of a number.
template <class T>
std::string le(T number) {
    static_assert(std::is_arithmetic_v<T>);
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &number, sizeof(T));
    return bytes;
}

/// A string as GGUF writes it: length, then bytes.
std::string gguf_string(std::string_view text);

/// The file id of the metadata type that holds a T.
template <class T>
constexpr uint32_t gguf_type_id() {
    if constexpr (std::is_same_v<T, uint8_t>) return 0;
    if constexpr (std::is_same_v<T, int8_t>) return 1;
    if constexpr (std::is_same_v<T, uint16_t>) return 2;
    if constexpr (std::is_same_v<T, int16_t>) return 3;
    if constexpr (std::is_same_v<T, uint32_t>) return 4;
    if constexpr (std::is_same_v<T, int32_t>) return 5;
    if constexpr (std::is_same_v<T, float>) return 6;
    if constexpr (std::is_same_v<T, bool>) return 7;
    if constexpr (std::is_same_v<T, uint64_t>) return 10;
    if constexpr (std::is_same_v<T, int64_t>) return 11;
    if constexpr (std::is_same_v<T, double>) return 12;
}
inline constexpr uint32_t kStringTypeId = 8, kArrayTypeId = 9;

struct GgufWriter {
    struct Entry {
        std::string key;
        uint32_t type_id = 0;
        std::string value;  ///< Encoded.
    };
    struct Tensor {
        std::string name;
        uint32_t type_id = 0;
        std::vector<uint64_t> dims;
        std::string data;
        std::optional<uint32_t> num_dims;  ///< Written instead of dims.size().
        std::optional<uint64_t> offset;    ///< Written instead of the place of the data.
    };

    std::string magic = "GGUF";
    uint32_t version = 3;
    uint64_t alignment = 32;                           ///< Of the data; no key is written for it.
    std::optional<uint64_t> num_entries, num_tensors;  ///< Written instead of the real counts.
    std::vector<Entry> entries;
    std::vector<Tensor> tensors;
    bool pad_end = true;  ///< Zeros after the last tensor up to the alignment.

    /// Each replaces an entry of the same key, or adds one.
    GgufWriter& set_raw(const std::string& key, uint32_t type_id, std::string value);
    GgufWriter& set_string(const std::string& key, std::string_view text);
    GgufWriter& set_strings(const std::string& key, const std::vector<std::string>& texts);
    template <class T>
    GgufWriter& set(const std::string& key, T number) {
        return set_raw(key, gguf_type_id<T>(), le(number));
    }
    template <class T>
    GgufWriter& set_numbers(const std::string& key, const std::vector<T>& numbers) {
        std::string value = le(gguf_type_id<T>()) + le(static_cast<uint64_t>(numbers.size()));
        for (const T number : numbers) value += le(number);
        return set_raw(key, kArrayTypeId, std::move(value));
    }
    GgufWriter& remove(const std::string& key);

    /// F32 tensor with these values; the first dimension is the contiguous one.
    GgufWriter& add_f32(const std::string& name, std::vector<uint64_t> dims,
                        const std::vector<float>& values);
    GgufWriter& add_tensor(Tensor tensor);
    GgufWriter& remove_tensor(const std::string& name);
    /// Needs  : there is a tensor of that name.
    Tensor& tensor(const std::string& name);

    /// Header, metadata and tensor table, without padding.
    [[nodiscard]] std::string header() const;
    [[nodiscard]] std::string bytes() const;
    void write(const std::filesystem::path& path) const;
};

/// Writes bytes to a file. Throws where that fails, for a test to show.
void write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace hokku::testing
