// SPDX-License-Identifier: Apache-2.0
// Masks against brute force, rollback against a fresh start, on fixed and on random grammars.
#include <random>
#include <string>
#include <vector>

#include "constraint/language/gbnf_parser.h"
#include "constraint/match/matcher.h"
#include "constraint/match/token_masks.h"
#include "constraint/test_vocabulary.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

std::string show(const TokenMask& mask) {
    std::string ids;
    for (size_t id = 0; id < mask.size(); ++id)
        if (mask.test(id)) ids += std::to_string(id) + " ";
    return ids;
}

/// Draws tokens through the masks; compares each mask with brute force, and now and then goes back
/// and compares with a fresh constraint that was given the same tokens.
void walk_at_random(const ConstraintSpec& spec, uint32_t seed, int num_steps) {
    const auto vocabulary = mixed_vocabulary();
    auto constraint = must_make(spec, vocabulary);
    std::mt19937 random(seed);
    std::vector<TokenId> text;
    TokenMask mask(vocabulary->num_tokens());
    for (int step = 0; step < num_steps; ++step) {
        INFO(spec.text << "\nseed " << seed << ", step " << step);
        REQUIRE(constraint->allowed_tokens(mask).ok());
        const TokenMask expected = brute_force_mask(*constraint, *vocabulary);
        if (!(mask == expected)) FAIL("mask: " << show(mask) << "\nbrute: " << show(expected));
        CHECK(mask.test(kEndToken) == constraint->is_complete());
        REQUIRE(mask.count() > 0);  // Single bytes are in the vocabulary: no dead ends.
        std::vector<TokenId> allowed;
        for (size_t id = 0; id < mask.size(); ++id)
            if (mask.test(id)) allowed.push_back(static_cast<TokenId>(id));
        const TokenId token = allowed[random() % allowed.size()];
        REQUIRE(constraint->accept(token).ok());
        text.push_back(token);
        const bool has_ended = token == kEndToken;
        CHECK((!has_ended || constraint->is_finished()));
        if (has_ended || random() % 8 == 0) {
            const size_t back = has_ended ? text.size() : random() % (text.size() + 1);
            constraint->rollback(back);
            text.resize(text.size() - back);
            CHECK(constraint->num_accepted() == text.size());
            auto fresh = must_make(spec, vocabulary);
            for (const TokenId one : text) REQUIRE(fresh->accept(one).ok());
            TokenMask fresh_mask(mask.size());
            REQUIRE(fresh->allowed_tokens(fresh_mask).ok());
            REQUIRE(constraint->allowed_tokens(mask).ok());
            CHECK(mask == fresh_mask);
            CHECK(fresh->is_complete() == constraint->is_complete());
        }
    }
}

ConstraintSpec gbnf(std::string text) {
    ConstraintSpec spec;
    spec.kind = ConstraintKind::gbnf;
    spec.text = std::move(text);
    return spec;
}

const char* const kJsonGrammar =
    "root ::= object\n"
    "value ::= object | array | string | number | (\"true\" | \"false\" | \"null\") ws\n"
    "object ::= \"{\" ws (string \":\" ws value (\",\" ws string \":\" ws value)*)? \"}\" ws\n"
    "array ::= \"[\" ws (value (\",\" ws value)*)? \"]\" ws\n"
    "string ::= \"\\\"\" ([^\"\\\\\\x7F\\x00-\\x1F] | \"\\\\\" ([\"\\\\bfnrt] | \"u\" "
    "[0-9a-fA-F]{4}))* \"\\\"\" ws\n"
    "number ::= (\"-\"? ([0-9] | [1-9] [0-9]{0,15})) (\".\" [0-9]+)? ([eE] [-+]? [0-9] "
    "[1-9]{0,15})? ws\n"
    "ws ::= | \" \" | \"\\n\" [ \\t]{0,20}\n";

