// SPDX-License-Identifier: Apache-2.0
// Split models: which shard of which set a file is, and what the other shards are called.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "gguf/gguf_file.h"
#include "hokku/result.h"

namespace hokku {

struct GgufSplit {
    uint32_t index = 0;                   ///< split.no, from 0.
    uint32_t count = 1;                   ///< split.count; 1 for a file that is not split.
    std::optional<uint64_t> num_tensors;  ///< split.tensors.count, of the whole set.
};

/// Reads the split.* keys of one file.
Result<GgufSplit> read_split(const GgufMetadata& metadata);

/// Paths of all shards in order, from the path of one of them.
/// Errors : bad_format when the file's name does not end in its place ("-00002-of-00003.gguf");
///          io naming every shard that is missing.
Result<std::vector<std::filesystem::path>> find_shards(const std::filesystem::path& path,
                                                       const GgufSplit& split);

}  // namespace hokku
