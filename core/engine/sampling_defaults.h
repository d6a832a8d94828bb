// SPDX-License-Identifier: Apache-2.0
// Sampling defaults: what the makers of a model recommend, as its file has it; for a few small
// models that suffer most from other values, as their model cards have it.
#pragma once

#include "gguf/gguf_file.h"
#include "hokku/sampling.h"

namespace hokku {

/// Values that make no sense are left out. The file goes before the cards.
/// Source : the keys general.sampling.*, as llama.cpp writes and reads them since November 2025.
SamplingDefaults read_sampling_defaults(const GgufMetadata& metadata);

}  // namespace hokku