/// A random expression in GBNF.
std::string random_expression(std::mt19937& random, int depth) {
    static const char* const kLeaves[] = {"\"a\"",
                                          "\"ab\"",
                                          "\"b\"",
                                          "[ab]",
                                          "[^a]",
                                          "\" \"",
                                          "\"\xC3\xA9\"",
                                          ".",
                                          "[a-z0-9]",
                                          "\"\"",
                                          "\"\xE4\xB8\"?",
                                          "\"aaa\"",
                                          "[\xE4\xB8\xAD-\xE5\x80\x80]"};
    const uint32_t kind = static_cast<uint32_t>(random()) % (depth > 0 ? 10u : 3u);
    if (kind < 2) return kLeaves[random() % 10];
    if (kind == 2) return "r" + std::to_string(random() % 4);
    if (kind < 5)
        return random_expression(random, depth - 1) + " " + random_expression(random, depth - 1);
    if (kind < 7)
        return "(" + random_expression(random, depth - 1) + " | " +
               random_expression(random, depth - 1) + ")";
    static const char* const kSuffixes[] = {"*",     "+",     "?",     "{2}",    "{1,3}", "{2,}",
                                            "{0,5}", "{3,9}", "{0,2}", "{4,12}", "{7,}"};
    return "(" + random_expression(random, depth - 1) + ")" + kSuffixes[random() % 11];
}

}  // namespace

TEST_CASE("TokenMasks: masks equal brute force on JSON", "[constraint][quick]") {
    for (uint32_t seed = 1; seed <= 4; ++seed) walk_at_random(gbnf(kJsonGrammar), seed, 60);
}

TEST_CASE("TokenMasks: masks equal brute force around counters", "[constraint][quick]") {
    for (const char* grammar :
         {"root ::= [a-z ]{0,12} \".\"", "root ::= [a-z]{9} \" \" [a-z]{3,11}",
          "root ::= (\"ab\" | \"a\"){5,9} \"c\"*", "root ::= \"\\\"\" .{2,10} \"\\\"\" [ ]{0,3}",
          "root ::= ([ab]{1,3} \"c\"){2,4} | [abc]{8,}",
          "root ::= item (\",\" item){1,4}\n"
          "item ::= \"[\" [a-c]{0,4} \"]\"",
          "root ::= (\"a\"? \"b\"?){0,6}", "root ::= (\"a\"{2,3} | \"aaaaa\"){2,5}",
          "root ::= [^a]{3,5}", "root ::= (. .){1,3} \"!\""})
        for (uint32_t seed = 1; seed <= 3; ++seed) walk_at_random(gbnf(grammar), seed, 30);
}

TEST_CASE("TokenMasks: masks equal brute force on random grammars", "[constraint][quick]") {
    std::mt19937 random(20);
    int num_walked = 0, num_refused = 0;
    for (int i = 0; i < 250; ++i) {
        std::string grammar = "root ::= " + random_expression(random, 4) + "\n";
        for (int rule = 0; rule < 4; ++rule)
            grammar += "r" + std::to_string(rule) + " ::= " + random_expression(random, 3) + "\n";
        const ConstraintSpec spec = gbnf(grammar);
        if (!make_constraint(spec, mixed_vocabulary()).ok()) {
            ++num_refused;  // Left recursion, mostly.
            continue;
        }
        ++num_walked;
        walk_at_random(spec, static_cast<uint32_t>(i), 12);
    }
    CHECK(num_walked > 80);
    CHECK(num_refused > 10);
}

TEST_CASE("TokenMasks: masks equal brute force on JSON schemas", "[constraint][quick]") {
    ConstraintSpec spec;
    spec.kind = ConstraintKind::json_schema;
    for (const char* schema :
         {R"({"type":"object","properties":{"name":{"type":"string","maxLength":5},
              "age":{"type":"integer","minimum":0,"maximum":120},"on":{"type":"boolean"}},
              "required":["name"],"additionalProperties":{"type":"number"}})",
          R"({"type":"array","items":{"type":"string","minLength":3,"maxLength":9},"minItems":2,
              "maxItems":4})",
          R"({"type":"string","pattern":"^(ab|a)*c?$","maxLength":7})",
          R"({"properties":{"date":{"format":"date"},"next":{"$ref":"#"}}})"}) {
        spec.text = schema;
        for (uint32_t seed = 1; seed <= 3; ++seed) walk_at_random(spec, seed, 40);
    }
}

