// SPDX-License-Identifier: Apache-2.0
// Token ids as they are written on the command line and in files: 1,2,3.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hokku/result.h"
#include "hokku/tokenizer.h"

namespace hokku::cli {

/// Ids separated by commas or white space, with or without the brackets of a JSON array around
/// them. Errors: bad_argument naming the text at fault.
Result<std::vector<TokenId>> parse_token_list(std::string_view text);
/// As above; "@FILE" takes the list from a file ("@-": stdin). Not empty.
Result<std::vector<TokenId>> read_token_list(const std::string& text, const std::string& option);
/// A replacement "INDEX=ID": the ids before that index (from 0) are kept, then comes ID, and the
/// rest is dropped. Errors: bad_argument naming it.
Result<void> replace_token(const std::string& replacement, std::vector<TokenId>& ids);
/// "1,2,3".
std::string format_token_list(std::span<const TokenId> ids);

/// Errors : bad_argument naming the option and the id that the model does not have.
Result<void> check_ids(std::span<const TokenId> ids, uint32_t num_vocab, const char* option);

}  // namespace hokku::cli
