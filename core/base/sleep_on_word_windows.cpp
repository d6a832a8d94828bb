// SPDX-License-Identifier: Apache-2.0
// Not by std::atomic's wait: where libstdc++ 12 has no futex, it looks at the word before it takes
// the lock of its condition variable, and loses wake-ups in between.
#include <windows.h>

#include "base/sleep_on_word.h"

namespace hokku {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

void sleep_while(const std::atomic<uint32_t>& word, uint32_t old) {
    void* address = const_cast<std::atomic<uint32_t>*>(&word);
    WaitOnAddress(address, &old, sizeof old, INFINITE);
}

void wake_all(std::atomic<uint32_t>& word) {
    WakeByAddressAll(&word);
}

}  // namespace hokku