TEST_CASE("Constraint: wrong calls give errors and change nothing", "[constraint][quick]") {
    auto constraint = must_make_gbnf("root ::= \"ab\"");
    const auto vocabulary = mixed_vocabulary();
    const auto num_vocab = static_cast<TokenId>(vocabulary->num_tokens());
    for (const TokenId token :
         {-1, num_vocab, num_vocab + 7, kEndToken, kControlToken, byte_token('b')})
        CHECK_FALSE(constraint->accept(token).ok());
    CHECK(constraint->num_accepted() == 0);
    CHECK(constraint->accept(byte_token('b')).error().message() ==
          "token 100 (\"b\") is not allowed here (after 0 tokens): expected one of the allowed "
          "tokens");
    REQUIRE(constraint->accept(byte_token('a')).ok());
    REQUIRE(constraint->accept(byte_token('b')).ok());
    CHECK(constraint->is_complete());
    CHECK(constraint->is_finished());
    REQUIRE(constraint->accept(kEndToken).ok());
    TokenMask mask(vocabulary->num_tokens());
    CHECK_FALSE(constraint->allowed_tokens(mask).ok());
    CHECK_FALSE(constraint->accept(kEndToken).ok());
    constraint->rollback(99);
    CHECK(constraint->num_accepted() == 0);
    CHECK(accepts(*constraint, "ab"));
}

TEST_CASE("Constraint: a copy goes its own way", "[constraint][quick]") {
    auto one = must_make_gbnf("root ::= [a-z]{2,4} \"!\"");
    REQUIRE(one->accept(byte_token('a')).ok());
    auto other = one->clone();
    REQUIRE(one->accept(byte_token('b')).ok());
    REQUIRE(one->accept(byte_token('!')).ok());
    CHECK(other->num_accepted() == 1);
    CHECK_FALSE(other->accept(byte_token('!')).ok());
    CHECK(accepts(*other, "bcd!"));
    CHECK(one->is_finished());
}

TEST_CASE("constrain_logits: forbids by minus infinity", "[constraint][quick]") {
    const auto vocabulary = mixed_vocabulary();
    auto constraint = must_make_gbnf("root ::= \"ab\"");
    // Logits may go on behind the vocabulary: padded models.
    const size_t num_vocab = vocabulary->num_tokens() + 10;
    TokenMask mask(num_vocab);
    std::vector<float> logits(num_vocab, 1.5f);
    REQUIRE(constrain_logits(*constraint, mask, logits).ok());
    for (size_t id = 0; id < num_vocab; ++id) {
        const std::string text =
            id < num_vocab - 10
                ? std::string(vocabulary->tokenizer().token_text(static_cast<TokenId>(id)))
                : "";
        INFO(id << " " << text);
        const bool is_allowed = text == "a" || text == "ab";
        CHECK(logits[id] == (is_allowed ? 1.5f : -INFINITY));
    }
    std::vector<float> none(num_vocab, -INFINITY);
    CHECK(constrain_logits(*constraint, mask, none).error().what == "no token is allowed");
    std::vector<float> short_logits(5);
    CHECK_FALSE(constrain_logits(*constraint, mask, short_logits).ok());
    // A vocabulary without the bytes that the grammar asks for.
    auto stuck = must_make(gbnf("root ::= \"xyz\""), make_vocabulary({"a", "xa"}));
    TokenMask small(4);
    std::vector<float> few(4, 0.0f);
    CHECK(constrain_logits(*stuck, small, few).error().what == "no token is allowed");
}

