// SPDX-License-Identifier: Apache-2.0
#include "base/windows_text.h"

#include <windows.h>

#include <iterator>

#include "base/utf8.h"

namespace hokku {

std::wstring utf16_from_utf8(std::string_view text) {
    std::wstring wide;
    for (size_t at = 0; at < text.size();) {
        const Utf8Char character = decode_utf8(text, at);
        at += character.num_bytes;
        const char32_t code = character.code_point;
        if (code < 0x10000) {
            wide.push_back(static_cast<wchar_t>(code));
        } else {
            wide.push_back(static_cast<wchar_t>(0xD800 + ((code - 0x10000) >> 10)));
            wide.push_back(static_cast<wchar_t>(0xDC00 + ((code - 0x10000) & 0x3FF)));
        }
    }
    return wide;
}

std::string utf8_from_utf16(std::wstring_view text) {
    std::string utf8;
    for (size_t at = 0; at < text.size(); ++at) {
        const char32_t unit = text[at];
        const char32_t next = at + 1 < text.size() ? text[at + 1] : 0;
        const bool is_pair = unit >> 10 == 0xD800 >> 10 && next >> 10 == 0xDC00 >> 10;
        // A surrogate by itself becomes U+FFFD.
        append_utf8(utf8, is_pair ? 0x10000 + ((unit & 0x3FF) << 10) + (next & 0x3FF) : unit);
        if (is_pair) ++at;
    }
    return utf8;
}

std::string windows_message(uint32_t error_code) {
    wchar_t buffer[512];
    const DWORD flags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
    const DWORD length = FormatMessageW(flags, nullptr, error_code, 0, buffer,
                                        static_cast<DWORD>(std::size(buffer)), nullptr);
    std::string text = utf8_from_utf16({buffer, length});
    while (!text.empty() && std::string_view("\r\n .").find(text.back()) != std::string_view::npos)
        text.pop_back();
    return text.empty() ? "error " + std::to_string(error_code) : text;
}

}  // namespace hokku
