// SPDX-License-Identifier: Apache-2.0
// Grammars that have crashed or hung other programs: left recursion, loops that match nothing,
// deep nesting, huge counts. Both sides of each limit.
#include <string>

#include "constraint/test_vocabulary.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

std::string repeated(std::string_view text, size_t count) {
    std::string all;
    for (size_t i = 0; i < count; ++i) all += text;
    return all;
}

std::string gbnf_error(std::string text) {
    ConstraintSpec spec;
    spec.kind = ConstraintKind::gbnf;
    spec.text = std::move(text);
    return error_of(spec);
}

bool matches(const std::string& grammar, std::string_view text) {
    return accepts(*must_make_gbnf(grammar), text);
}

void check_left_recursion(const std::string& grammar, const std::string& rule) {
    const std::string message = gbnf_error(grammar);
    INFO(grammar << "\n" << message);
    CHECK(message.find("rule \"" + rule + "\" calls itself before it has matched anything") == 0);
}

}  // namespace

TEST_CASE("GBNF: left recursion is refused with the rule's name", "[constraint][quick]") {
    check_left_recursion("root ::= root \"a\" | \"b\"", "root");
    check_left_recursion("root ::= a\na ::= b \"x\" | \"y\"\nb ::= a \"z\" | \"w\"", "a");
    // Hidden behind what may match nothing.
    check_left_recursion("root ::= \"c\" list\nlist ::= \"\" list \"a\" | \"b\"", "list");
    check_left_recursion("root ::= ws root \"a\" | \"b\"\nws ::= [ ]*", "root");
    check_left_recursion("root ::= x{0,5} root \"a\" | \"b\"\nx ::= \"x\"", "root");
    check_left_recursion("root ::= (root \"a\"){2,3} | \"b\"", "root");
    check_left_recursion("root ::= (ws){3} root | \"b\"\nws ::= \" \"?", "root");
    check_left_recursion("root ::= root", "root");
    CHECK(gbnf_error("root ::= a\na ::= b \"x\" | \"y\"\nb ::= a \"z\"").find("(a -> b -> a)") !=
          std::string::npos);
    // The near misses are fine.
    CHECK(matches("root ::= \"a\" root | \"b\"", "aab"));
    CHECK(matches("root ::= ws \"a\" root | \"b\"\nws ::= [ ]*", " a ab"));
    CHECK(matches("root ::= x{1,5} root | \"b\"\nx ::= \"x\"", "xxb"));
}

TEST_CASE("GBNF: a rule that can never end is refused", "[constraint][quick]") {
    CHECK(gbnf_error("root ::= \"a\" root").find("no text can match rule \"root\"") == 0);
    CHECK(gbnf_error("root ::= \"a\" b\nb ::= \"b\" c\nc ::= \"c\" b").find("no text can match") ==
          0);
    // Repeating what can never end does not end it.
    for (const std::string bounds : {"{2}", "{2,}", "{2,5}", "+{2}", "{1,3}"}) {
        INFO(bounds);
        const std::string looping = "\nb ::= \"b\" b \"c\"";
        CHECK(gbnf_error("root ::= \"x\" b" + bounds + looping).find("no text can match") == 0);
        CHECK(matches("root ::= \"x\" (b{0,2})" + bounds + looping, "x"));
    }
    // Where only one way out is such a rule, the others stay.
    for (const std::string bounds : {"", "{2}", "{2,5}"}) {
        INFO(bounds);
        auto constraint = must_make_gbnf("root ::= \"a\" b" + bounds + " | \"ac\"\nb ::= \"b\" b");
        CHECK(accepts(*constraint, "ac"));
        CHECK_FALSE(accepts_beginning(*constraint, "ab"));
    }
    auto constraint = must_make_gbnf("root ::= \"a\" b{0,2} \"c\"\nb ::= \"b\" b");
    CHECK(accepts(*constraint, "ac"));
    CHECK_FALSE(accepts_beginning(*constraint, "ab"));
}

