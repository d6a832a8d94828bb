// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "constraint/test_vocabulary.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

ConstraintSpec with_words(ConstraintKind kind, std::vector<std::string> words,
                          bool ignore_case = false) {
    ConstraintSpec spec;
    spec.kind = kind;
    spec.words = std::move(words);
    spec.ignore_case = ignore_case;
    return spec;
}

bool may_end(const std::vector<std::string>& words, std::string_view text,
             bool ignore_case = false) {
    const auto spec = with_words(ConstraintKind::required_words, words, ignore_case);
    return accepts(*must_make(spec, mixed_vocabulary()), text);
}

}  // namespace

TEST_CASE("Choice: exactly one of the texts", "[constraint][quick]") {
    const auto spec =
        with_words(ConstraintKind::choice, {"yes", "no", "not now", "n\xC3\xA9", "yes"});
    auto constraint = must_make(spec, mixed_vocabulary());
    for (const char* text : {"yes", "no", "not now", "n\xC3\xA9"})
        CHECK(accepts(*constraint, text));
    for (const char* text : {"", "y", "not", "yess", "nothing", "YES"})
        CHECK_FALSE(accepts(*constraint, text));
    CHECK(error_of(with_words(ConstraintKind::choice, {})).find("no choices") == 0);
    CHECK(error_of(with_words(ConstraintKind::choice, {"\xFF"})).find("not valid UTF-8") !=
          std::string::npos);
}

TEST_CASE("Choice: a finished text allows the end alone", "[constraint][quick]") {
    auto constraint =
        must_make(with_words(ConstraintKind::choice, {"ab", "abc"}), mixed_vocabulary());
    REQUIRE(constraint->accept(byte_token('a')).ok());
    REQUIRE(constraint->accept(byte_token('b')).ok());
    CHECK(constraint->is_complete());
    CHECK_FALSE(constraint->is_finished());
    REQUIRE(constraint->accept(byte_token('c')).ok());
    CHECK(constraint->is_finished());
    TokenMask mask(mixed_vocabulary()->num_tokens());
    REQUIRE(constraint->allowed_tokens(mask).ok());
    CHECK(mask.count() == 1);
    CHECK(mask.test(kEndToken));
}

TEST_CASE("RequiredWords: a word is a word of its own", "[constraint][quick]") {
    CHECK(may_end({"cat"}, "a cat."));
    CHECK(may_end({"cat"}, "cat"));
    CHECK(may_end({"cat"}, "(cat)"));
    CHECK_FALSE(may_end({"cat"}, "cats"));
    CHECK_FALSE(may_end({"cat"}, "bobcat"));
    CHECK_FALSE(may_end({"cat"}, "cat_1"));
    CHECK_FALSE(may_end({"cat"}, "Cat"));
    CHECK(may_end({"cat"}, "a Cat", true));
    CHECK(may_end({"\xC3\x89t\xC3\xA9"}, "un \xC3\xA9t\xC3\xA9.", true));
    CHECK_FALSE(may_end({"\xC3\x89t\xC3\xA9"}, "un \xC3\xA9t\xC3\xA9.", false));
    CHECK_FALSE(may_end({"cat"}, "cat\xC3\xA9"));
    CHECK_FALSE(may_end({"cat"}, "cat\xCC\x81"));  // An accent on the t.
    CHECK(may_end({"cat"},
                  "cat\xE2\x80\x94"
                  "dog"));
    CHECK(may_end({"cat", "dog"}, "dog, cat"));
    CHECK_FALSE(may_end({"cat", "dog"}, "dog, cats"));
    CHECK(may_end({"New York"}, "in New York now"));
    CHECK(may_end({"C++"}, "use C++11"));  // Only letters and digits can join.
    CHECK(may_end({"cat", "cat"}, "cat"));
    // Scripts without spaces.
    CHECK(may_end({"\xE4\xB8\xAD"}, "\xE5\x9C\xA8\xE4\xB8\xAD\xE5\x9B\xBD"));
    // Half a character at the end is no end.
    CHECK_FALSE(may_end({"cat"}, "cat \xE4\xB8"));
    CHECK_FALSE(may_end({"cat"}, "cat\xC3"));
}

