// SPDX-License-Identifier: Apache-2.0
#include "base/sleep_on_word.h"

#include <thread>

#include "support/catch.h"

TEST_CASE("sleep_while: returns at once when the word is another", "[base][quick]") {
    const std::atomic<uint32_t> word{3};
    hokku::sleep_while(word, 2);
    CHECK(word == 3);
}

TEST_CASE("sleep_while: no change is slept through", "[base][quick]") {
    constexpr uint32_t kRounds = 20'000;
    std::atomic<uint32_t> ping{0}, pong{0};
    std::thread other([&] {
        for (uint32_t round = 0; round < kRounds; ++round) {
            while (ping.load() == round) hokku::sleep_while(ping, round);
            pong.fetch_add(1);
            hokku::wake_all(pong);
        }
    });
    for (uint32_t round = 0; round < kRounds; ++round) {
        ping.fetch_add(1);
        hokku::wake_all(ping);
        while (pong.load() == round) hokku::sleep_while(pong, round);
    }
    other.join();
    CHECK(pong == kRounds);
}