TEST_CASE("GBNF: loops that match nothing collapse", "[constraint][quick]") {
    CHECK(matches("root ::= (\"a\"*)*", "aaa"));
    CHECK(matches("root ::= (\"a\"*)* \"b\"", "b"));
    CHECK(matches("root ::= (sp | nl)* \"x\"\nsp ::= [ \\t]*\nnl ::= \"\\n\"?", " \n\t x"));
    CHECK(matches("root ::= ((\"a\"?)+ (\"b\"*)*)* \"c\"", "abbac"));
    CHECK(matches("root ::= (\"\")* \"x\"", "x"));
    CHECK(matches("root ::= (\"\" | \"a\"){3,5}", ""));
    CHECK(matches("root ::= (\"\" | \"a\"){3,5}", "aaaaa"));
    CHECK_FALSE(matches("root ::= (\"\" | \"a\"){3,5}", "aaaaaa"));
    CHECK(matches("root ::= (\"a\"? \"b\"?){3,4}", ""));
    CHECK(matches("root ::= (\"a\"? \"b\"?){3,4}", "abab"));
    CHECK(matches("root ::= (\"a\"? \"b\"?){3,4}", "bbbb"));
    CHECK_FALSE(matches("root ::= (\"a\"? \"b\"?){3,4}", "bbbbb"));
    CHECK(matches("root ::= (e e | \"x\"){2,2000000000}\ne ::= \"y\"*", "xyyx"));
}

