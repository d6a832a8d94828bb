// SPDX-License-Identifier: Apache-2.0
#include "engine/early_reading.h"

#include <system_error>
#include <utility>

#include "backend/cpu/numa_topology.h"
#include "base/numa.h"
#include "base/page_hints.h"

namespace hokku {

EarlyReading::EarlyReading(const std::filesystem::path& path, uint64_t available_bytes) {
    auto opened = MappedFile::open(path);
    if (!opened.ok() || !(*opened)->is_mapped()) return;
    file_ = std::move(*opened);
    if (file_->bytes().size() >= available_bytes) return;
    try {
        thread_ = std::thread([this] { read(); });
    } catch (const std::system_error&) {  // no thread: the file is read when it is needed
    }
}

EarlyReading::~EarlyReading() {
    is_stopped_ = true;
    if (thread_.joinable()) thread_.join();
}

/// In passing: a file that turns out to be none of a model has taken no memory of this process.
void EarlyReading::read() const {
    const InterleavedPages placing(cpu::numa_node_ids(cpu::numa_nodes()));
    read_in_passing(file_->bytes(), [this] { return !is_stopped_; });
}

}  // namespace hokku
