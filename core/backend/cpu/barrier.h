// SPDX-License-Identifier: Apache-2.0
// Barrier: where a fixed number of threads wait for each other, spinning before they sleep.
#pragma once

#include <atomic>
#include <cstdint>

namespace hokku::cpu {

/// Returns once `word` differs from `old`. Who changes it does so as base/sleep_on_word.h says.
void wait_for_change(const std::atomic<uint32_t>& word, uint32_t old);

/// Threads: any; as many as it was made for.
class Barrier {
  public:
    explicit Barrier(uint32_t num_threads) : num_threads_(num_threads) {}

    /// Waits until all threads are here; what they wrote before is visible after.
    void arrive_and_wait();

  private:
    // Each word that threads poll has a cache line of its own.
    alignas(64) std::atomic<uint32_t> num_arrived_{0};
    alignas(64) std::atomic<uint32_t> round_{0};
    alignas(64) uint32_t num_threads_;
};

}  // namespace hokku::cpu
