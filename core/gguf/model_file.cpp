// SPDX-License-Identifier: Apache-2.0
#include "hokku/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <nlohmann/json.hpp>

#include "base/byte_reader.h"
#include "base/path_text.h"
#include "base/try.h"
#include "base/utf8.h"
#include "gguf/gguf_file.h"
#include "gguf/gguf_reader.h"

namespace hokku {

namespace {

constexpr size_t kMaxBytesOfElement = 1024;

/// All strings of one listing together; above it they are cut to almost nothing, so that a file
/// of very many long strings does not make a huge listing.
constexpr size_t kTextBudget = size_t{4} << 20;
constexpr size_t kMinShownBytes = 16;

/// Writes strings as JSON text, cut where they are long.
class StringWriter {
  public:
    [[nodiscard]] std::string json(std::string_view text, size_t max_bytes, bool& is_shortened) {
        const size_t limit = std::min(max_bytes, std::max(budget_, kMinShownBytes));
        const std::string_view shown = text.substr(0, utf8_prefix_bytes(text, limit));
        is_shortened |= shown.size() < text.size();
        budget_ -= std::min(budget_, shown.size());
        return nlohmann::json(to_valid_utf8(shown)).dump();
    }

  private:
    size_t budget_ = kTextBudget;
};

template <class T>
std::string number_json(T number) {
    if constexpr (std::is_floating_point_v<T>) {
        if (!std::isfinite(number))
            return std::isnan(number) ? "\"nan\"" : number > 0 ? "\"inf\"" : "\"-inf\"";
    }
    return fmt::format("{}", number);  // the shortest text that reads back as the same number
}

template <class T>
std::string element_json(const GgufNumberArray& array, size_t index) {
    return number_json(ByteReader::load_le<T>(array.bytes.data() + index * sizeof(T)));
}

std::string element_json(const GgufNumberArray& array, size_t index) {
    switch (array.element_type) {
        case GgufValueType::u8:
            return element_json<uint8_t>(array, index);
        case GgufValueType::i8:
            return element_json<int8_t>(array, index);
        case GgufValueType::u16:
            return element_json<uint16_t>(array, index);
        case GgufValueType::i16:
            return element_json<int16_t>(array, index);
        case GgufValueType::u32:
            return element_json<uint32_t>(array, index);
        case GgufValueType::i32:
            return element_json<int32_t>(array, index);
        case GgufValueType::u64:
            return element_json<uint64_t>(array, index);
        case GgufValueType::i64:
            return element_json<int64_t>(array, index);
        case GgufValueType::f32:
            return element_json<float>(array, index);
        case GgufValueType::f64:
            return element_json<double>(array, index);
        case GgufValueType::boolean:
            return ByteReader::load_le<uint8_t>(array.bytes.data() + index) != 0 ? "true" : "false";
        case GgufValueType::string:
        case GgufValueType::array:
            break;
    }
    return "null";
}

/// Writes the JSON text of one value. One call operator for each alternative of GgufValue.
struct ValueWriter {
    const InspectOptions& options;
    StringWriter& strings_out;
    GgufValueType declared_type;
    MetadataEntryInfo& entry;

    void operator()(uint64_t number) const { entry.value_json = number_json(number); }
    void operator()(int64_t number) const { entry.value_json = number_json(number); }
    void operator()(double number) const {
        entry.value_json = declared_type == GgufValueType::f32
                               ? number_json(static_cast<float>(number))
                               : number_json(number);
    }
    void operator()(bool value) const { entry.value_json = value ? "true" : "false"; }
    void operator()(std::string_view text) const {
        entry.value_json = strings_out.json(text, options.max_string_bytes, entry.is_shortened);
    }
    void operator()(const GgufNumberArray& array) const {
        entry.type = fmt::format("ARRAY[{}]", gguf_type_name(array.element_type));
        write_array(array.count, [&](size_t i) { return element_json(array, i); });
    }
    void operator()(const GgufStringArray& strings) const {
        entry.type = "ARRAY[STRING]";
        const size_t max_bytes = std::min<size_t>(kMaxBytesOfElement, options.max_string_bytes);
        write_array(strings.size(), [&](size_t i) {
            return strings_out.json(strings[i], max_bytes, entry.is_shortened);
        });
    }

