// SPDX-License-Identifier: Apache-2.0
#include "sampling/llama_cpp/random_numbers.h"

#include <algorithm>
#include <cmath>

namespace hokku::llama_cpp {

// Source : std::generate_canonical of libstdc++ (bits/random.tcc): one draw of 32 bits for a float,
//          two for a double, the first one being the lower half; 1 becomes the number before it.
float RandomNumbers::next_float() {
    const float value = static_cast<float>(engine_()) / 4294967296.0f;
    return value < 1.0f ? value : std::nextafter(1.0f, 0.0f);
}

double RandomNumbers::next_double() {
    const auto low = static_cast<double>(engine_());
    const auto high = static_cast<double>(engine_());
    const double value = (low + high * 4294967296.0) / 18446744073709551616.0;
    return value < 1.0 ? value : std::nextafter(1.0, 0.0);
}

size_t RandomNumbers::next_index(std::span<const TokenData> tokens) {
    if (tokens.size() < 2) return 0;
    double total = 0, running = 0;
    for (const TokenData& token : tokens) total += static_cast<double>(token.p);
    sums_.clear();
    for (const TokenData& token : tokens)
        sums_.push_back(running += static_cast<double>(token.p) / total);
    sums_.back() = 1.0;
    const auto found = std::lower_bound(sums_.begin(), sums_.end(), next_double());
    return std::min(static_cast<size_t>(found - sums_.begin()), tokens.size() - 1);
}

}  // namespace hokku::llama_cpp
