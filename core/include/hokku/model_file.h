// SPDX-License-Identifier: Apache-2.0
// What a GGUF file holds: header, metadata and tensor table, as plain data for listings. The file
// is fully validated; nothing of it is interpreted as a model and no tensor is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "hokku/result.h"

namespace hokku {

struct InspectOptions {
    uint32_t max_array_elements = 8;    ///< Shown of each array, from its start.
    uint32_t max_string_bytes = 65536;  ///< Shown of each string (1024 within arrays).
    bool use_mapping = true;
};

struct MetadataEntryInfo {
    std::string key;
    std::string type;  ///< "UINT32", "STRING", "ARRAY[STRING]": names of the specification.
    /// The value as JSON text on one line: a number, true, "text" or an array. Not-a-number and
    /// infinities are the strings "nan", "inf", "-inf"; invalid UTF-8 is replaced by U+FFFD.
    std::string value_json;
    uint64_t num_elements = 1;  ///< Of an array, all of them.
    bool is_shortened = false;  ///< value_json holds only the first elements or bytes.
};

struct TensorInfo {
    std::string name;
    std::string type;            ///< "Q4_K".
    std::vector<uint64_t> dims;  ///< dims[0] is contiguous, as in the file.
    uint64_t num_values = 0, num_bytes = 0;
    uint64_t file_offset = 0;  ///< From the start of its shard.
    uint32_t shard_index = 0;
};

/// All tensors of one type together.
struct TensorTypeTotal {
    std::string type;
    uint64_t num_tensors = 0, num_values = 0, num_bytes = 0;
};

struct ModelFileInfo {
    std::filesystem::path path;
    std::vector<std::filesystem::path> shards;  ///< One for a file that is not split.
    uint32_t version = 0;
    uint64_t alignment = 0;
    uint64_t file_bytes = 0;                   ///< All shards.
    std::vector<MetadataEntryInfo> metadata;   ///< In the file's order.
    std::vector<TensorInfo> tensors;           ///< In the file's order, shard after shard.
    std::vector<TensorTypeTotal> type_totals;  ///< Most bytes first.
    uint64_t num_parameters = 0;               ///< Values of all tensors.
    uint64_t tensor_bytes = 0;

    /// The entry of a key; nullptr when absent.
    [[nodiscard]] const MetadataEntryInfo* find(std::string_view key) const;
};

/// Opens, validates and lists a GGUF file, or the whole set when it is one shard of a split one.
///
/// Errors : io, bad_format, unsupported, limit_exceeded, out_of_memory; each names the file and
///          the key or tensor at fault.
/// Threads: re-entrant.
/// Cost   : reads the header only.
Result<ModelFileInfo> inspect_model_file(const std::filesystem::path& path,
                                         InspectOptions options = {});

}  // namespace hokku
