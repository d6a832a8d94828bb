// SPDX-License-Identifier: Apache-2.0
#include "gguf/gguf_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/mapped_file.h"
#include "base/path_text.h"
#include "base/try.h"
#include "base/utf8.h"
#include "gguf/gguf_limits.h"

namespace hokku {

namespace {

constexpr uint32_t kMagic = 0x46554747;         // "GGUF"
constexpr uint32_t kSwappedMagic = 0x47475546;  // "FUGG"

std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What a file that is not GGUF looks like, for the message.
std::string describe_start(std::span<const std::byte> bytes) {
    const std::string_view start = as_text(bytes.first(std::min<size_t>(bytes.size(), 4)));
    if (start == "lmgg" || start == "tjgg" || start == "fmgg")
        return "this is a GGML file from before GGUF";
    if (start == "vers") return "this is a Git LFS pointer or a text file, not the model itself";
    if (start == "<!DO" || start == "<htm" || start == "<!do")
        return "this is a web page, not a model";
    return fmt::format("the file does not start with GGUF but with \"{}\"", to_printable(start));
}

bool is_power_of_two(uint64_t number) {
    return number != 0 && (number & (number - 1)) == 0;
}

}  // namespace

bool is_plain_text(std::string_view text) {
    const bool has_control = std::any_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    });
    return !has_control && is_valid_utf8(text);
}

GgufReader::GgufReader(GgufShard& shard, std::string file_name, uint64_t& string_array_cost)
    : shard_(shard),
      file_name_(std::move(file_name)),
      bytes_(shard.mapping->bytes(), shard.mapping.get()),
      string_array_cost_(string_array_cost) {}

Result<GgufShard> GgufReader::read_shard(const std::filesystem::path& path,
                                         const GgufOpenOptions& options,
                                         uint64_t& string_array_cost) {
    HOKKU_TRY(auto mapping, MappedFile::open(path, options.use_mapping));
    return read_shard(path, std::move(mapping), string_array_cost);
}

Result<GgufShard> GgufReader::read_shard(const std::filesystem::path& path,
                                         std::unique_ptr<MappedFile> mapping,
                                         uint64_t& string_array_cost) {
    GgufShard shard;
    shard.path = path;
    shard.mapping = std::move(mapping);
    GgufReader reader(shard, file_name_text(path), string_array_cost);
    Result<void> read = reader.read_all();
    // Told first: what the parser makes of pages that read as zeros is no news.
    if (shard.mapping->has_read_fault())
        return Error{ErrorCode::io,
                     "the file cannot be read to its end: it shrank or the medium "
                     "failed",
                     path_text(path),
                     {}};
    HOKKU_CHECK(std::move(read));
    return shard;
}

Result<void> GgufReader::read_all() {
    HOKKU_CHECK(read_header());
    HOKKU_CHECK(read_entries());
    HOKKU_CHECK(index_entries());
    HOKKU_CHECK(read_alignment());
    HOKKU_CHECK(read_tensors());
    return place_tensors();
}

Result<void> GgufReader::read_header() {
    HOKKU_TRY(const uint32_t magic, read_number<uint32_t>("the magic", at_position()));
    if (magic == kSwappedMagic)
        return Error{ErrorCode::unsupported, "big-endian GGUF is not supported", file_name_,
                     "a little-endian file"};
    if (magic != kMagic)
        return bad(describe_start(shard_.mapping->bytes()), file_name_, "a GGUF file");
    HOKKU_TRY(const uint32_t version, read_number<uint32_t>("the version", at_position()));
    if ((version & 0xFFFF) == 0 && version != 0)
        return Error{ErrorCode::unsupported, "big-endian GGUF is not supported", file_name_,
                     "a little-endian file"};
    if (version != 2 && version != 3)
        return Error{ErrorCode::unsupported,
                     fmt::format("GGUF version {} is not supported", version), file_name_,
                     "version 2 or 3"};
    shard_.version = version;
    HOKKU_TRY(num_tensors_, read_number<uint64_t>("the number of tensors", at_position()));
    HOKKU_TRY(num_entries_, read_number<uint64_t>("the number of metadata entries", at_position()));
    using namespace gguf_limits;
    const uint64_t max_entries =
        std::min<uint64_t>(kMaxEntries, bytes_.remaining() / kMinEntryBytes);
    if (num_entries_ > max_entries)
        return bad(
            fmt::format(
                "the file is not whole, or damaged: its header announces {} metadata entries",
                num_entries_),
            file_name_, fmt::format("at most {} in a file of this size", max_entries));
    const uint64_t max_tensors =
        std::min<uint64_t>(kMaxTensors, bytes_.remaining() / kMinTensorBytes);
    if (num_tensors_ > max_tensors)
        return bad(fmt::format("the file is not whole, or damaged: its header announces {} tensors",
                               num_tensors_),
                   file_name_, fmt::format("at most {} in a file of this size", max_tensors));
    return {};
}

