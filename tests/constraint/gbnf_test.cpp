// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "constraint/test_vocabulary.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

bool matches(const std::string& grammar, std::string_view text) {
    return accepts(*must_make_gbnf(grammar), text);
}

std::string gbnf_error(std::string text) {
    ConstraintSpec spec;
    spec.kind = ConstraintKind::gbnf;
    spec.text = std::move(text);
    return error_of(spec);
}

std::string repeated(std::string_view text, size_t count) {
    std::string all;
    for (size_t i = 0; i < count; ++i) all += text;
    return all;
}

}  // namespace

TEST_CASE("GBNF: literals, groups, alternatives and rules", "[constraint][quick]") {
    const std::string grammar =
        "# greetings\n"
        "root ::= greeting (\", \" name)? \"!\"\n"
        "greeting ::= \"Hi\" | \"Hello\" |\n"
        "   \"Good \" (\"day\" | \"night\")\n"
        "name ::= [A-Z] [a-z_-]*  # a name\n";
    auto constraint = must_make_gbnf(grammar);
    CHECK(accepts(*constraint, "Hi!"));
    CHECK(accepts(*constraint, "Hello, Ann!"));
    CHECK(accepts(*constraint, "Good night, B!"));
    CHECK(accepts(*constraint, "Hi, Jo_e-l!"));
    CHECK_FALSE(accepts(*constraint, "Hi"));
    CHECK_FALSE(accepts(*constraint, "Good , A!"));
    CHECK_FALSE(accepts(*constraint, "Hi, ann!"));
    CHECK_FALSE(accepts(*constraint, "Hi!!"));
    CHECK_FALSE(accepts(*constraint, ""));
}

TEST_CASE("GBNF: an alternative may begin a line", "[constraint][quick]") {
    CHECK(matches("root ::= \"a\"\n  | \"b\"\n\n", "b"));
    CHECK(matches("root ::=\n  \"a\" |\n  \"b\"", "b"));
    CHECK(matches("root ::= x\r\nx ::= \"q\"\r\n", "q"));
}

TEST_CASE("GBNF: repetitions count exactly", "[constraint][quick]") {
    CHECK(matches("root ::= \"a\"{3}", "aaa"));
    CHECK_FALSE(matches("root ::= \"a\"{3}", "aa"));
    CHECK_FALSE(matches("root ::= \"a\"{3}", "aaaa"));
    CHECK(matches("root ::= \"ab\"{2,}", "abababab"));
    CHECK_FALSE(matches("root ::= \"ab\"{2,}", "ab"));
    CHECK(matches("root ::= [ab]{0,2}", ""));
    CHECK(matches("root ::= [ab]{ 0 , 2 }", "ba"));
    CHECK_FALSE(matches("root ::= [ab]{0,2}", "bab"));
    CHECK(matches("root ::= \"a\"+ \"b\"*", "aaab"));
    CHECK_FALSE(matches("root ::= \"a\"+ \"b\"*", "b"));
    CHECK(matches("root ::= \"a\"{0} \"b\"", "b"));
    CHECK(matches("root ::= (\"a\"{2,3}){2}", "aaaaa"));
    CHECK_FALSE(matches("root ::= (\"a\"{2,3}){2}", "aaaaaaa"));
    // A gap in the counts: 3 or 6 times, never 4.
    CHECK(matches("root ::= (\"a\"{3}){1,2}", "aaa"));
    CHECK_FALSE(matches("root ::= (\"a\"{3}){1,2}", "aaaa"));
    CHECK(matches("root ::= (\"a\"{3}){1,2}", "aaaaaa"));
}

