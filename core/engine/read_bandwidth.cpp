// SPDX-License-Identifier: Apache-2.0
#include "engine/read_bandwidth.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace hokku {
namespace {

constexpr size_t kLineBytes = 64;
constexpr size_t kBytesAhead = 2048;
constexpr int kNumPasses = 6;

/// A sum over 64-bit words: it reads every byte of so many streams side by side once, but for a few
/// at their ends, and costs nothing else. Of several it asks for what is ahead.
template <size_t kStreams>
uint64_t sum_of(std::span<const std::byte> bytes) {
    constexpr size_t kWords = kLineBytes / sizeof(uint64_t);
    std::array<std::array<uint64_t, kWords>, kStreams> sums{};
    const size_t stream_bytes = bytes.size() / kStreams / kLineBytes * kLineBytes;
    for (size_t i = 0; i < stream_bytes; i += kLineBytes) {
        for (size_t stream = 0; stream < kStreams; ++stream) {
            const std::byte* line = bytes.data() + stream * stream_bytes + i;
            if (kStreams > 1) __builtin_prefetch(line + kBytesAhead);
            std::array<uint64_t, kWords> words;
            std::memcpy(words.data(), line, kLineBytes);
            for (size_t j = 0; j < kWords; ++j) sums[stream][j] += words[j];
        }
    }
    uint64_t total = 0;
    for (const auto& stream : sums)
        for (const uint64_t sum : stream) total += sum;
    return total;
}

}  // namespace

double measure_read_bandwidth(std::span<const std::span<const std::byte>> parts,
                              uint32_t num_threads) {
    size_t total_bytes = 0;
    for (const auto part : parts) total_bytes += part.size();
    if (total_bytes == 0 || num_threads == 0) return 0;

    std::atomic<uint64_t> checksum{0};  // keeps the reads from being optimised away
    uint32_t num_streams = 1;           // What is best differs between processors.
    const auto read_share = [&](uint32_t index) {
        uint64_t sum = 0;
        for (const auto part : parts) {
            const size_t begin = part.size() * index / num_threads;
            const size_t end = part.size() * (index + 1) / num_threads;
            const auto own = part.subspan(begin, end - begin);
            sum += num_streams == 1 ? sum_of<1>(own) : sum_of<4>(own);
        }
        checksum += sum;
    };
    double best_seconds = 0;
    for (int pass = 0; pass < kNumPasses; ++pass) {
        num_streams = pass % 2 == 0 ? 4 : 1;
        const auto start = std::chrono::steady_clock::now();
        std::vector<std::jthread> threads;
        for (uint32_t i = 1; i < num_threads; ++i) threads.emplace_back(read_share, i);
        read_share(0);
        threads.clear();  // joins
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        best_seconds = pass == 0 ? taken.count() : std::min(best_seconds, taken.count());
    }
    return best_seconds > 0 ? static_cast<double>(total_bytes) / best_seconds / 1e9 : 0;
}

}  // namespace hokku