Result<void> GgufReader::read_entries() {
    shard_.metadata.file_name_ = file_name_;
    for (uint64_t i = 0; i < num_entries_; ++i) {
        HOKKU_TRY(GgufEntry entry, read_entry());
        if (bytes_.position() > gguf_limits::kMaxMetadataBytes)
            return Error{ErrorCode::limit_exceeded, "the metadata section is too large",
                         at_key(entry.key),
                         fmt::format("at most {} bytes", gguf_limits::kMaxMetadataBytes)};
        shard_.metadata.entries_.push_back(std::move(entry));
    }
    return {};
}

Result<void> GgufReader::index_entries() {
    const auto& entries = shard_.metadata.entries_;
    auto& by_key = shard_.metadata.by_key_;
    by_key.resize(entries.size());
    std::iota(by_key.begin(), by_key.end(), 0u);
    std::sort(by_key.begin(), by_key.end(),
              [&](uint32_t a, uint32_t b) { return entries[a].key < entries[b].key; });
    const auto twice = std::adjacent_find(
        by_key.begin(), by_key.end(),
        [&](uint32_t a, uint32_t b) { return entries[a].key == entries[b].key; });
    if (twice != by_key.end())
        return bad("duplicate metadata key", at_key(entries[*twice].key), "each key once");
    return {};
}

Result<GgufEntry> GgufReader::read_entry() {
    const std::string where = at_position();
    GgufEntry entry;
    HOKKU_TRY(entry.key, read_string(gguf_limits::kMaxKeyBytes, true, "metadata key", where));
    if (entry.key.empty()) return bad("empty metadata key", where, "at least one character");
    if (!is_plain_text(entry.key))
        return bad(fmt::format("metadata key \"{}\" is not plain text", to_printable(entry.key)),
                   where, "UTF-8 without control characters");
    HOKKU_TRY(const uint32_t raw_type, read_number<uint32_t>("the value type", at_key(entry.key)));
    if (raw_type > static_cast<uint32_t>(GgufValueType::f64))
        return bad(fmt::format("unknown metadata value type {}", raw_type), at_key(entry.key),
                   "a type from 0 to 12");
    entry.type = static_cast<GgufValueType>(raw_type);
    HOKKU_TRY(entry.value, read_value(entry.type, entry.key));
    return entry;
}

template <class T, class Wide>
Result<GgufValue> GgufReader::read_scalar(std::string_view key) {
    HOKKU_TRY(const T number, read_number<T>("the value", at_key(key)));
    return GgufValue(std::in_place_type<Wide>, static_cast<Wide>(number));
}

Result<GgufValue> GgufReader::read_value(GgufValueType type, std::string_view key) {
    switch (type) {
        case GgufValueType::u8:
            return read_scalar<uint8_t, uint64_t>(key);
        case GgufValueType::i8:
            return read_scalar<int8_t, int64_t>(key);
        case GgufValueType::u16:
            return read_scalar<uint16_t, uint64_t>(key);
        case GgufValueType::i16:
            return read_scalar<int16_t, int64_t>(key);
        case GgufValueType::u32:
            return read_scalar<uint32_t, uint64_t>(key);
        case GgufValueType::i32:
            return read_scalar<int32_t, int64_t>(key);
        case GgufValueType::u64:
            return read_scalar<uint64_t, uint64_t>(key);
        case GgufValueType::i64:
            return read_scalar<int64_t, int64_t>(key);
        case GgufValueType::f32:
            return read_scalar<float, double>(key);
        case GgufValueType::f64:
            return read_scalar<double, double>(key);
        case GgufValueType::boolean: {
            HOKKU_TRY(const uint8_t byte, read_number<uint8_t>("the value", at_key(key)));
            if (byte > 1)
                return bad(fmt::format("a boolean has the value {}", byte), at_key(key), "0 or 1");
            return GgufValue(std::in_place_type<bool>, byte == 1);
        }
        case GgufValueType::string: {
            HOKKU_TRY(const std::string_view text,
                      read_string(gguf_limits::kMaxStringBytes, false, "string", at_key(key)));
            return GgufValue(std::in_place_type<std::string_view>, text);
        }
        case GgufValueType::array:
            return read_array(key);
    }
    return bad("unknown metadata value type", at_key(key));
}

Result<GgufValue> GgufReader::read_array(std::string_view key) {
    HOKKU_TRY(const uint32_t raw_type, read_number<uint32_t>("the element type", at_key(key)));
    if (raw_type > static_cast<uint32_t>(GgufValueType::f64))
        return bad(fmt::format("unknown array element type {}", raw_type), at_key(key),
                   "a type from 0 to 12");
    const auto type = static_cast<GgufValueType>(raw_type);
    if (type == GgufValueType::array)
        return bad("an array of arrays is not supported", at_key(key),
                   "an array of numbers or strings");
    HOKKU_TRY(const uint64_t count, read_number<uint64_t>("the array length", at_key(key)));
    const uint64_t element_bytes =
        type == GgufValueType::string ? sizeof(uint64_t) : gguf_type_bytes(type);
    const uint64_t max_count = bytes_.remaining() / element_bytes;
    if (count > max_count)
        return bad(fmt::format("an array of {} elements runs past the end of the file", count),
                   at_key(key), fmt::format("at most {} elements", max_count));
    if (type == GgufValueType::string) return read_string_array(count, key);
    const auto bytes = bytes_.take_unread(count * element_bytes);
    if (!bytes) return cut_off("the array", at_key(key), count * element_bytes);
    return GgufValue(std::in_place_type<GgufNumberArray>,
                     GgufNumberArray{type, *bytes, static_cast<size_t>(count)});
}

