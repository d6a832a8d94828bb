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
constexpr int kNumPasses = 4;

/// A sum over all 64-bit words: it reads every byte once and costs nothing else.
uint64_t sum_of(std::span<const std::byte> bytes) {
    std::array<uint64_t, kLineBytes / sizeof(uint64_t)> sums{};
    for (size_t i = 0; i + kLineBytes <= bytes.size(); i += kLineBytes) {
        std::array<uint64_t, sums.size()> words;
        std::memcpy(words.data(), bytes.data() + i, kLineBytes);
        for (size_t j = 0; j < sums.size(); ++j) sums[j] += words[j];
    }
    uint64_t total = 0;
    for (const uint64_t sum : sums) total += sum;
    return total;
}

}  // namespace

double measure_read_bandwidth(std::span<const std::span<const std::byte>> parts,
                              uint32_t num_threads) {
    size_t total_bytes = 0;
    for (const auto part : parts) total_bytes += part.size();
    if (total_bytes == 0 || num_threads == 0) return 0;

    std::atomic<uint64_t> checksum{0};  // keeps the reads from being optimised away
    const auto read_share = [&](uint32_t index) {
        uint64_t sum = 0;
        for (const auto part : parts) {
            const size_t begin = part.size() * index / num_threads;
            const size_t end = part.size() * (index + 1) / num_threads;
            sum += sum_of(part.subspan(begin, end - begin));
        }
        checksum += sum;
    };
    double best_seconds = 0;
    for (int pass = 0; pass < kNumPasses; ++pass) {
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
