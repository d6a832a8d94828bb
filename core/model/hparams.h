// SPDX-License-Identifier: Apache-2.0
// Hparams: typed, bounded reading of "<architecture>.<key>" from a file's metadata for the
// declarations in model/arch/. The first fault is kept and everything read after it is a harmless
// default, so that a declaration reads as a plain list and is checked once at its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/gguf_file.h"
#include "hokku/result.h"

namespace hokku {

/// Threads: one at a time.
class Hparams {
  public:
    Hparams(const GgufFile& file, std::string_view architecture);

    [[nodiscard]] const GgufFile& file() const { return file_; }
    [[nodiscard]] const std::string& architecture() const { return architecture_; }
    [[nodiscard]] bool has(std::string_view key) const;

    /// The value of a key that must be there, within [min, max].
    uint32_t u32(std::string_view key, uint32_t min, uint32_t max);
    /// The value, or `fallback` (not range-checked) where the key is absent.
    uint32_t u32_or(std::string_view key, uint32_t fallback, uint32_t min, uint32_t max);
    float f32(std::string_view key, float min, float max);
    float f32_or(std::string_view key, float fallback, float min, float max);
    bool flag_or(std::string_view key, bool fallback);
    std::string text_or(std::string_view key, std::string_view fallback);

    /// One value a layer: the key holds one number for all layers or an array of `count`.
    std::vector<uint32_t> per_layer(std::string_view key, uint32_t count, uint32_t min,
                                    uint32_t max);
    std::vector<uint32_t> per_layer_or(std::string_view key, uint32_t count, uint32_t fallback,
                                       uint32_t min, uint32_t max);
    /// An array of floats of exactly `count` values under its full name (no prefix).
    std::vector<float> floats_of_full_key(const std::string& full_key, size_t count);

    /// Keeps the first error only.
    void fail(Error error);
    /// For rules between values: "llama.rope.dimension_count", "even, at most 64".
    void fail_key(std::string_view key, std::string what, std::string expected);
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  private:
    template <class T>
    std::optional<T> take(Result<std::optional<T>> found);
    [[nodiscard]] std::string full(std::string_view key) const;
    void missing(std::string_view key);

    const GgufFile& file_;
    std::string architecture_;
    std::optional<Error> error_;
};

}  // namespace hokku
