// SPDX-License-Identifier: Apache-2.0
// What the app that is killed and the test that kills it agree on: the text of the replies and the
// lines by which the app says what it has done.
#pragma once

#include <ctime>
#include <string>

namespace hokku::testing {

/// The reply of every generation, or its beginning.
inline std::string replyText(size_t numBytes) {
    std::string text;
    for (int line = 1; text.size() < numBytes; ++line)
        text += std::to_string(line) + ". An old pond, 古池や🐸\n";
    return text;
}

/// Comparable between the processes of one machine.
inline long long monotonicMs() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    constexpr long long kMsPerS = 1000, kNsPerMs = 1'000'000;
    return static_cast<long long>(now.tv_sec) * kMsPerS + now.tv_nsec / kNsPerMs;
}

/// "U ID TEXT": the message of a person with this id is stored (so the app believes).
inline constexpr char kStoredLine = 'U';
/// "T ID LENGTH MS": so many UTF-16 units of this reply were shown at that time.
inline constexpr char kShownLine = 'T';
/// "R": the app is there.
inline constexpr char kReadyLine = 'R';

}  // namespace hokku::testing
