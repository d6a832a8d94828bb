// SPDX-License-Identifier: Apache-2.0
#include "support/gguf_writer.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace hokku::testing {

namespace fs = std::filesystem;

namespace {

uint64_t padded(uint64_t size, uint64_t alignment) {
    return (size + alignment - 1) / alignment * alignment;
}

}  // namespace

std::string gguf_string(std::string_view text) {
    return le(static_cast<uint64_t>(text.size())) + std::string(text);
}

GgufWriter& GgufWriter::set_raw(const std::string& key, uint32_t type_id, std::string value) {
    const auto same = std::find_if(entries.begin(), entries.end(),
                                   [&](const Entry& entry) { return entry.key == key; });
    if (same != entries.end())
        *same = Entry{key, type_id, std::move(value)};
    else
        entries.push_back(Entry{key, type_id, std::move(value)});
    return *this;
}

GgufWriter& GgufWriter::set_string(const std::string& key, std::string_view text) {
    return set_raw(key, kStringTypeId, gguf_string(text));
}

GgufWriter& GgufWriter::set_strings(const std::string& key, const std::vector<std::string>& texts) {
    std::string value = le(kStringTypeId) + le(static_cast<uint64_t>(texts.size()));
    for (const std::string& text : texts) value += gguf_string(text);
    return set_raw(key, kArrayTypeId, std::move(value));
}

GgufWriter& GgufWriter::remove(const std::string& key) {
    std::erase_if(entries, [&](const Entry& entry) { return entry.key == key; });
    return *this;
}

GgufWriter& GgufWriter::add_f32(const std::string& name, std::vector<uint64_t> dims,
                                const std::vector<float>& values) {
    std::string data(values.size() * sizeof(float), '\0');
    if (!values.empty()) std::memcpy(data.data(), values.data(), data.size());
    return add_tensor(Tensor{name, 0, std::move(dims), std::move(data), {}, {}});
}

GgufWriter& GgufWriter::add_tensor(Tensor tensor) {
    tensors.push_back(std::move(tensor));
    return *this;
}

GgufWriter& GgufWriter::remove_tensor(const std::string& name) {
    std::erase_if(tensors, [&](const Tensor& tensor) { return tensor.name == name; });
    return *this;
}

GgufWriter::Tensor& GgufWriter::tensor(const std::string& name) {
    for (Tensor& tensor : tensors)
        if (tensor.name == name) return tensor;
    throw std::logic_error("the test's model has no tensor " + name);
}

std::string GgufWriter::header() const {
    std::string out = magic + le(version);
    out += le(num_tensors.value_or(tensors.size())) + le(num_entries.value_or(entries.size()));
    for (const Entry& entry : entries)
        out += gguf_string(entry.key) + le(entry.type_id) + entry.value;
    uint64_t place = 0;
    for (const Tensor& tensor : tensors) {
        out += gguf_string(tensor.name);
        out += le(tensor.num_dims.value_or(static_cast<uint32_t>(tensor.dims.size())));
        for (const uint64_t dim : tensor.dims) out += le(dim);
        out += le(tensor.type_id) + le(tensor.offset.value_or(place));
        place = padded(place + tensor.data.size(), alignment);
    }
    return out;
}

std::string GgufWriter::bytes() const {
    std::string out = header();
    const auto pad = [&] { out.resize(padded(out.size(), alignment), '\0'); };
    for (const Tensor& tensor : tensors) {
        pad();
        out += tensor.data;
    }
    if (pad_end) pad();
    return out;
}

void GgufWriter::write(const fs::path& path) const {
    write_file(path, bytes());
}

void write_file(const fs::path& path, std::string_view bytes) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace hokku::testing
