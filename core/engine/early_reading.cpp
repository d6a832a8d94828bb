// SPDX-License-Identifier: Apache-2.0
#include "engine/early_reading.h"

#include <utility>
#include <vector>

#include "backend/cpu/numa_topology.h"

namespace hokku {

EarlyReading::EarlyReading(const std::filesystem::path& path, uint64_t available_bytes) {
    auto opened = MappedFile::open(path);
    if (!opened.ok() || !(*opened)->is_mapped()) return;
    file_ = std::move(*opened);
    if (file_->bytes().size() >= available_bytes) return;
    pages_.emplace(std::vector<std::span<const std::byte>>{file_->bytes()},
                   cpu::numa_node_ids(cpu::numa_nodes()));
}

}  // namespace hokku