  private:
    template <class ElementText>
    void write_array(size_t count, ElementText&& text_of) const {
        const size_t num_shown = std::min<size_t>(count, options.max_array_elements);
        entry.num_elements = count;
        entry.is_shortened |= num_shown < count;
        entry.value_json = "[";
        for (size_t i = 0; i < num_shown; ++i) {
            if (i > 0) entry.value_json += ", ";
            entry.value_json += text_of(i);
        }
        entry.value_json += "]";
    }
};

TensorInfo describe(const GgufTensor& tensor) {
    TensorInfo info;
    info.name = tensor.name;
    info.type = traits_of(tensor.type).name;
    info.dims.assign(tensor.ne.begin(), tensor.ne.begin() + tensor.num_dims);
    // GgufFile has checked that the product fits.
    info.num_values = tensor.ne[0] * tensor.ne[1] * tensor.ne[2] * tensor.ne[3];
    info.num_bytes = tensor.data.size();
    info.file_offset = tensor.file_offset;
    info.shard_index = tensor.shard_index;
    return info;
}

void add_to_totals(std::vector<TensorTypeTotal>& totals, const TensorInfo& tensor) {
    auto at = std::find_if(totals.begin(), totals.end(),
                           [&](const TensorTypeTotal& t) { return t.type == tensor.type; });
    if (at == totals.end()) at = totals.insert(totals.end(), TensorTypeTotal{tensor.type});
    at->num_tensors += 1;
    at->num_values += tensor.num_values;
    at->num_bytes += tensor.num_bytes;
}

ModelFileInfo list_contents(const GgufFile& file, const InspectOptions& options) {
    ModelFileInfo info;
    info.path = file.path();
    info.shards.assign(file.shard_paths().begin(), file.shard_paths().end());
    info.version = file.version();
    info.alignment = file.alignment();
    info.file_bytes = file.file_bytes();
    StringWriter strings_out;
    for (const GgufEntry& entry : file.metadata().entries()) {
        MetadataEntryInfo shown;
        shown.key = entry.key;
        shown.type = gguf_type_name(entry.type);
        std::visit(ValueWriter{options, strings_out, entry.type, shown}, entry.value);
        info.metadata.push_back(std::move(shown));
    }
    for (const GgufTensor& tensor : file.tensors()) {
        info.tensors.push_back(describe(tensor));
        add_to_totals(info.type_totals, info.tensors.back());
        info.num_parameters += info.tensors.back().num_values;
        info.tensor_bytes += info.tensors.back().num_bytes;
    }
    std::stable_sort(info.type_totals.begin(), info.type_totals.end(),
                     [](const TensorTypeTotal& a, const TensorTypeTotal& b) {
                         return a.num_bytes > b.num_bytes;
                     });
    return info;
}

}  // namespace

const MetadataEntryInfo* ModelFileInfo::find(std::string_view key) const {
    const auto at = std::find_if(metadata.begin(), metadata.end(),
                                 [&](const MetadataEntryInfo& entry) { return entry.key == key; });
    return at == metadata.end() ? nullptr : &*at;
}

Result<ModelFileInfo> inspect_model_file(const std::filesystem::path& path,
                                         InspectOptions options) try {
    HOKKU_TRY(const GgufFile file, GgufFile::open(path, {options.use_mapping}));
    ModelFileInfo info = list_contents(file, options);
    if (file.has_read_fault())
        return Error{ErrorCode::io,
                     "the file shrank while it was read or the medium failed",
                     path_text(path),
                     {}};
    return info;
} catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory,
                 "there is not enough memory to list the file",
                 path_text(path),
                 {}};
}

}  // namespace hokku
