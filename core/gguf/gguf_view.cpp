// SPDX-License-Identifier: Apache-2.0
#include "gguf/gguf_view.h"

#include <new>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/try.h"
#include "gguf/gguf_reader.h"

namespace hokku {

Result<GgufFile> view_gguf(std::span<const GgufBytes> files) try {
    std::vector<GgufShard> shards;
    uint64_t string_array_cost = 0;
    for (const GgufBytes& file : files) {
        HOKKU_TRY(GgufShard shard,
                  GgufReader::read_shard(file.path, MappedFile::view(file.path, file.bytes),
                                         string_array_cost));
        if (!shards.empty()) shard.metadata = GgufMetadata();
        shards.push_back(std::move(shard));
    }
    if (shards.empty()) {
        return Error{ErrorCode::bad_argument, "there are no bytes", "GGUF file", "a file or more"};
    }
    return GgufReader::join(files.front().path, std::move(shards), {});
} catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory, "there is not enough memory to open the file", {}, {}};
}

}  // namespace hokku
