// SPDX-License-Identifier: Apache-2.0
// RandomSource: the random numbers of sampling. The same seed gives the same numbers on every
// machine and compiler. Not for cryptography.
#pragma once

#include <array>
#include <cstdint>

namespace hokku {

/// xoshiro256** with its state filled by SplitMix64.
///
/// Source : Blackman & Vigna 2021, "Scrambled linear pseudorandom number generators",
///          arXiv:1805.01407; Steele et al. 2014, "Fast splittable pseudorandom number generators".
class RandomSource {
  public:
    explicit RandomSource(uint64_t seed);
    explicit RandomSource(const std::array<uint64_t, 4>& state) : state_(state) {}

    uint64_t next();
    /// Uniform in [0, 1), from the upper 53 bits.
    double next_unit();

  private:
    std::array<uint64_t, 4> state_;
};

/// One step of SplitMix64.
uint64_t split_mix(uint64_t& state);

/// A seed from the system's own randomness; 32 bits, so that people can type it again.
uint64_t draw_seed();

}  // namespace hokku