TEST_CASE("GBNF: characters are Unicode, matched byte by byte", "[constraint][quick]") {
    CHECK(matches("root ::= [^a]", "\xE4\xB8\xAD"));
    CHECK_FALSE(matches("root ::= [^a]", "a"));
    CHECK_FALSE(matches("root ::= [^\\u4E2D]", "\xE4\xB8\xAD"));
    CHECK(matches("root ::= [^\\u4E2D]", "\xE4\xB8\xAE"));
    CHECK(matches("root ::= .", "\xF0\x9F\x98\x80"));
    CHECK_FALSE(matches("root ::= .", "\xF0\x9F\x98"));
    CHECK_FALSE(matches("root ::= .", "\xED\xA0\x80"));  // A surrogate.
    CHECK_FALSE(matches("root ::= .", "\xC0\x80"));      // Overlong.
    CHECK_FALSE(matches("root ::= .", "\xF4\x90\x80\x80"));
    CHECK(matches("root ::= [\xC3\xA0-\xC3\xBF]{2}", "\xC3\xA9\xC3\xA8"));
    CHECK(matches("root ::= [\\x41-\\x43\\U0001F600]+", "AC\xF0\x9F\x98\x80"));
    CHECK(matches("root ::= \"\\t\\\"\\\\\\u00e9\"", "\t\"\\\xC3\xA9"));
    CHECK(matches("root ::= [-\\]^a]+", "-]^a"));
    CHECK(matches("root ::= [^\\n]+ \"\\n\"", "text\n"));
}

TEST_CASE("GBNF: every character belongs to exactly one of a class and its negation",
          "[constraint][quick]") {
    auto inside =
        must_make_gbnf("root ::= [\\u0041-\\u0805\\u1007-\\u3010\\U00010100-\\U00042345]");
    auto outside =
        must_make_gbnf("root ::= [^\\u0041-\\u0805\\u1007-\\u3010\\U00010100-\\U00042345]");
    for (char32_t c = 1; c <= 0x10FFFF; c += 1 + c / 37) {
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        std::string text;
        if (c < 0x80) {
            text = {static_cast<char>(c)};
        } else if (c < 0x800) {
            text = {static_cast<char>(0xC0 | (c >> 6)), static_cast<char>(0x80 | (c & 63))};
        } else if (c < 0x10000) {
            text = {static_cast<char>(0xE0 | (c >> 12)), static_cast<char>(0x80 | ((c >> 6) & 63)),
                    static_cast<char>(0x80 | (c & 63))};
        } else {
            text = {static_cast<char>(0xF0 | (c >> 18)), static_cast<char>(0x80 | ((c >> 12) & 63)),
                    static_cast<char>(0x80 | ((c >> 6) & 63)), static_cast<char>(0x80 | (c & 63))};
        }
        const bool expected = (c >= 0x41 && c <= 0x805) || (c >= 0x1007 && c <= 0x3010) ||
                              (c >= 0x10100 && c <= 0x42345);
        INFO("U+" << std::hex << static_cast<uint32_t>(c));
        REQUIRE(accepts(*inside, text) == expected);
        REQUIRE(accepts(*outside, text) == !expected);
    }
}

TEST_CASE("GBNF: recursion and ambiguity", "[constraint][quick]") {
    const std::string nested = "root ::= \"(\" root \")\" | \"x\"";
    CHECK(matches(nested, "((x))"));
    CHECK_FALSE(matches(nested, "((x)"));
    CHECK_FALSE(matches(nested, "(x))"));
    CHECK(matches(nested, repeated("(", 3000) + "x" + repeated(")", 3000)));
    const std::string palindrome = "root ::= \"a\" root \"a\" | \"b\" root \"b\" | \"c\"?";
    CHECK(matches(palindrome, "abba"));
    CHECK(matches(palindrome, "abcba"));
    CHECK_FALSE(matches(palindrome, "abab"));
    // Each "a" may be closed by an x or a y: 2^n derivations on the way.
    const std::string forks = "root ::= \"a\" root \"x\" | \"a\" root \"y\" | \"b\"";
    CHECK(matches(forks, repeated("a", 500) + "b" + repeated("xy", 250)));
    CHECK_FALSE(matches(forks, repeated("a", 500) + "b" + repeated("xy", 251)));
    const std::string sums = "root ::= term (\"+\" term)*\nterm ::= [0-9]+ | \"(\" root \")\"";
    CHECK(matches(sums, "1+(2+33)+4"));
    CHECK_FALSE(matches(sums, "1+(2+33+4"));
    const std::string catalan = "root ::= \"a\" root root | \"a\"";
    CHECK(matches(catalan, repeated("a", 201)));
    CHECK_FALSE(matches(catalan, repeated("a", 200)));
    // Many ways to begin with the same rule.
    std::string chain;
    for (int i = 0; i < 60; ++i)
        chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + " \"x\" | r" +
                 std::to_string(i + 1) + " \"y\"\n";
    CHECK(matches("root ::= r0\n" + chain + "r60 ::= \"a\"", "a" + repeated("xyx", 20)));
}

