// SPDX-License-Identifier: Apache-2.0
#include "gguf/gguf_split.h"

#include <fmt/format.h>

#include <string>
#include <system_error>

#include "base/path_text.h"
#include "base/try.h"
#include "gguf/gguf_limits.h"

namespace hokku {

namespace fs = std::filesystem;

namespace {

/// How the name of shard `index` ends. Source: llama.cpp, llama_split_path.
std::string shard_suffix(uint32_t index, uint32_t count) {
    return fmt::format("-{:05}-of-{:05}.gguf", index + 1, count);
}

}  // namespace

Result<GgufSplit> read_split(const GgufMetadata& metadata) {
    GgufSplit split;
    HOKKU_TRY(const auto count, metadata.find_uint("split.count", 0, gguf_limits::kMaxShards));
    if (!count || *count <= 1) return split;
    split.count = static_cast<uint32_t>(*count);
    HOKKU_TRY(const uint64_t index, metadata.require_uint("split.no", 0, split.count - 1));
    split.index = static_cast<uint32_t>(index);
    HOKKU_TRY(split.num_tensors,
              metadata.find_uint("split.tensors.count", 0, gguf_limits::kMaxTensors));
    return split;
}

Result<std::vector<fs::path>> find_shards(const fs::path& path, const GgufSplit& split) {
    const std::string suffix = shard_suffix(split.index, split.count);
    const fs::path::string_type name = path.filename().native();
    const fs::path::string_type native_suffix = fs::path(suffix).native();
    if (!std::basic_string_view<fs::path::value_type>(name).ends_with(native_suffix))
        return Error{ErrorCode::bad_format,
                     fmt::format("the file is number {} of a set of {}, but not named so",
                                 split.index + 1, split.count),
                     file_name_text(path), fmt::format("a name that ends in {}", suffix)};
    const fs::path::string_type prefix = name.substr(0, name.size() - native_suffix.size());

    std::vector<fs::path> shards;
    std::string missing;
    for (uint32_t i = 0; i < split.count; ++i) {
        fs::path shard_name(prefix);
        shard_name += shard_suffix(i, split.count);
        const fs::path shard = path.parent_path() / shard_name;
        std::error_code error;
        if (i != split.index && !fs::exists(shard, error))
            missing += (missing.empty() ? "" : ", ") + file_name_text(shard);
        shards.push_back(shard);
    }
    if (!missing.empty())
        return Error{ErrorCode::io, "files of the split model are missing: " + missing,
                     file_name_text(path), fmt::format("{} files side by side", split.count)};
    return shards;
}

}  // namespace hokku
