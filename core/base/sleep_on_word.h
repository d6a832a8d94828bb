// SPDX-License-Identifier: Apache-2.0
// Sleeping until another thread has changed a number, in the kernel and without a lock.
#pragma once

#include <atomic>
#include <cstdint>

namespace hokku {

/// Returns once `word` differs from `old`, perhaps for no reason before. Who changes it uses a
/// sequentially consistent read-modify-write before wake_all: libstdc++ looks for sleepers with a
/// plain load, which x86 may move before a plain store of the word.
void sleep_while(const std::atomic<uint32_t>& word, uint32_t old);

void wake_all(std::atomic<uint32_t>& word);

}  // namespace hokku
