// SPDX-License-Identifier: Apache-2.0
#include "base/sleep_on_word.h"

namespace hokku {

void sleep_while(const std::atomic<uint32_t>& word, uint32_t old) {
    word.wait(old, std::memory_order_acquire);
}

void wake_all(std::atomic<uint32_t>& word) {
    word.notify_all();
}

}  // namespace hokku