Result<GgufValue> GgufReader::read_string_array(uint64_t count, std::string_view key) {
    const auto spend = [&](uint64_t cost) -> Result<void> {
        string_array_cost_ += cost;
        if (string_array_cost_ > gguf_limits::kMaxStringArrayCost)
            return Error{ErrorCode::limit_exceeded, "the arrays of strings are too large",
                         at_key(key),
                         fmt::format("at most {} bytes", gguf_limits::kMaxStringArrayCost)};
        return {};
    };
    // count is at most an eighth of the file, so this cannot wrap.
    HOKKU_CHECK(spend(count * (sizeof(uint64_t) + sizeof(std::string_view))));
    GgufStringArray strings;
    strings.reserve(static_cast<size_t>(count));
    const std::string where = at_key(key);
    for (uint64_t i = 0; i < count; ++i) {
        Result<std::string_view> text =
            read_string(gguf_limits::kMaxArrayStringBytes, true, "string", where);
        if (!text.ok()) {
            Error error = std::move(text).error();
            error.where += fmt::format(", element {}", i);
            return error;
        }
        HOKKU_CHECK(spend(text.value().size()));
        strings.push_back(text.value());
    }
    return GgufValue(std::in_place_type<GgufStringArray>, std::move(strings));
}

Result<std::string_view> GgufReader::read_string(uint64_t max_bytes, bool is_looked_at,
                                                 std::string_view what, const std::string& where) {
    const std::optional<uint64_t> length = bytes_.read<uint64_t>();
    if (!length) return cut_off(fmt::format("the length of a {}", what), where, sizeof(uint64_t));
    if (*length > bytes_.remaining())
        return bad(fmt::format("a {} of {} bytes runs past the end of the file", what, *length),
                   where, fmt::format("at most {} bytes", bytes_.remaining()));
    if (*length > max_bytes)
        return bad(fmt::format("a {} of {} bytes is too long", what, *length), where,
                   fmt::format("at most {} bytes", max_bytes));
    const auto bytes = is_looked_at ? bytes_.take(*length) : bytes_.take_unread(*length);
    if (!bytes) return cut_off(what, where, *length);
    return as_text(*bytes);
}

Result<void> GgufReader::read_alignment() {
    constexpr std::string_view kKey = "general.alignment";
    shard_.alignment = 32;
    const GgufEntry* entry = shard_.metadata.find(kKey);
    if (entry == nullptr) return {};
    if (entry->type != GgufValueType::u32)
        return bad(fmt::format("the alignment has the type {}", gguf_type_name(entry->type)),
                   at_key(kKey), "UINT32");
    shard_.alignment = std::get<uint64_t>(entry->value);
    if (!is_power_of_two(shard_.alignment) || shard_.alignment > gguf_limits::kMaxAlignment)
        return bad(fmt::format("the alignment is {}", shard_.alignment), at_key(kKey),
                   fmt::format("a power of two from 1 to {}", gguf_limits::kMaxAlignment));
    return {};
}

std::string GgufReader::at_key(std::string_view key) const {
    return fmt::format("{}, key {}", file_name_, to_printable(key));
}

std::string GgufReader::at_tensor(std::string_view name) const {
    return fmt::format("{}, tensor {}", file_name_, to_printable(name));
}

std::string GgufReader::at_position() const {
    return fmt::format("{}, byte {}", file_name_, bytes_.position());
}

Error GgufReader::bad(std::string what, std::string where, std::string expected) const {
    return Error{ErrorCode::bad_format, std::move(what), std::move(where), std::move(expected)};
}

Error GgufReader::cut_off(std::string_view what, const std::string& where, uint64_t needed) const {
    if (needed <= bytes_.remaining())
        return Error{ErrorCode::io, fmt::format("{} cannot be read", what), where, {}};
    return bad(fmt::format("the file ends within {}", what), where,
               fmt::format("{} bytes from byte {} on, {} are left", needed, bytes_.position(),
                           bytes_.remaining()));
}

std::string_view gguf_type_name(GgufValueType type) {
    constexpr std::array<std::string_view, 13> kNames = {
        "UINT8", "INT8",   "UINT16", "INT16",  "UINT32", "INT32",  "FLOAT32",
        "BOOL",  "STRING", "ARRAY",  "UINT64", "INT64",  "FLOAT64"};
    return kNames[static_cast<uint32_t>(type)];
}

uint64_t gguf_type_bytes(GgufValueType type) {
    constexpr std::array<uint64_t, 13> kBytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return kBytes[static_cast<uint32_t>(type)];
}

}  // namespace hokku
