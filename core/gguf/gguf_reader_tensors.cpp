// SPDX-License-Identifier: Apache-2.0
// The tensor table: names, dimensions, types, and where the data of each tensor lies.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/checked_math.h"
#include "base/mapped_file.h"
#include "base/try.h"
#include "base/utf8.h"
#include "gguf/gguf_limits.h"
#include "gguf/gguf_reader.h"

namespace hokku {

namespace {

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
                fmt::format(
                    "the file is not whole: the tensor's {} bytes at offset {} end past the file",
                    *size, offset),
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

}  // namespace hokku
