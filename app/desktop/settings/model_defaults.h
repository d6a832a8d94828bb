// SPDX-License-Identifier: Apache-2.0
// ModelDefaults: the sampling values that the makers of a model have put into its file.
#pragma once

#include <filesystem>
#include <optional>

#include "hokku/sampling.h"

namespace hokku::desktop {

struct ModelDefaults {
    std::optional<float> temperature, topP, minP, repeatPenalty;
    std::optional<int32_t> topK;

    void applyTo(SamplingOptions& sampling) const;
    bool operator==(const ModelDefaults&) const = default;
};

/// Empty where the file has none, or cannot be read. Values that make no sense are left out.
///
/// Threads: any.
/// Cost   : reads the header of the file.
/// Source : the keys general.sampling.*, as llama.cpp writes and reads them since November 2025.
ModelDefaults readModelDefaults(const std::filesystem::path& path);

}  // namespace hokku::desktop
