// SPDX-License-Identifier: Apache-2.0
// A complete llama model of a few kilobytes with random weights: loads, tokenises and generates
// (nonsense). For tests that need some model, and for tests that break one piece by piece.
#pragma once

#include <cstdint>

#include "support/gguf_writer.h"

namespace hokku::testing {

/// Dimensions of the tiny model.
struct TinyLlama {
    static constexpr uint32_t kLayers = 2, kDim = 32, kHeads = 4, kKvHeads = 2, kHeadDim = 8;
    static constexpr uint32_t kHidden = 64, kContext = 256;
    /// 256 byte tokens in the order of their bytes, three merged tokens, then BOS and EOS.
    static constexpr uint32_t kNumVocab = 261, kBos = 259, kEos = 260;
};

/// The model with a byte-level BPE vocabulary (tokenizer model gpt2, pre-tokenizer gpt-2) and a
/// chat template. The same bytes on every call.
GgufWriter make_tiny_llama();

/// The same model with a SentencePiece vocabulary of as many tokens: unknown, BOS, EOS, 256 byte
/// tokens <0x00> to <0xFF>, then "▁a" and "▁".
GgufWriter make_tiny_llama_spm();

}  // namespace hokku::testing
