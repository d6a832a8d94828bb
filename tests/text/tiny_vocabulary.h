// SPDX-License-Identifier: Apache-2.0
// Vocabularies small enough to tokenize by hand, as GGUF files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hokku/tokenizer.h"
#include "support/gguf_writer.h"

namespace hokku::testing {

/// Kinds as the file has them (tokenizer.ggml.token_type).
inline constexpr int32_t kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5,
                         kByte = 6;

struct TinyToken {
    std::string text;
    int32_t kind = kNormal;
    float score = 0;
};

/// Text of a byte in a byte-level vocabulary.
std::string byte_character(uint8_t byte);

/// The file with these tokens; `model` as in tokenizer.ggml.model.
GgufWriter vocabulary_file(const std::string& model, const std::vector<TinyToken>& tokens);

/// Byte-level BPE: tokens 0 to 255 are the bytes in order of their value, then follow
///   256 "he"  257 "ll"  258 "hell"  259 "hello"  260 " h"  261 "\n\n" (user-defined)
///   262 <|end|> (control)  263 <tool> (user-defined)  264 <b> (user-defined)
///   265 <table> (user-defined)  266 "aa"  267 "aaaa"
/// with merges h+e, l+l, he+ll, " "+h, hell+o, a+a, aa+aa, in this order. Pre-tokenizer gpt-2.
GgufWriter tiny_bpe();

/// SentencePiece BPE, no space prefix: 0 <unk>, 1 <s>, 2 </s>, 3 to 258 the bytes, then follow
///   259 "_" 260 "h" 261 "i" 262 "hi" 263 "_hi" 264 "o" 265 "\n" (user-defined)
///   266 "\n\n" (user-defined) 267 <img> (user-defined) 268 <eot> (control)  269 "__"
///   (user-defined, stored with real spaces)
/// where _ is U+2581. Merges by score: hi (-1) before _hi (-2).
GgufWriter tiny_sentencepiece();

/// BPE over characters (Gemma 4): 0 <eos>, 1 to 256 the bytes, 257 "_" 258 "h" 259 "i" 260 "hi"
/// 261 "_hi" 262 U+00E9 263 <|tool> (user-defined), where _ is U+2581.
GgufWriter tiny_character_bpe();

/// Writes the file, opens its tokenizer and deletes the file. Throws the error's text.
std::shared_ptr<const Tokenizer> open_tiny(const GgufWriter& file);

}  // namespace hokku::testing
