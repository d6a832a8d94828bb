// SPDX-License-Identifier: Apache-2.0
#include <random>
#include <regex>
#include <string>

#include "constraint/grammar/char_dfa.h"
#include "constraint/language/regex_parser.h"
#include "constraint/test_vocabulary.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::constraint;
using namespace hokku::testing;

namespace {

ConstraintSpec regex(std::string pattern) {
    ConstraintSpec spec;
    spec.kind = ConstraintKind::regex;
    spec.text = std::move(pattern);
    return spec;
}

bool matches(const std::string& pattern, std::string_view text) {
    return accepts(*must_make(regex(pattern), mixed_vocabulary()), text);
}

CharDfa dfa_of(const std::string& pattern, RegexMatch match = RegexMatch::whole) {
    Expressions expressions;
    const auto root = parse_regex(pattern, match, expressions);
    if (!root.ok()) FAIL(root.error().message());
    uint64_t work = 100'000'000;
    auto dfa = CharDfa::of(expressions, *root, work);
    if (!dfa.ok()) FAIL(dfa.error().message());
    return std::move(dfa).value();
}

/// All texts over "ab." of at most five characters.
std::vector<std::string> short_texts() {
    std::vector<std::string> texts{""};
    for (size_t i = 0; i < texts.size(); ++i)
        if (texts[i].size() < 5)
            for (const char c : {'a', 'b', '.'}) texts.push_back(texts[i] + c);
    return texts;
}

std::string random_pattern(std::mt19937& random, int depth) {
    static const char* const kAtoms[] = {"a",    "b",   ".",   "\\.", "[ab]",
                                         "[^a]", "\\w", "\\W", "(?:)"};
    const uint32_t kind = static_cast<uint32_t>(random()) % (depth > 0 ? 8u : 2u);
    if (kind < 2) return kAtoms[random() % 9];
    if (kind < 5) return random_pattern(random, depth - 1) + random_pattern(random, depth - 1);
    if (kind == 5)
        return "(" + random_pattern(random, depth - 1) + "|" + random_pattern(random, depth - 1) +
               ")";
    static const char* const kSuffixes[] = {"*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,2}", "*?"};
    return "(?:" + random_pattern(random, depth - 1) + ")" + kSuffixes[random() % 8];
}

}  // namespace

TEST_CASE("Regex: what it knows", "[constraint][quick]") {
    CHECK(matches("\\d{4}-\\d{2}", "2024-05"));
    CHECK_FALSE(matches("\\d{4}-\\d{2}", "2024-5"));
    CHECK(matches("^(cat|dog)s?$", "dogs"));
    CHECK_FALSE(matches("^(cat|dog)s?$", "dogss"));
    CHECK(matches("[A-Za-z_]\\w*", "_x9"));
    CHECK(matches("(?<year>[0-9]+)(?:-x)?(?P<b>y)", "1-xy"));
    CHECK(matches("a.c",
                  "a\xE4\xB8\xAD"
                  "c"));
    CHECK_FALSE(matches("a.c", "a\nc"));
    CHECK(matches("\\s\\S", "\xE2\x80\x83x"));
    CHECK(matches("[^\\s\\d]+", "ab"));
    CHECK_FALSE(matches("[^\\s\\d]+", "a1"));
    CHECK(matches("[\\w.-]+@[\\w-]+\\.com", "a.b-c@d.com"));
    CHECK(matches("\\x41\\u00e9\\u{1F600}\\t\\/\\-", "A\xC3\xA9\xF0\x9F\x98\x80\t/-"));
    CHECK(matches("x{2,3}?y*?", "xxyy"));
    CHECK(matches("{a}]", "{a}]"));
    CHECK(matches("[\xE3\x81\x81-\xE3\x82\x9F]{3}", "\xE3\x81\x82\xE3\x81\x84\xE3\x81\x86"));
    CHECK(matches("a||b", ""));
    CHECK(matches("", ""));
    CHECK(matches("(^a$)|(^b$)", "b"));
}

