// SPDX-License-Identifier: Apache-2.0
#include "sampling/random.h"

#include <bit>
#include <random>

namespace hokku {

uint64_t split_mix(uint64_t& state) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

RandomSource::RandomSource(uint64_t seed) {
    for (uint64_t& word : state_) word = split_mix(seed);
}

uint64_t RandomSource::next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
}

double RandomSource::next_unit() {
    return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

uint64_t draw_seed() {
    return std::random_device{}();
}

}  // namespace hokku
