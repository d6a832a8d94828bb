// SPDX-License-Identifier: Apache-2.0
// Unicode normalisation form C by utf8proc, in linear time for any text. Text that is in that form
// already, which nearly all text is, costs one scan.
#pragma once

#include <string>
#include <string_view>

namespace hokku {

/// The NFC form of `text`: `text` itself, or a view of `buffer`, which is overwritten.
///
/// Needs  : text is well-formed UTF-8.
/// Source : Unicode Standard Annex 15.
std::string_view to_nfc(std::string_view text, std::string& buffer);

}  // namespace hokku
