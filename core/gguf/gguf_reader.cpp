// SPDX-License-Identifier: Apache-2.0
#include "gguf/gguf_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/checked_math.h"
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

/// Keys and names go into messages, JSON and file listings.
bool is_plain_text(std::string_view text) {
    const bool has_control = std::any_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    });
    return !has_control && is_valid_utf8(text);
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

/// Address alignment that reading blocks of this type in place needs.
uint64_t natural_alignment(TensorType type) {
    switch (type) {
        case TensorType::f64:
        case TensorType::i64:
            return 8;
        case TensorType::f32:
        case TensorType::i32:
        case TensorType::q8_k:
            return 4;
        case TensorType::i8:
        case TensorType::mxfp4:
        case TensorType::nvfp4:
            return 1;
        default:
            return 2;
    }
}

}  // namespace

GgufReader::GgufReader(GgufShard& shard, std::string file_name)
    : shard_(shard),
      file_name_(std::move(file_name)),
      bytes_(shard.mapping->bytes(), shard.mapping.get()) {}

Result<GgufShard> GgufReader::read_shard(const std::filesystem::path& path,
                                         const GgufOpenOptions& options) {
    GgufShard shard;
    shard.path = path;
    HOKKU_TRY(shard.mapping, MappedFile::open(path, options.use_mapping));
    GgufReader reader(shard, file_name_text(path));
    Result<void> read = reader.read_all();
    // Told first: what the parser makes of pages that read as zeros is no news.
    if (shard.mapping->take_read_fault())
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
        return bad(fmt::format("the header announces {} metadata entries", num_entries_),
                   file_name_, fmt::format("at most {} in a file of this size", max_entries));
    const uint64_t max_tensors =
        std::min<uint64_t>(kMaxTensors, bytes_.remaining() / kMinTensorBytes);
    if (num_tensors_ > max_tensors)
        return bad(fmt::format("the header announces {} tensors", num_tensors_), file_name_,
                   fmt::format("at most {} in a file of this size", max_tensors));
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

template <class T>
Result<T> GgufReader::read_number(std::string_view what, const std::string& where) {
    const std::optional<T> number = bytes_.read<T>();
    if (!number) return cut_off(what, where, sizeof(T));
    return *number;
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

Result<void> GgufReader::read_tensors() {
    for (uint64_t i = 0; i < num_tensors_; ++i) {
        HOKKU_TRY(GgufTensor tensor, read_tensor(i));
        shard_.tensors.push_back(tensor);
    }
    return {};
}

Result<GgufTensor> GgufReader::read_tensor(uint64_t index) {
    GgufTensor tensor;
    const std::string at_index = fmt::format("{}, tensor number {}", file_name_, index);
    HOKKU_TRY(tensor.name,
              read_string(gguf_limits::kMaxTensorNameBytes, true, "tensor name", at_index));
    if (tensor.name.empty()) return bad("empty tensor name", at_index, "at least one character");
    if (!is_plain_text(tensor.name))
        return bad(fmt::format("tensor name \"{}\" is not plain text", to_printable(tensor.name)),
                   at_index, "UTF-8 without control characters");
    const std::string where = at_tensor(tensor.name);
    HOKKU_CHECK(read_dimensions(tensor));
    HOKKU_TRY(const uint32_t raw_type, read_number<uint32_t>("the tensor type", where));
    const std::optional<TensorTypeTraits> traits = find_tensor_type(raw_type);
    if (!traits)
        return Error{ErrorCode::unsupported,
                     fmt::format("unknown or removed tensor type {}", raw_type), where,
                     "a type of the GGUF specification"};
    tensor.type = traits->type;
    if (tensor.ne[0] % traits->block_values != 0)
        return bad(fmt::format("a row of {} values is not a whole number of {} blocks",
                               tensor.ne[0], traits->name),
                   where, fmt::format("a multiple of {}", traits->block_values));
    HOKKU_TRY(const uint64_t offset, read_number<uint64_t>("the tensor offset", where));
    offsets_.push_back(offset);
    return tensor;
}

Result<void> GgufReader::read_dimensions(GgufTensor& tensor) {
    const std::string where = at_tensor(tensor.name);
    HOKKU_TRY(tensor.num_dims, read_number<uint32_t>("the number of dimensions", where));
    if (tensor.num_dims < 1 || tensor.num_dims > tensor.ne.size())
        return bad(fmt::format("the tensor has {} dimensions", tensor.num_dims), where,
                   "1 to 4 dimensions");
    uint64_t num_values = 1;
    for (uint32_t d = 0; d < tensor.num_dims; ++d) {
        HOKKU_TRY(tensor.ne[d], read_number<uint64_t>("a dimension", where));
        // A zero counts as one here, so that the sizes of a tensor without values are sane too.
        const auto product = checked_mul(num_values, std::max<uint64_t>(tensor.ne[d], 1));
        if (!product || *product > INT64_MAX)
            return bad(
                fmt::format("dimension {} is {}: the number of values overflows", d, tensor.ne[d]),
                where, "less than 2^63 values");
        num_values = *product;
    }
    return {};
}

/// Gives each tensor its bytes: aligned, in order, apart from each other and within the file.
Result<void> GgufReader::place_tensors() {
    const std::span<const std::byte> file = shard_.mapping->bytes();
    const std::optional<uint64_t> data_begin = checked_pad(bytes_.position(), shard_.alignment);
    if (!data_begin) return bad("the header is too long", file_name_);
    // A file without tensor data may end before the padding.
    const uint64_t data_bytes = *data_begin < file.size() ? file.size() - *data_begin : 0;
    uint64_t taken_end = 0;  // relative to the data section
    for (size_t i = 0; i < shard_.tensors.size(); ++i) {
        GgufTensor& tensor = shard_.tensors[i];
        const TensorTypeTraits& traits = traits_of(tensor.type);
        const uint64_t offset = offsets_[i];
        std::optional<uint64_t> size =
            checked_mul(tensor.ne[0] / traits.block_values, traits.block_bytes);
        for (size_t d = 1; d < tensor.ne.size() && size; ++d)
            size = checked_mul(*size, tensor.ne[d]);
        if (!size) return bad("the size of the tensor overflows", at_tensor(tensor.name));
        if (offset % shard_.alignment != 0)
            return bad(fmt::format("the tensor offset {} is not aligned", offset),
                       at_tensor(tensor.name), fmt::format("a multiple of {}", shard_.alignment));
        if (offset < taken_end)
            return bad(fmt::format("the tensor offset {} lies within an earlier tensor", offset),
                       at_tensor(tensor.name), fmt::format("at least {}", taken_end));
        const std::optional<uint64_t> end = checked_add(offset, *size);
        if (!end || *end > data_bytes)
            return bad(
                fmt::format("the tensor's {} bytes at offset {} end past the file", *size, offset),
                at_tensor(tensor.name), fmt::format("at most {} bytes of data", data_bytes));
        tensor.file_offset = *data_begin + offset;
        if (*size != 0 && tensor.file_offset % natural_alignment(tensor.type) != 0)
            return bad(
                fmt::format("{} data at byte {} is not aligned", traits.name, tensor.file_offset),
                at_tensor(tensor.name),
                fmt::format("a multiple of {}", natural_alignment(tensor.type)));
        if (*size != 0)
            tensor.data =
                file.subspan(static_cast<size_t>(tensor.file_offset), static_cast<size_t>(*size));
        taken_end = *end;
    }
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
