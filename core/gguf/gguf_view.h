// SPDX-License-Identifier: Apache-2.0
// A GgufFile over bytes that somebody else holds: a plug-in looks at the mapping of its core.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "gguf/gguf_file.h"
#include "hokku/result.h"

namespace hokku {

struct GgufBytes {
    std::filesystem::path path;  ///< For messages.
    std::span<const std::byte> bytes;
};

/// One file, or a whole set in order. The bytes outlive it.
///
/// Errors : as GgufFile::open, but for io.
Result<GgufFile> view_gguf(std::span<const GgufBytes> files);

}  // namespace hokku
