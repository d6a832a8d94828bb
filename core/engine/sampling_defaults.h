// SPDX-License-Identifier: Apache-2.0
// Sampling defaults: what the makers of a model recommend, as its file has it.
#pragma once

#include "gguf/gguf_file.h"
#include "hokku/sampling.h"

namespace hokku {

/// Values that make no sense are left out.
/// Source : the keys general.sampling.*, as llama.cpp writes and reads them since November 2025.
SamplingDefaults read_sampling_defaults(const GgufMetadata& metadata);

}  // namespace hokku