TEST_CASE("GBNF: nesting is limited to 1000 levels", "[constraint][quick]") {
    const auto nested = [](size_t levels) {
        return "root ::= " + repeated("(", levels) + "\"x\"" + repeated(")", levels);
    };
    CHECK(matches(nested(1000), "x"));
    CHECK(gbnf_error(nested(1001)).find("nested too deeply") != std::string::npos);
    CHECK(gbnf_error(nested(50'000)).find("at most 1000 levels") != std::string::npos);
    CHECK(gbnf_error("root ::= " + repeated("(", 50'000)).find("nested too deeply") !=
          std::string::npos);
    CHECK(matches("root ::= " + repeated("(", 900) + "\"x\"" + repeated(")*", 900), "xxx"));
    CHECK(matches("root ::= " + repeated("(\"a\" ", 900) + "\"x\"" + repeated(")?", 900),
                  repeated("a", 900) + "x"));
}

TEST_CASE("GBNF: long chains and many alternatives", "[constraint][quick]") {
    std::string chain = "root ::= r0\n", pushing = "root ::= r0\n";
    for (int i = 0; i < 5000; ++i) {
        const std::string name = "r" + std::to_string(i), next = "r" + std::to_string(i + 1);
        chain += name + " ::= " + next + "\n";
        pushing += name + " ::= " + next + " \"x\"\n";
    }
    CHECK(matches(chain + "r5000 ::= \"a\"", "a"));
    CHECK(matches(pushing + "r5000 ::= \"a\"", "a" + repeated("x", 5000)));
    std::string many = "root ::= \"w0\"";
    for (int i = 1; i < 100'000; ++i) many += " | \"w" + std::to_string(i) + "\"";
    auto constraint = must_make_gbnf(many);
    CHECK(accepts(*constraint, "w99999"));
    CHECK(accepts(*constraint, "w5"));
    CHECK_FALSE(accepts(*constraint, "w100000"));
    std::string rules = "root ::= r0";
    for (int i = 1; i < 5000; ++i) rules += " | r" + std::to_string(i);
    for (int i = 0; i < 5000; ++i)
        rules += "\nr" + std::to_string(i) + " ::= \"" + std::to_string(i) + "\" [a-z]";
    CHECK(matches(rules, "4999q"));
}

TEST_CASE("GBNF: repetitions hold at their limits", "[constraint][quick]") {
    for (const size_t max :
         {size_t{0}, size_t{1}, size_t{1999}, size_t{2000}, size_t{2001}, size_t{10'000}}) {
        auto constraint =
            must_make_gbnf("root ::= \"<\" [a-z]{0," + std::to_string(max) + "} \">\"");
        INFO(max);
        CHECK(accepts(*constraint, "<" + repeated("q", max) + ">"));
        CHECK_FALSE(accepts_beginning(*constraint, "<" + repeated("q", max + 1)));
        auto exact = must_make_gbnf("root ::= \"<\" (\"ab\"){" + std::to_string(max) + "} \">\"");
        CHECK(accepts(*exact, "<" + repeated("ab", max) + ">"));
        CHECK_FALSE(accepts(*exact, "<" + repeated("ab", max + 1) + ">"));
        if (max > 0) CHECK_FALSE(accepts(*exact, "<" + repeated("ab", max - 1) + ">"));
    }
    CHECK(matches("root ::= \"a\"{0,2000000000}", "aaa"));
    CHECK(gbnf_error("root ::= \"a\"{0,2000000001}").find("at most 2000000000") !=
          std::string::npos);
    CHECK(gbnf_error("root ::= \"a\"{2147483648}").find("a repetition of 2147483648") == 0);
    CHECK(gbnf_error("root ::= \"a\"{99999999999999999999999999}").find("a repetition of") == 0);
    auto items = must_make_gbnf("root ::= \"[\" item (\",\" item){9,999} \"]\"\nitem ::= [0-9]+");
    CHECK_FALSE(accepts(*items, "[" + repeated("1,", 8) + "1]"));
    CHECK(accepts(*items, "[" + repeated("1,", 9) + "1]"));
    CHECK(accepts(*items, "[" + repeated("1,", 999) + "1]"));
    CHECK_FALSE(accepts(*items, "[" + repeated("1,", 1000) + "1]"));
}

TEST_CASE("GBNF: nested repetitions neither expand nor hang", "[constraint][quick]") {
    CHECK(matches("root ::= ((\"a\"{100}){100}){10}", repeated("a", 100'000)));
    CHECK_FALSE(matches("root ::= ((\"a\"{100}){100}){10}", repeated("a", 99'999)));
    CHECK(matches("root ::= (((\"a\"{100} \"b\"){100} \"c\"){10} \"d\"){0,7}",
                  repeated(repeated(repeated("a", 100) + "b", 100) + "c", 10) + "d"));
    CHECK(matches("root ::= (((\"a\"*){0,100}){0,100}){0,100}", repeated("a", 1000)));
    CHECK(matches("root ::= (\"a\" | \"aa\"){0,2000}", repeated("a", 2000)));
    CHECK(matches("root ::= (\"a\" | \"aa\"){100,2000}", repeated("a", 3999)));
    CHECK_FALSE(matches("root ::= (\"a\" | \"aa\"){100,2000}", repeated("a", 4001)));
    CHECK(matches("root ::= ((\"a\" | \"aa\"){0,50}){0,50} \"b\"", repeated("a", 1000) + "b"));
}

TEST_CASE("GBNF: errors stay short whatever they name", "[constraint][quick]") {
    const std::string name(20'000, 'n'), digits(20'000, '9');
    const std::vector<std::string> broken = {
        "root ::= " + name,
        "root ::= \"a\"\n" + name + " ::= \"a\"\n" + name + " ::= \"b\"",
        "root ::= \"a\"\n" + name + " = \"a\"",
        "root ::= " + name + "\n" + name + " ::= " + name + " \"a\"",
        "root ::= " + name + "\n" + name + " ::= \"a\" " + name,
        "root ::= <" + name + ">",
        "root ::= \"a\"{" + digits + "}",
    };
    for (const std::string& text : broken) {
        const std::string message = gbnf_error(text);
        INFO(text.substr(0, 20) << ": " << message);
        CHECK_FALSE(message.empty());
        CHECK(message.size() < 1000);
    }
}

TEST_CASE("GBNF: a character class that nothing is in is named", "[constraint][quick]") {
    const auto made = make_constraint({ConstraintKind::gbnf, "root ::= [^\\x00-\\U0010FFFF]", {}},
                                      mixed_vocabulary());
    REQUIRE_FALSE(made.ok());
    CHECK(made.error().message().find("a character class without a character, grammar, line 1, "
                                      "column 10") != std::string::npos);
}
