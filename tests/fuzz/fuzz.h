// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share. A target is one function over any bytes, under libFuzzer's name; it
// ends the process where something does not hold that must hold for every input. `./test fuzz`
// lets libFuzzer search with it, and `./test` replays tests/fuzz/corpus with it (replay_test.cpp).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "hokku/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace hokku::testing {

inline void must(bool holds, const char* what, std::string_view detail = {}) {
    if (holds) return;
    std::cerr << "does not hold: " << what << ": " << detail << std::endl;
    std::abort();
}

/// What every error owes to the user.
inline void check_error(const Error& error) {
    const std::string message = error.message();
    must(!message.empty(), "an error has a message");
    must(is_valid_utf8(message), "a message is valid UTF-8", message);
    must(message.size() < 4'000, "a message is not endless", message.substr(0, 1000));
}

inline std::string_view text_of(const uint8_t* data, size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

}  // namespace hokku::testing
