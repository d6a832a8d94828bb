// SPDX-License-Identifier: Apache-2.0
// The texts that break repetitions, as the token sequences in which they may occur.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hokku/tokenizer.h"

namespace hokku {

/// For each text: the tokens that contain it, and those that end with its beginning, followed by
/// what the tokenizer makes of the rest.
///
/// Cost   : linear in the bytes of the vocabulary.
/// Source : koboldcpp pull request 982, as in llama.cpp.
std::vector<std::vector<TokenId>> find_dry_breakers(std::span<const std::string> texts,
                                                    const Tokenizer& tokenizer);

}  // namespace hokku
