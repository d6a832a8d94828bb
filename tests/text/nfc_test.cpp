// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/nfc.h"

#include <utf8proc.h>

#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "support/catch.h"

using hokku::append_utf8;
using hokku::to_nfc;

namespace {

std::string nfc(std::string_view text) {
    std::string buffer;
    return std::string(to_nfc(text, buffer));
}

// The library's own way, which is right but quadratic for long runs of marks.
std::string reference(const std::string& text) {
    utf8proc_uint8_t* mapped = nullptr;
    const auto size =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                     static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                     static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    REQUIRE(size >= 0);
    std::string result(reinterpret_cast<const char*>(mapped), static_cast<size_t>(size));
    std::free(mapped);
    return result;
}

}  // namespace

TEST_CASE("to_nfc: composes, orders marks and leaves the rest alone", "[text][quick]") {
    CHECK(nfc("plain") == "plain");
    CHECK(nfc("e\xCC\x81") == "\xC3\xA9");
    CHECK(nfc("xe\xCC\x81y") == "x\xC3\xA9y");
    CHECK(nfc("\xCC\x81") == "\xCC\x81");
    CHECK(nfc("\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8") == "\xEA\xB0\x81");  // Hangul jamo
    CHECK(nfc("\xEA\xB0\x80\xE1\x86\xA8") == "\xEA\xB0\x81");
    CHECK(nfc("q\xCC\x87\xCC\xA3") == "q\xCC\xA3\xCC\x87");  // dot below before dot above
    CHECK(nfc("\xE2\x84\xAB") == "\xC3\x85");                // Angstrom sign
    CHECK(nfc("\xE3\x81\x8B\xE3\x82\x99") == "\xE3\x81\x8C");
    CHECK(nfc("") == "");
}

TEST_CASE("to_nfc: equals utf8proc on every character, alone and between", "[text][quick]") {
    size_t num_wrong = 0;
    for (char32_t c = 0; c <= 0x10FFFF; ++c) {
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        if (c == 0x30000) c = 0xE0000;  // nothing but unassigned planes between
        if (c == 0xE1000) break;
        std::string text;
        append_utf8(text, c);
        text = "a" + text + "\xCC\x81";
        if (nfc(text) != reference(text)) ++num_wrong;
    }
    CHECK(num_wrong == 0);
}

TEST_CASE("to_nfc: equals utf8proc on random text", "[text][quick]") {
    std::mt19937 random(7);
    const std::vector<std::pair<char32_t, char32_t>> ranges = {
        {'a', 'z'},         {0xC0, 0x24F},    {0x300, 0x36F},   {0x390, 0x3CE},
        {0x591, 0x5C7},     {0x64B, 0x65F},   {0x900, 0x9FF},   {0xB3E, 0xB57},
        {0x1100, 0x11FF},   {0x1E00, 0x1FFF}, {0x2126, 0x212B}, {0x3041, 0x30FF},
        {0xAC00, 0xAC80},   {0xF900, 0xFA6A}, {0xFB1D, 0xFB4E}, {0x110AB, 0x110BA},
        {0x1D157, 0x1D165}, {0x4E00, 0x4E10}};
    for (int round = 0; round < 3000; ++round) {
        std::string text;
        for (int k = 0; k < 12; ++k) {
            const auto& range = ranges[random() % ranges.size()];
            append_utf8(text, range.first + static_cast<char32_t>(
                                                random() % (range.second - range.first + 1)));
        }
        if (nfc(text) != reference(text)) FAIL("text " << text);
    }
}

TEST_CASE("to_nfc: a long run of mixed marks takes linear time", "[text][quick]") {
    std::string text = "a";
    for (int k = 0; k < 200'000; ++k) text += "\xCC\x81\xCC\xA3";  // above, below
    const std::string result = nfc(text);
    CHECK(result.substr(0, 3) == "\xE1\xBA\xA1");  // a with dot below
    CHECK(result.size() == text.size());           // three bytes for the three of a and one mark
}