TEST_CASE("Constraint: too much ambiguity is an error, not a hang", "[constraint][quick]") {
    const auto first_error = [](const std::string& grammar) {
        auto constraint = must_make(gbnf(grammar), mixed_vocabulary());
        TokenMask mask(mixed_vocabulary()->num_tokens());
        for (int i = 0; i < 3000; ++i) {
            const auto allowed = constraint->allowed_tokens(mask);
            if (!allowed.ok()) return allowed.error();
            const auto accepted = constraint->accept(byte_token('a'));
            if (accepted.ok()) continue;
            CHECK(constraint->num_accepted() == static_cast<size_t>(i));
            return accepted.error();
        }
        return Error{};
    };
    // Counters of four levels in all combinations: too much to keep.
    const Error large = first_error(
        "root ::= (((([ab] | [ab][ab]){900,3000} [ab]?){900,3000} [ab]?){900,3000} [ab]?)"
        "{900,3000}");
    CHECK(large.code == ErrorCode::limit_exceeded);
    CHECK(large.what == "the text has become too long for its constraint");
}

TEST_CASE("Matcher: work beyond what is allowed is not done", "[constraint][quick]") {
    constraint::Expressions expressions;
    std::string text = "root ::= (\"a\"";
    for (int i = 0; i < 500; ++i) text += " \"a\"?";
    const auto root = constraint::parse_gbnf(text + "){200,400}", nullptr, expressions);
    REQUIRE(root.ok());
    auto grammar = constraint::compile_grammar(expressions, *root);
    REQUIRE(grammar.ok());
    constraint::Matcher matcher(*grammar);
    matcher.allow_work(100'000);
    constraint::StackSetId state = matcher.start();
    REQUIRE_FALSE(matcher.is_exhausted());
    for (int i = 0; i < 150 && !matcher.is_exhausted(); ++i) {
        const constraint::StackSetId next = matcher.step(state, 'a');
        if (!matcher.is_exhausted()) state = next;
    }
    REQUIRE(matcher.is_exhausted());
    CHECK(matcher.pool().work() < 1'000'000);
    // With more allowed it goes on from the last state.
    matcher.allow_work(10'000'000);
    CHECK(matcher.step(state, 'a') != constraint::StackPool::kNothing);
    CHECK_FALSE(matcher.is_exhausted());
}

TEST_CASE("TokenMasks: what was begun when the work ran out is forgotten", "[constraint][quick]") {
    const auto vocabulary = mixed_vocabulary();
    constraint::Expressions expressions;
    const auto root = constraint::parse_gbnf(
        "root ::= ([a-z] | \"{\" root \"}\" | \"true\"){20,900} \" \" root?", nullptr, expressions);
    REQUIRE(root.ok());
    auto grammar = constraint::compile_grammar(expressions, *root);
    REQUIRE(grammar.ok());
    constraint::Matcher fresh(*grammar);
    constraint::TokenMasks fresh_masks(vocabulary->trie());
    TokenMask expected(vocabulary->num_tokens());
    fresh_masks.add_allowed(fresh, fresh.step(fresh.start(), 'a'), expected);
    REQUIRE(expected.count() > 0);

    size_t num_exhausted = 0;
    for (uint64_t work = 1; work < 400; ++work) {
        CAPTURE(work);
        constraint::Matcher matcher(*grammar);
        const constraint::StackSetId state = matcher.step(matcher.start(), 'a');
        constraint::TokenMasks masks(vocabulary->trie());
        TokenMask mask(vocabulary->num_tokens());
        matcher.allow_work(work);
        masks.add_allowed(matcher, state, mask);
        if (!matcher.is_exhausted()) break;
        ++num_exhausted;
        for (const constraint::StackSetId known : masks.known_sets())
            CHECK(known != constraint::StackPool::kNothing);
        matcher.allow_work(10'000'000);
        mask.clear();
        masks.add_allowed(matcher, state, mask);
        REQUIRE_FALSE(matcher.is_exhausted());
        CHECK(mask == expected);
    }
    CHECK(num_exhausted > 20);
}
