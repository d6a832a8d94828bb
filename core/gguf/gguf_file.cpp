// SPDX-License-Identifier: Apache-2.0
#include "gguf/gguf_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <new>
#include <numeric>
#include <span>
#include <utility>

#include "base/mapped_file.h"
#include "base/path_text.h"
#include "base/try.h"
#include "base/utf8.h"
#include "gguf/gguf_limits.h"
#include "gguf/gguf_reader.h"
#include "gguf/gguf_split.h"

namespace hokku {

namespace {

Error format_error(std::string what, std::string where, std::string expected) {
    return Error{ErrorCode::bad_format, std::move(what), std::move(where), std::move(expected)};
}

Result<void> check_shard(const GgufShard& shard, const GgufSplit& expected) {
    HOKKU_TRY(const GgufSplit found, read_split(shard.metadata));
    if (found.count == expected.count && found.index == expected.index) return {};
    return format_error(
        fmt::format("the file says that it is number {} of {}", found.index + 1, found.count),
        file_name_text(shard.path),
        fmt::format("number {} of {}", expected.index + 1, expected.count));
}

Result<void> check_num_tensors(size_t num_tensors, const std::filesystem::path& path) {
    if (num_tensors <= gguf_limits::kMaxTensors) return {};
    return format_error(fmt::format("the set holds {} tensors", num_tensors), file_name_text(path),
                        fmt::format("at most {}", gguf_limits::kMaxTensors));
}

/// Reads what was not mapped into memory.
Result<void> load_unmapped(std::span<const std::unique_ptr<MappedFile>> mappings,
                           uint64_t total_bytes, const GgufOpenOptions& options) {
    uint64_t before = 0;
    std::function<bool(size_t)> on_piece;
    if (options.on_read)
        on_piece = [&](size_t done) {
            return options.on_read(static_cast<double>(before + done) /
                                   static_cast<double>(total_bytes));
        };
    for (const auto& mapping : mappings) {
        HOKKU_CHECK(mapping->load_all(on_piece));
        before += mapping->bytes().size();
    }
    return {};
}

Result<std::vector<GgufShard>> read_set(const std::filesystem::path& path,
                                        const GgufOpenOptions& options) {
    std::vector<GgufShard> shards;
    uint64_t string_array_cost = 0;
    HOKKU_TRY(GgufShard opened, GgufReader::read_shard(path, options, string_array_cost));
    HOKKU_TRY(const GgufSplit split, read_split(opened.metadata));
    if (split.count == 1) {
        shards.push_back(std::move(opened));
        return shards;
    }
    HOKKU_TRY(const std::vector<std::filesystem::path> paths, find_shards(path, split));
    // Only the metadata of the first file is used; that of a thousand hostile ones would not fit.
    if (split.index != 0) opened.metadata = GgufMetadata();
    size_t num_tensors = opened.tensors.size();
    for (uint32_t i = 0; i < split.count; ++i) {
        if (i == split.index) {
            shards.push_back(std::move(opened));
            continue;
        }
        HOKKU_TRY(GgufShard shard, GgufReader::read_shard(paths[i], options, string_array_cost));
        HOKKU_CHECK(check_shard(shard, GgufSplit{i, split.count, {}}));
        if (i != 0) shard.metadata = GgufMetadata();
        num_tensors += shard.tensors.size();
        HOKKU_CHECK(check_num_tensors(num_tensors, path));
        shards.push_back(std::move(shard));
    }
    return shards;
}

}  // namespace

Result<GgufFile> GgufReader::join(const std::filesystem::path& path, std::vector<GgufShard> shards,
                                  const GgufOpenOptions& options) {
    HOKKU_TRY(const GgufSplit split, read_split(shards.front().metadata));
    GgufFile file;
    file.path_ = path;
    file.version_ = shards.front().version;
    file.alignment_ = shards.front().alignment;
    file.metadata_ = std::move(shards.front().metadata);
    for (GgufShard& shard : shards) {
        for (GgufTensor& tensor : shard.tensors) {
            tensor.shard_index = static_cast<uint32_t>(file.shards_.size());
            file.tensors_.push_back(tensor);
        }
        file.file_bytes_ += shard.mapping->bytes().size();
        file.shards_.push_back(std::move(shard.path));
        file.mappings_.push_back(std::move(shard.mapping));
    }
    const std::string name = file_name_text(path);
    if (split.num_tensors && *split.num_tensors != file.tensors_.size())
        return format_error(fmt::format("the set holds {} tensors", file.tensors_.size()),
                            name + ", key split.tensors.count", std::to_string(*split.num_tensors));

    auto& by_name = file.by_name_;
    by_name.resize(file.tensors_.size());
    std::iota(by_name.begin(), by_name.end(), 0u);
    const auto& tensors = file.tensors_;
    std::sort(by_name.begin(), by_name.end(),
              [&](uint32_t a, uint32_t b) { return tensors[a].name < tensors[b].name; });
    const auto twice = std::adjacent_find(
        by_name.begin(), by_name.end(),
        [&](uint32_t a, uint32_t b) { return tensors[a].name == tensors[b].name; });
    if (twice != by_name.end())
        return format_error("duplicate tensor name",
                            fmt::format("{}, tensor {}", name, to_printable(tensors[*twice].name)),
                            "each name once");
    HOKKU_CHECK(load_unmapped(file.mappings_, file.file_bytes_, options));
    return file;
}

Result<GgufFile> GgufFile::open(const std::filesystem::path& path, GgufOpenOptions options) try {
    HOKKU_TRY(std::vector<GgufShard> shards, read_set(path, options));
    return GgufReader::join(path, std::move(shards), options);
} catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory,
                 "there is not enough memory to open the file",
                 path_text(path),
                 {}};
}

GgufFile::GgufFile() = default;
GgufFile::GgufFile(GgufFile&&) noexcept = default;
GgufFile& GgufFile::operator=(GgufFile&&) noexcept = default;
GgufFile::~GgufFile() = default;

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
    const auto at = std::lower_bound(
        by_name_.begin(), by_name_.end(), name,
        [this](uint32_t i, std::string_view wanted) { return tensors_[i].name < wanted; });
    if (at == by_name_.end() || tensors_[*at].name != name) return nullptr;
    return &tensors_[*at];
}

bool GgufFile::is_mapped() const {
    return std::all_of(mappings_.begin(), mappings_.end(),
                       [](const auto& mapping) { return mapping->is_mapped(); });
}

std::span<const std::byte> GgufFile::shard_bytes(uint32_t shard_index) const {
    return mappings_[shard_index]->bytes();
}

bool GgufFile::has_read_fault() const {
    return std::any_of(mappings_.begin(), mappings_.end(),
                       [](const auto& mapping) { return mapping->has_read_fault(); });
}

}  // namespace hokku
