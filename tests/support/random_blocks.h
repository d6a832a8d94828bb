// SPDX-License-Identifier: Apache-2.0
// Blocks of every weight type with random codes, whose scales are chosen so that the values have a
// wanted deviation and, where the type has minima, no mean.
#pragma once

#include <cstdint>
#include <cstring>

#include "gguf/tensor_type.h"

namespace hokku::testing {

/// xorshift64*: quick enough for gigabytes. Source: Vigna 2016, arXiv:1402.6246.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
    uint64_t next() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545f4914f6cdd1du;
    }
    /// In [-1, 1).
    float signed_unit() { return static_cast<float>(next() >> 40) / 8388608.0f - 1.0f; }
    void fill(char* out, size_t bytes) {
        for (; bytes >= 8; out += 8, bytes -= 8) {
            const uint64_t value = next();
            std::memcpy(out, &value, 8);
        }
        const uint64_t value = next();
        std::memcpy(out, &value, bytes);
    }

  private:
    uint64_t state_;
};

/// Where a block keeps its f16 scales; -1: none.
struct HalfPlaces {
    int first = -1, second = -1;
};
HalfPlaces half_places(TensorType type);

/// The f16 scale of IQ1_M, which is spread over four words.
void spread_iq1_m_scale(uint8_t* block, uint16_t half);

class RandomBlocks {
  public:
    /// Of types that can_dequantize().
    RandomBlocks(TensorType type, float deviation);
    void write(Random& random, char* out) const;

  private:
    void write_scaled(Random& random, char* out, float first, float second) const;
    /// Mean and root mean square of values with these scales.
    struct Moments {
        double mean = 0, deviation = 0;
    };
    [[nodiscard]] Moments measure(float first, float second) const;

    TensorType type_;
    float deviation_, first_ = 1, second_ = 0;
};

}  // namespace hokku::testing
