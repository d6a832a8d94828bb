// SPDX-License-Identifier: Apache-2.0
#include "engine/read_ahead.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/page_hints.h"
#include "base/try.h"

namespace hokku {
namespace {

constexpr size_t kPageBytes = 4096;
/// Read between two looks at whether it is still wanted. To ask the system for more than that in
/// advance (MADV_WILLNEED) made a cold start up to half as slow again (measured, Linux 6.18).
constexpr uint64_t kPieceBytes = uint64_t{4} << 20;

}  // namespace

ReadAhead::ReadAhead(std::vector<std::span<const std::byte>> parts) : parts_(std::move(parts)) {
    for (const auto part : parts_) total_bytes_ += part.size();
    try {
        thread_ = std::thread([this] {
            while (!is_stopped_ && read_piece()) continue;
        });
    } catch (const std::system_error&) {  // no thread: finish() reads all
    }
}

ReadAhead::~ReadAhead() {
    is_stopped_ = true;
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

/// False: none is left.
bool ReadAhead::read_piece() {
    const uint64_t begin = num_taken_.fetch_add(kPieceBytes);
    if (begin >= total_bytes_) return false;
    unsigned sum = 0;
    for_each_span(begin, begin + kPieceBytes, [&](std::span<const std::byte> piece) {
        if (populate_pages(piece)) return;
        for (size_t at = 0; at < piece.size(); at += kPageBytes)
            sum += std::to_integer<unsigned>(piece[at]);
    });
    sum_ += sum;
    return true;
}

Result<void> ReadAhead::finish(const LoadControl& control, double from, double to) {
    const auto report = [&] {
        const uint64_t taken = std::min(num_taken_.load(), total_bytes_);
        const double share =
            total_bytes_ > 0 ? static_cast<double>(taken) / static_cast<double>(total_bytes_) : 1;
        return control.report(from + (to - from) * share);
    };
    HOKKU_CHECK(report());
    while (read_piece()) HOKKU_CHECK(report());
    return report();
}

}  // namespace hokku
