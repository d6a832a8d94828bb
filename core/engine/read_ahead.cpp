// SPDX-License-Identifier: Apache-2.0
#include "engine/read_ahead.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/numa.h"
#include "base/page_hints.h"
#include "base/round_up.h"
#include "base/try.h"
#include "base/zeroed_pages.h"

namespace hokku {
namespace {

constexpr size_t kPageBytes = 4096;
/// Read between two looks at whether it is still wanted. To ask the system for more than that in
/// advance (MADV_WILLNEED) made a cold start up to half as slow again, and so did a second reader
/// by a tenth (measured, Linux 6.18).
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;
/// To move a huge page copies it, 1.5 to 7 ms (measured, a Xeon with AMX): a tenth of the time.
constexpr int kPausesPerWork = 9;
constexpr std::chrono::seconds kFirstPause{1};

/// Before the first of its bytes at which a huge page may begin.
size_t bytes_to_huge_page(std::span<const std::byte> bytes) {
    const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
    return round_up(begin, kHugePageBytes) - begin;
}

}  // namespace

ReadAhead::ReadAhead(std::vector<std::span<const std::byte>> parts, std::vector<uint32_t> nodes)
    : parts_(std::move(parts)) {
    for (const auto part : parts_) total_bytes_ += part.size();
    try {
        thread_ = std::thread([this, nodes = std::move(nodes)] {
            const InterleavedPages placing(nodes);
            while (!is_stopped_ && num_read_ < total_bytes_) {
                read_piece();
                { const std::lock_guard lock(mutex_); }  // who has seen less waits by now
                has_more_.notify_all();
            }
            collapse();
        });
    } catch (const std::system_error&) {  // no thread: who waits reads
    }
}

ReadAhead::~ReadAhead() {
    {
        const std::lock_guard lock(mutex_);
        is_stopped_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
}

/// The parts of [begin, end) in the bytes of all.
template <class Visit>
void ReadAhead::for_each_span(uint64_t begin, uint64_t end, Visit visit) const {
    uint64_t first = 0;
    for (const auto part : parts_) {
        const uint64_t from = std::max(begin, first), to = std::min(end, first + part.size());
        if (from < to) visit(part.subspan(from - first, to - from));
        first += part.size();
    }
}

void ReadAhead::read_piece() {
    const uint64_t begin = num_read_, end = std::min(begin + kPieceBytes, total_bytes_);
    for_each_span(begin, end, [&](std::span<const std::byte> piece) {
        if (populate_pages(piece)) return;
        for (size_t at = 0; at < piece.size(); at += kPageBytes)
            sum_ += std::to_integer<unsigned>(piece[at]);
    });
    num_read_.store(end, std::memory_order_release);
}

void ReadAhead::note_use() {
    {
        const std::lock_guard lock(mutex_);
        is_used_ = true;
    }
    wake_.notify_one();
}

bool ReadAhead::is_stopped_within(std::chrono::nanoseconds pause) {
    std::unique_lock lock(mutex_);
    return wake_.wait_for(lock, pause, [this] { return is_stopped_.load(); });
}

void ReadAhead::collapse() {
    {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return is_stopped_ || is_used_; });
    }
    std::chrono::nanoseconds pause = kFirstPause;
    for (const auto part : parts_) {
        const size_t before = bytes_to_huge_page(part);
        for (size_t at = before; at + kHugePageBytes <= part.size(); at += kHugePageBytes) {
            if (is_stopped_within(pause)) return;
            const auto start = std::chrono::steady_clock::now();
            if (!collapse_pages(part.subspan(at, kHugePageBytes))) return;
            pause = kPausesPerWork * (std::chrono::steady_clock::now() - start);
        }
    }
}

void ReadAhead::wait_longer(uint64_t bytes) {
    bytes = std::min(bytes, total_bytes_);
    std::unique_lock lock(mutex_);
    while (num_read_ < bytes) {
        if (thread_.joinable()) {
            has_more_.wait(lock);
        } else {
            read_piece();
        }
    }
}

Result<void> ReadAhead::finish(const LoadControl& control, double from, double to, uint64_t left) {
    const uint64_t wanted = total_bytes_ - std::min(left, total_bytes_);
    for (;;) {
        const uint64_t done = std::min(num_read_.load(), wanted);
        const double share =
            wanted > 0 ? static_cast<double>(done) / static_cast<double>(wanted) : 1;
        HOKKU_CHECK(control.report(from + (to - from) * share));
        if (done == wanted) return {};
        wait_for(std::min(done + kPieceBytes, wanted));
    }
}

}  // namespace hokku
