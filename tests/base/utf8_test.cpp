// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <string>

#include "support/catch.h"

using hokku::append_utf8;
using hokku::decode_utf8;
using hokku::is_valid_utf8;
using hokku::to_printable;
using hokku::to_valid_utf8;
using hokku::utf8_prefix_bytes;

namespace {

const std::string kMark = "\xEF\xBF\xBD";  // U+FFFD

std::string marks(size_t count) {
    std::string out;
    for (size_t i = 0; i < count; ++i) out += kMark;
    return out;
}

}  // namespace

TEST_CASE("utf8: each maximal invalid subpart becomes one U+FFFD", "[base][quick]") {
    // Unicode 15, section 3.9, tables 3-8 to 3-11.
    CHECK(to_valid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41") == marks(8) + "A");
    CHECK(to_valid_utf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41") == marks(8) + "A");
    CHECK(to_valid_utf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42") == marks(5) + "A" + marks(2) + "B");
    CHECK(to_valid_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41") == marks(4) + "A");
}

TEST_CASE("utf8: text that ends within a character gives one mark", "[base][quick]") {
    CHECK(to_valid_utf8("a\xE6\xAD") == "a" + kMark);
    CHECK(to_valid_utf8("\xE2\x80") == kMark);
    CHECK(to_valid_utf8("\xF0\x9F\x98") == kMark);
    CHECK(to_valid_utf8("\xC3") == kMark);
}

TEST_CASE("utf8: valid text is kept as it is", "[base][quick]") {
    const std::string text =
        "plain ascii that is longer than eight bytes \xC3\xA9 \xE4\xB8\xAD "
        "\xF0\x9F\x98\x80 \xEF\xBF\xBF \xF4\x8F\xBF\xBF \xED\x9F\xBF";
    CHECK(is_valid_utf8(text));
    CHECK(to_valid_utf8(text) == text);
    CHECK(is_valid_utf8(""));
    CHECK(is_valid_utf8(std::string_view("\0", 1)));
    CHECK_FALSE(is_valid_utf8("12345678\xFF"));
}

TEST_CASE("utf8: every code point survives encoding and decoding", "[base][quick]") {
    size_t num_wrong = 0;
    for (char32_t c = 0; c <= 0x10FFFF; ++c) {
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        std::string text;
        append_utf8(text, c);
        const auto decoded = decode_utf8(text, 0);
        if (!decoded.valid || decoded.code_point != c || decoded.num_bytes != text.size())
            ++num_wrong;
    }
    CHECK(num_wrong == 0);
    std::string text;
    append_utf8(text, 0xD800);
    append_utf8(text, 0x110000);
    CHECK(text == marks(2));
}

TEST_CASE("utf8: every lead byte with every second byte decodes as the table says",
          "[base][quick]") {
    // Well-formed two-byte starts by Unicode 15, table 3-7.
    const auto allowed = [](int lead, int second) {
        if (lead >= 0xC2 && lead <= 0xDF) return second >= 0x80 && second <= 0xBF;
        if (lead == 0xE0) return second >= 0xA0 && second <= 0xBF;
        if (lead == 0xED) return second >= 0x80 && second <= 0x9F;
        if (lead >= 0xE1 && lead <= 0xEF) return second >= 0x80 && second <= 0xBF;
        if (lead == 0xF0) return second >= 0x90 && second <= 0xBF;
        if (lead >= 0xF1 && lead <= 0xF3) return second >= 0x80 && second <= 0xBF;
        if (lead == 0xF4) return second >= 0x80 && second <= 0x8F;
        return false;
    };
    size_t num_wrong = 0;
    for (int lead = 0x80; lead < 0x100; ++lead) {
        for (int second = 0; second < 0x100; ++second) {
            const std::string text = {static_cast<char>(lead), static_cast<char>(second)};
            const auto c = decode_utf8(text, 0);
            const bool is_two_byte = lead >= 0xC2 && lead <= 0xDF;
            const uint32_t expected_bytes = allowed(lead, second) ? 2 : 1;
            const bool expected_valid = is_two_byte && allowed(lead, second);
            if (c.num_bytes != expected_bytes || c.valid != expected_valid) ++num_wrong;
        }
    }
    CHECK(num_wrong == 0);
}

TEST_CASE("utf8: a prefix never ends within a character", "[base][quick]") {
    CHECK(utf8_prefix_bytes("abc", 5) == 3);
    CHECK(utf8_prefix_bytes("abc", 2) == 2);
    const std::string text = "a\xF0\x9F\x98\x80z";
    CHECK(utf8_prefix_bytes(text, 1) == 1);
    CHECK(utf8_prefix_bytes(text, 2) == 1);
    CHECK(utf8_prefix_bytes(text, 3) == 1);
    CHECK(utf8_prefix_bytes(text, 4) == 1);
    CHECK(utf8_prefix_bytes(text, 5) == 5);
    CHECK(utf8_prefix_bytes("\x80\x80\x80\x80", 2) == 2);
    CHECK(utf8_prefix_bytes(text, 0) == 0);
}

TEST_CASE("utf8: text for messages is one short printable line", "[base][quick]") {
    CHECK(to_printable("a\nb\x1B[31m\x7F") == "a\\x0ab\\x1b[31m\\x7f");
    CHECK(to_printable("\xFF\xE4\xB8\xAD") == "\\xff\xE4\xB8\xAD");
    CHECK(to_printable("\xC2\x85") == "\\xc2\\x85");
    CHECK(to_printable(std::string(100, 'x'), 10) == "xxxxxxxxxx...");
    CHECK(to_printable("0123456789", 10) == "0123456789");
}
