// SPDX-License-Identifier: Apache-2.0
// The printable characters by which byte-level BPE vocabularies write the 256 bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hokku {

/// Appends the bytes that `text` (of a vocabulary entry) stands for; false, with nothing appended,
/// when some character of it is not one of the 256.
///
/// Source : GPT-2's encoder, bytes_to_unicode: printable Latin-1 stands for itself, the other
///          bytes for U+0100 upwards in their order.
bool append_bytes_of_characters(std::string_view text, std::string& out);

}  // namespace hokku
