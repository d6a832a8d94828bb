// SPDX-License-Identifier: Apache-2.0
#include "engine/early_reading.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "backend/cpu/numa_topology.h"
#include "base/numa.h"
#include "base/page_hints.h"
#include "base/zeroed_pages.h"

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

/// A huge page at a time, which is let go at once: a file that turns out to be none of a model has
/// taken no memory of this process.
void EarlyReading::read() const {
    const InterleavedPages placing(cpu::numa_node_ids(cpu::numa_nodes()));
    const std::span<const std::byte> bytes = file_->bytes();
    for (size_t at = 0; at < bytes.size() && !is_stopped_; at += kHugePageBytes) {
        const auto piece = bytes.subspan(at, std::min(kHugePageBytes, bytes.size() - at));
        if (!populate_pages(piece)) return;
        unmap_pages(piece);
    }
}

}  // namespace hokku
