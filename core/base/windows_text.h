// SPDX-License-Identifier: Apache-2.0
// Text for and from Windows, which speaks UTF-16. Only for the *_windows.cpp files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hokku {

/// Invalid parts become U+FFFD in both directions, so that neither fails.
std::wstring utf16_from_utf8(std::string_view text);
std::string utf8_from_utf16(std::wstring_view text);

/// What the system says of one of its error codes, without the line end.
std::string windows_message(uint32_t error_code);

}  // namespace hokku