TEST_CASE("GBNF: token literals", "[constraint][quick]") {
    auto constraint = must_make_gbnf("root ::= <ctl> [a-z]+ <[1]> (!<[300]> \"!\")?");
    TokenMask mask(mixed_vocabulary()->num_tokens());
    REQUIRE(constraint->allowed_tokens(mask).ok());
    CHECK(mask.count() == 1);
    CHECK(mask.test(kControlToken));
    REQUIRE(constraint->accept(kControlToken).ok());
    REQUIRE(constraint->accept(byte_token('q')).ok());
    REQUIRE(constraint->allowed_tokens(mask).ok());
    CHECK(mask.test(kControlToken));
    REQUIRE(constraint->accept(kControlToken).ok());
    CHECK(constraint->is_complete());
    // Any token of text but the one.
    REQUIRE(constraint->allowed_tokens(mask).ok());
    CHECK_FALSE(mask.test(300));
    CHECK_FALSE(mask.test(kControlToken));
    CHECK(mask.count() == mixed_vocabulary()->num_tokens() - 2);
    REQUIRE(constraint->accept(299).ok());
    CHECK_FALSE(constraint->is_complete());
    REQUIRE(constraint->accept(byte_token('!')).ok());
    CHECK(constraint->is_finished());
    CHECK(gbnf_error("root ::= <nope>").find("no token <nope>") != std::string::npos);
    CHECK(gbnf_error("root ::= <[999999]>").find("no token") != std::string::npos);
    CHECK(gbnf_error("root ::= <[0]>").find("ends the generation") != std::string::npos);
    CHECK(gbnf_error("root ::= <ctl").find("not closed") != std::string::npos);
}

TEST_CASE("GBNF: errors name line and column", "[constraint][quick]") {
    CHECK(gbnf_error("root ::= \"a\"\nb ::= [z-a]") ==
          "a range of characters runs backwards (grammar, line 2, column 8): expected the lower "
          "character first");
    CHECK(gbnf_error("root ::= \xC3\xA9") ==
          "unexpected \"\xC3\xA9\" (grammar, line 1, column 10): expected a literal, a character "
          "class, a rule name or a group");
    CHECK(gbnf_error("root ::= a").find("rule \"a\" is not defined (grammar, line 1, column 10)") ==
          0);
    CHECK(gbnf_error("rot ::= \"a\"").find("no rule \"root\"") != std::string::npos);
    CHECK(gbnf_error("").find("no rule \"root\"") != std::string::npos);
    CHECK(gbnf_error("root ::= \"a").find("not closed") != std::string::npos);
    CHECK(gbnf_error("root ::= (\"a\"").find("not closed") != std::string::npos);
    CHECK(gbnf_error("root ::= \"a\")").find("unexpected \")\"") == 0);
    CHECK(gbnf_error("root ::= *").find("unexpected \"*\"") == 0);
    CHECK(gbnf_error("root ::= \"\\q\"").find("unknown escape") == 0);
    CHECK(gbnf_error("root ::= \"\\xZ1\"").find("a bad escape") == 0);
    CHECK(gbnf_error("root ::= \"\\uD800\"").find("a bad escape") == 0);
    CHECK(gbnf_error("root ::= [").find("not closed") != std::string::npos);
    CHECK(gbnf_error("root ::= []").find("empty character class") != std::string::npos);
    CHECK(gbnf_error("root ::= \"a\"{3,2}").find("{3,2}") != std::string::npos);
    CHECK(gbnf_error("root ::= \"a\"{x}").find("unexpected \"x\"") == 0);
    CHECK(gbnf_error("root ::= \"a\"{2,3").find("unexpected the end") == 0);
    CHECK(gbnf_error("root ::= \"a\"\nroot ::= \"b\"").find("defined twice") != std::string::npos);
    CHECK(gbnf_error("root = \"a\"").find("\"::=\"") != std::string::npos);
    CHECK(gbnf_error("root ::= \"\xFF\"").find("not valid UTF-8") != std::string::npos);
}