TEST_CASE("RequiredWords: found across tokens, and lost by rollback", "[constraint][quick]") {
    const auto vocabulary = mixed_vocabulary();
    auto constraint =
        must_make(with_words(ConstraintKind::required_words, {"cat", "dog"}), vocabulary);
    TokenMask mask(vocabulary->num_tokens());
    const TokenId cat_dog = *vocabulary->tokenizer().find_token("cat dog");
    const TokenId cats = *vocabulary->tokenizer().find_token("cats");
    REQUIRE(constraint->allowed_tokens(mask).ok());
    CHECK_FALSE(mask.test(kEndToken));
    CHECK_FALSE(mask.test(kControlToken));
    CHECK(mask.count() == vocabulary->num_tokens() - 2);
    CHECK_FALSE(constraint->accept(kEndToken).ok());
    REQUIRE(constraint->accept(cats).ok());
    REQUIRE(constraint->accept(byte_token(' ')).ok());
    CHECK_FALSE(constraint->is_complete());
    REQUIRE(constraint->accept(cat_dog).ok());
    CHECK(constraint->is_complete());
    REQUIRE(constraint->accept(byte_token('s')).ok());
    CHECK_FALSE(constraint->is_complete());  // "dogs"
    constraint->rollback(1);
    CHECK(constraint->is_complete());
    REQUIRE(constraint->accept(byte_token('.')).ok());
    REQUIRE(constraint->accept(byte_token('x')).ok());
    CHECK(constraint->is_complete());
    constraint->rollback(3);
    CHECK_FALSE(constraint->is_complete());
    REQUIRE(constraint->accept(cat_dog).ok());
    auto copy = constraint->clone();
    REQUIRE(constraint->accept(kEndToken).ok());
    CHECK(constraint->is_finished());
    CHECK_FALSE(copy->is_finished());
    constraint->rollback(1);
    CHECK_FALSE(constraint->is_finished());
    CHECK(constraint->is_complete());
}

TEST_CASE("RequiredWords: limits and errors", "[constraint][quick]") {
    const auto error = [](std::vector<std::string> words) {
        return error_of(with_words(ConstraintKind::required_words, std::move(words)));
    };
    CHECK(error({}).find("no required words") == 0);
    CHECK(error({"a", ""}).find("word 2") != std::string::npos);
    CHECK(error({"\xC3"}).find("not valid UTF-8") != std::string::npos);
    CHECK(error(std::vector<std::string>(1000, "a")).empty());
    CHECK(error(std::vector<std::string>(1001, "a")).find("at most 1000") != std::string::npos);
    CHECK(error({std::string(1000, 'a')}).empty());
    CHECK(error({std::string(1001, 'a')}).find("at most 1000") != std::string::npos);
}

TEST_CASE("Combined constraints: all must agree", "[constraint][quick]") {
    const auto vocabulary = mixed_vocabulary();
    std::vector<std::unique_ptr<Constraint>> parts;
    ConstraintSpec letters;
    letters.kind = ConstraintKind::regex;
    letters.text = "[a-z ]{0,12}\\.";
    parts.push_back(must_make(letters, vocabulary));
    parts.push_back(must_make(with_words(ConstraintKind::required_words, {"cat"}), vocabulary));
    auto both = combine_constraints(std::move(parts));
    CHECK(accepts(*both, "a cat."));
    CHECK_FALSE(accepts(*both, "a dog."));
    CHECK_FALSE(accepts(*both, "a cat"));
    CHECK_FALSE(accepts_beginning(*both, "a Cat"));
    TokenMask mask(vocabulary->num_tokens());
    REQUIRE(both->accept(*vocabulary->tokenizer().find_token("cat dog")).ok());
    CHECK_FALSE(both->accept(kEndToken).ok());
    CHECK(both->num_accepted() == 1);
    auto copy = both->clone();
    REQUIRE(both->accept(byte_token('.')).ok());
    REQUIRE(both->allowed_tokens(mask).ok());
    CHECK(mask.count() == 1);
    REQUIRE(both->accept(kEndToken).ok());
    CHECK(both->is_finished());
    CHECK(copy->num_accepted() == 1);
    CHECK_FALSE(copy->is_complete());
    both->rollback(3);
    CHECK(accepts(*both, "cat."));
}
