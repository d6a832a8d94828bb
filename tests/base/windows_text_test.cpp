// SPDX-License-Identifier: Apache-2.0
#include "base/windows_text.h"

#include "support/catch.h"

using hokku::utf16_from_utf8;
using hokku::utf8_from_utf16;

TEST_CASE("windows text: both directions agree on valid text", "[base][quick]") {
    CHECK(utf16_from_utf8("aß俳😀") == L"aß俳\xD83D\xDE00");
    CHECK(utf8_from_utf16(L"aß俳\xD83D\xDE00") == "aß俳😀");
    CHECK(utf16_from_utf8("").empty());
    CHECK(utf8_from_utf16(L"").empty());
    CHECK(utf8_from_utf16(L"\xFFFF\xD7FF") == "\xef\xbf\xbf\xed\x9f\xbf");
}

TEST_CASE("windows text: what is invalid becomes U+FFFD", "[base][quick]") {
    CHECK(utf8_from_utf16(L"a\xD83D") == "a\xef\xbf\xbd");
    CHECK(utf8_from_utf16(L"\xDE00\xD83Dz") == "\xef\xbf\xbd\xef\xbf\xbdz");
    CHECK(utf16_from_utf8("a\xff") == L"a\xFFFD");
    CHECK(utf16_from_utf8("\xed\xa0\x80") == L"\xFFFD\xFFFD\xFFFD");
}

TEST_CASE("windows_message: one line, for unknown numbers too", "[base][quick]") {
    const std::string absent = hokku::windows_message(2);
    CHECK_FALSE(absent.empty());
    CHECK(absent.find('\n') == std::string::npos);
    CHECK(hokku::windows_message(0xE0001234) == "error 3758101044");
}