TEST_CASE("Regex: what it does not know is refused by name", "[constraint][quick]") {
    const auto error = [](const std::string& pattern) { return error_of(regex(pattern)); };
    CHECK(error("a(?=b)") ==
          "a group \"(?=\" is not supported (pattern, line 1, column 2): expected a "
          "pattern without it");
    CHECK(error("(?!a)b").find("a group \"(?!\"") == 0);
    CHECK(error("(?<=a)b").find("a group \"(?<\"") == 0);
    CHECK(error("(?i)a").find("a group \"(?i\"") == 0);
    CHECK(error("(?\xC3\xA9)a").find("a group \"(?\xC3\xA9\"") == 0);
    CHECK(error("(?").find("a group \"(?\"") == 0);
    CHECK(error("(a)\\1").find("\"\\1\"") == 0);
    CHECK(error("\\bword").find("\"\\b\"") == 0);
    CHECK(error("\\p{L}").find("\"\\p\"") == 0);
    CHECK(error("a^b").find("\"^\" inside a pattern") == 0);
    CHECK(error("a$b").find("\"$\" inside a pattern") == 0);
    CHECK(error("(^a|b)c").find("a group with \"^\" or \"$\" in some alternatives") == 0);
    CHECK(error("(a$)b").find("\"$\" inside a pattern") == 0);
    CHECK(error("(^a)*").find("unexpected \"*\"") == 0);
    CHECK(error("a++").find("a possessive repetition") == 0);
    CHECK(error("[[:alpha:]]").find("a class \"[:\" within a class is not supported") == 0);
    CHECK(error("[x[:^digit:]]").find("a class \"[:\"") == 0);
    CHECK(error("[[:]").empty());
    CHECK(error("a{,3}").find("a repetition without a minimum is not supported") == 0);
    CHECK(error("a{,x}").empty());
    CHECK(error("[:a:]").empty());
    CHECK(error("*a").find("unexpected \"*\"") == 0);
    CHECK(error("a**").find("unexpected \"*\"") == 0);
    CHECK(error("(a").find("a \"(\" is not closed") == 0);
    CHECK(error("a)").find("unexpected \")\"") == 0);
    CHECK(error("[a").find("a character class is not closed") == 0);
    CHECK(error("[]").find("an empty character class") == 0);
    CHECK(error("[z-a]").find("a bad range") == 0);
    CHECK(error("[\\d-z]").find("a bad range") == 0);
    CHECK(error("a{3,2}").find("a repetition {3,2}") == 0);
    CHECK(error("a{2").find("unexpected the end") == 0);
    CHECK(error("\\xZZ").find("a bad escape") == 0);
    CHECK(error("\\").find("a \"\\\" at the end") == 0);
    CHECK(error("\xFF").find("not valid UTF-8") != std::string::npos);
    CHECK(error(std::string(500, '(') + "a" + std::string(500, ')')).empty());
    CHECK(error(std::string(501, '(') + "a" + std::string(501, ')')).find("nested too deeply") !=
          std::string::npos);
    CHECK(error("a{2000000001}").find("at most 2000000000") != std::string::npos);
    CHECK(error("[^\\s\\S]").find("no text can match") == 0);
}

TEST_CASE("Regex: random patterns match as std::regex says", "[constraint][quick]") {
    std::mt19937 random(5);
    const auto texts = short_texts();
    for (int i = 0; i < 60; ++i) {
        const std::string pattern = random_pattern(random, 4);
        const std::regex reference(pattern);
        auto made = make_constraint(regex(pattern), mixed_vocabulary());
        INFO(pattern);
        REQUIRE(made.ok());
        const CharDfa whole = dfa_of(pattern), part = dfa_of(pattern, RegexMatch::search);
        const CharDfa others = whole.complement();
        for (const std::string& text : texts) {
            const bool expected = std::regex_match(text, reference);
            INFO(text);
            REQUIRE(accepts(**made, text) == expected);
            REQUIRE(whole.accepts(text) == expected);
            REQUIRE(others.accepts(text) == !expected);
            REQUIRE(part.accepts(text) == std::regex_search(text, reference));
        }
    }
}

TEST_CASE("CharDfa: intersection, lengths and words", "[constraint][quick]") {
    std::mt19937 random(6);
    const auto texts = short_texts();
    for (int i = 0; i < 40; ++i) {
        const std::string a = random_pattern(random, 3), b = random_pattern(random, 3);
        const std::regex reference_a(a), reference_b(b);
        INFO(a << "   " << b);
        uint64_t work = 100'000'000;
        const auto both = dfa_of(a).intersected(dfa_of(b), work);
        REQUIRE(both.ok());
        const auto short_ones = both->intersected(*CharDfa::of_length(2, 3), work);
        REQUIRE(short_ones.ok());
        bool is_any = false;
        for (const std::string& text : texts) {
            const bool expected =
                std::regex_match(text, reference_a) && std::regex_match(text, reference_b);
            REQUIRE(both->accepts(text) == expected);
            REQUIRE(short_ones->accepts(text) ==
                    (expected && text.size() >= 2 && text.size() <= 3));
            is_any |= expected;
        }
        if (both->is_empty()) CHECK_FALSE(is_any);
    }
    const CharDfa words = CharDfa::of_words({"ab", "abc", "\xC3\xA9", ""});
    for (const char* text : {"ab", "abc", "\xC3\xA9", ""}) CHECK(words.accepts(text));
    for (const char* text : {"a", "abcd", "\xC3", "e"}) CHECK_FALSE(words.accepts(text));
    CHECK_FALSE(words.complement().accepts("abc"));
    CHECK(words.complement().accepts("a\xF0\x9F\x98\x80"));
    CHECK(words.complement().complement().accepts("abc"));
    CHECK(CharDfa::of_length(2, kUnbounded)->accepts("\xC3\xA9\xE4\xB8\xAD"));
    CHECK_FALSE(CharDfa::of_length(2, kUnbounded)->accepts("\xC3\xA9"));
    CHECK(CharDfa::of_length(0, 19'999).ok());
    CHECK(CharDfa::of_length(0, 20'000).error().code == ErrorCode::limit_exceeded);
    Expressions expressions;
    const auto huge = parse_regex("(a{100}){1000}", RegexMatch::whole, expressions);
    uint64_t work = 100'000'000;
    CHECK(CharDfa::of(expressions, *huge, work).error().code == ErrorCode::limit_exceeded);
    // The number of states doubles with each of the last characters.
    const auto doubling = parse_regex("(a|b)*a(a|b){30}", RegexMatch::whole, expressions);
    CHECK(CharDfa::of(expressions, *doubling, work).error().code == ErrorCode::limit_exceeded);
    const auto small = parse_regex("(a|b)*a(a|b){3}", RegexMatch::whole, expressions);
    work = 50;
    CHECK(CharDfa::of(expressions, *small, work).error().code == ErrorCode::limit_exceeded);
    CHECK(work == 0);
}
