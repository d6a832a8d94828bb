// SPDX-License-Identifier: Apache-2.0
// Small checks that the tests of the forward pass share.
#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/model_runner.h"
#include "support/scratch_folder.h"

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

/// A copy of a model of float32 weights with a value that is not a number in one tensor.
class DamagedModel {
  public:
    DamagedModel(const std::filesystem::path& original, const std::string& tensor_name)
        : path_(folder_ / "model.gguf") {
        std::filesystem::copy_file(original, path_);
        const auto file = value_of(GgufFile::open(original));
        const GgufTensor* tensor = file.find_tensor(tensor_name);
        REQUIRE(tensor != nullptr);
        const float nan = std::numeric_limits<float>::quiet_NaN();
        std::fstream stream(path_, std::ios::binary | std::ios::in | std::ios::out);
        stream.seekp(static_cast<std::streamoff>(tensor->file_offset + 8));
        stream.write(reinterpret_cast<const char*>(&nan), sizeof nan);
    }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    ScratchFolder folder_;
    std::filesystem::path path_;
};

/// Of a model of three layers whose values are not finite in one place: the error names the place,
/// whether the step has one row or several.
inline void expect_nonfinite_is_named(const std::filesystem::path& model,
                                      const ModelRunner::Options& options = {}) {
    const std::vector<int32_t> tokens = {1, 2, 3, 4, 5, 6, 7};
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"blk.1.ffn_down.weight", "layer 1"},
        {"blk.2.attn_v.weight", "layer 2"},
        {"output.weight", "output head"}};
    for (const auto& [name, where] : cases) {
        const DamagedModel damaged(model, name);
        const auto runner = open_or_fail(damaged.path(), options);
        for (const size_t count : {size_t{1}, tokens.size()}) {
            runner->reset();
            const auto result = runner->append(std::span(tokens).first(count));
            REQUIRE_FALSE(result.ok());
            CHECK(result.error().code == ErrorCode::numeric);
            CHECK(result.error().where.find(where) != std::string::npos);
        }
    }
}

}  // namespace hokku::testing
