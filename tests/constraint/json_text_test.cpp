// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "constraint/test_vocabulary.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

std::unique_ptr<Constraint> json() {
    ConstraintSpec spec;
    spec.kind = ConstraintKind::json;
    return must_make(spec, mixed_vocabulary());
}

}  // namespace

TEST_CASE("JSON: values", "[constraint][quick]") {
    auto constraint = json();
    for (const char* text : {"null",
                             "true",
                             "false",
                             "0",
                             "-0",
                             "12",
                             "-3.25",
                             "1e5",
                             "2.5E-07",
                             "\"\"",
                             "\"a b\"",
                             "\"\\n\\u00e9\\\"\"",
                             "\"\\ud83d\\ude00\"",
                             "\"\xE4\xB8\xAD\x7F\"",
                             "{}",
                             "[]",
                             "{ }",
                             "[\n  1,\n  2\n]",
                             "{\"a\": 1, \"b\":[true,null], \"c\": {\"d\": \"\"}}",
                             "{\n\t\"a\": {\n\t\t\"b\": []\n\t}\n}",
                             "[[[[1]]]]"})
        CHECK(accepts(*constraint, text));
}

TEST_CASE("JSON: what is none", "[constraint][quick]") {
    auto constraint = json();
    for (const char* text :
         {"",        "nul",     "True",        "01",          "+1",
          ".5",      "1.",      "1e",          "--1",         "\"",
          "\"\\x\"", "\"\n\"",  "\"\\ud83d\"", "\"\\ude00\"", "\"\\ud83d\\u0041\"",
          "{",       "{\"a\"}", "{\"a\":}",    "{a:1}",       "[1,]",
          "[1 2]",   "[,1]",    "{\"a\":1,}",  "[1]]",        "1 2",
          " 1",      "1 ",      "'a'",         "{1:2}",       "\"\xC3\"",
          "[ 1 ,2]"})
        CHECK_FALSE(accepts(*constraint, text));
}

TEST_CASE("JSON: nesting goes deep, and ends with an error rather than a crash",
          "[constraint][quick]") {
    auto constraint = json();
    CHECK(accepts(*constraint, std::string(4000, '[') + "1" + std::string(4000, ']')));
    size_t depth = 0;
    while (depth < 20'000 && constraint->accept(byte_token('[')).ok()) ++depth;
    CHECK(depth > 4000);
    CHECK(depth < 20'000);
    // What was opened can still be closed.
    TokenMask mask(mixed_vocabulary()->num_tokens());
    REQUIRE(constraint->allowed_tokens(mask).ok());
    REQUIRE(mask.test(static_cast<size_t>(byte_token(']'))));
    for (size_t i = 0; i < depth; ++i) REQUIRE(constraint->accept(byte_token(']')).ok());
    CHECK(constraint->is_complete());
}

TEST_CASE("JSON: white space is bounded", "[constraint][quick]") {
    auto constraint = json();
    CHECK(accepts(*constraint, "[\n" + std::string(40, ' ') + "1]"));
    CHECK_FALSE(accepts_beginning(*constraint, "[\n" + std::string(41, ' ')));
    CHECK_FALSE(accepts_beginning(*constraint, "[\n\n"));
    CHECK_FALSE(accepts_beginning(*constraint, "[  "));
}
