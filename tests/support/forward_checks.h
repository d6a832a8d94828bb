// SPDX-License-Identifier: Apache-2.0
// Small checks that the tests of the forward pass share.
#pragma once

#include <cmath>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "support/catch.h"
#include "support/model_runner.h"

namespace hokku::testing {

/// The value, or a failed test with the error's text.
template <class T>
T value_of(Result<T> result) {
    if (!result.ok()) FAIL(result.error().message());
    return std::move(result).value();
}

inline std::unique_ptr<ModelRunner> open_or_fail(const std::filesystem::path& path,
                                                 const ModelRunner::Options& options = {}) {
    return value_of(ModelRunner::open(path, options));
}

/// Largest absolute difference; not-a-number when either side has one.
inline float max_difference(std::span<const float> a, std::span<const float> b) {
    REQUIRE(a.size() == b.size());
    float max = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        const float difference = std::abs(a[i] - b[i]);
        if (!(difference <= max)) max = difference;
    }
    return max;
}

/// Root mean square of the difference over that of the reference.
inline double relative_error(std::span<const float> values, std::span<const float> reference) {
    REQUIRE(values.size() == reference.size());
    double difference = 0, norm = 0;
    for (size_t i = 0; i < values.size(); ++i) {
        const double d = static_cast<double>(values[i]) - static_cast<double>(reference[i]);
        difference += d * d;
        norm += static_cast<double>(reference[i]) * static_cast<double>(reference[i]);
    }
    return std::sqrt(difference / norm);
}

/// Row `index` of logits [rows][num_vocab].
inline std::span<const float> row_of(std::span<const float> logits, size_t index,
                                     size_t num_vocab) {
    return logits.subspan(index * num_vocab, num_vocab);
}

}  // namespace hokku::testing
