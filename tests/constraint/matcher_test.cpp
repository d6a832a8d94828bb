// SPDX-License-Identifier: Apache-2.0
// The matcher against a recogniser of another kind, which tries all ends of all parts at all places
// until nothing changes.
#include <random>
#include <string>
#include <vector>

#include "constraint/language/gbnf_parser.h"
#include "constraint/match/matcher.h"
#include "support/catch.h"

using namespace hokku::constraint;

namespace {

/// Bit e says that a match may end at place e. Texts have at most six bytes.
using Ends = uint32_t;
constexpr size_t kMaxText = 6;

class NaiveRecogniser {
  public:
    NaiveRecogniser(const Expressions& expressions, std::string text)
        : expressions_(expressions),
          text_(std::move(text)),
          rule_ends_(expressions.num_rules(), std::vector<Ends>(kMaxText + 1, 0)) {}

    bool matches(RuleId root) {
        for (bool has_changed = true; has_changed;) {
            has_changed = false;
            for (RuleId rule = 0; rule < expressions_.num_rules(); ++rule)
                for (size_t at = 0; at <= text_.size(); ++at) {
                    const Ends ends = ends_of(expressions_.rule_body(rule), at);
                    has_changed |= ends != rule_ends_[rule][at];
                    rule_ends_[rule][at] = ends;
                }
        }
        return (rule_ends_[root][0] >> text_.size() & 1u) != 0;
    }

  private:
    Ends literal_ends(const std::string& literal, size_t at) const {
        return text_.compare(at, literal.size(), literal) == 0 ? Ends{1} << (at + literal.size())
                                                               : 0;
    }

    Ends after_all(ExprId expr, Ends begins) const {
        Ends ends = 0;
        for (size_t at = 0; at <= text_.size(); ++at)
            if ((begins >> at & 1u) != 0) ends |= ends_of(expr, at);
        return ends;
    }

    Ends ends_of(ExprId id, size_t at) const {
        const Expr& expr = expressions_[id];
        Ends ends = 0;
        switch (expr.kind) {
            case ExprKind::empty:
                return Ends{1} << at;
            case ExprKind::literal:
                return literal_ends(expressions_.text(id), at);
            case ExprKind::chars:  // The texts here are ASCII.
                if (at < text_.size() &&
                    expressions_.char_set(id).contains(static_cast<unsigned char>(text_[at])))
                    ends = Ends{1} << (at + 1);
                return ends;
            case ExprKind::choice:
                for (const std::string& literal : expressions_.choices(id))
                    ends |= literal_ends(literal, at);
                return ends;
            case ExprKind::sequence:
                ends = Ends{1} << at;
                for (const ExprId part : expressions_.children(id)) ends = after_all(part, ends);
                return ends;
            case ExprKind::alternatives:
                for (const ExprId option : expressions_.children(id)) ends |= ends_of(option, at);
                return ends;
            case ExprKind::repeat: {
                // More rounds than this only add rounds that match nothing.
                Ends reached = Ends{1} << at;
                const uint32_t num_rounds = std::min<uint32_t>(expr.c, expr.b + kMaxText + 1);
                for (uint32_t round = 0; round <= num_rounds; ++round) {
                    if (round >= expr.b) ends |= reached;
                    reached = after_all(expr.a, reached);
                }
                return ends;
            }
            case ExprKind::rule:
                return rule_ends_[expr.a][at];
            default:
                return 0;
        }
    }

    const Expressions& expressions_;
    std::string text_;
    std::vector<std::vector<Ends>> rule_ends_;
};

std::string random_expression(std::mt19937& random, int depth) {
    static const char* const kLeaves[] = {"\"a\"", "\"ab\"", "\"b\"", "[ab]",
                                          "[^a]",  "\"\"",   "\"ba\""};
    const uint32_t kind = static_cast<uint32_t>(random()) % (depth > 0 ? 12u : 4u);
    if (kind < 2) return kLeaves[random() % 7];
    if (kind < 4) return "r" + std::to_string(random() % 4);
    if (kind < 7)
        return random_expression(random, depth - 1) + " " + random_expression(random, depth - 1);
    if (kind < 9)
        return "(" + random_expression(random, depth - 1) + " | " +
               random_expression(random, depth - 1) + ")";
    static const char* const kSuffixes[] = {"*",    "+",     "?",     "{2}",   "{1,3}",
                                            "{2,}", "{0,2}", "{3,4}", "{2,3}", "{0,5}"};
    return "(" + random_expression(random, depth - 1) + ")" + kSuffixes[random() % 10];
}

std::vector<std::string> all_texts() {
    std::vector<std::string> texts{""};
    for (size_t i = 0; i < texts.size(); ++i)
        if (texts[i].size() < kMaxText)
            for (const char c : {'a', 'b'}) texts.push_back(texts[i] + c);
    return texts;
}

}  // namespace

TEST_CASE("Matcher: random recursive grammars match what a naive recogniser matches",
          "[constraint][quick]") {
    std::mt19937 random(77);
    const auto texts = all_texts();
    int num_compared = 0, num_matches = 0;
    for (int i = 0; i < 400; ++i) {
        std::string grammar = "root ::= " + random_expression(random, 4) + "\n";
        for (int rule = 0; rule < 4; ++rule)
            grammar += "r" + std::to_string(rule) + " ::= " + random_expression(random, 3) + "\n";
        Expressions expressions;
        const auto root = parse_gbnf(grammar, nullptr, expressions);
        REQUIRE(root.ok());
        auto compiled = compile_grammar(expressions, *root);
        INFO(grammar);
        if (!compiled.ok()) continue;  // Left recursion, or nothing to match.
        ++num_compared;
        Matcher matcher(*compiled);
        for (const std::string& text : texts) {
            StackSetId state = matcher.start();
            for (const char byte : text) state = matcher.step(state, static_cast<uint8_t>(byte));
            const bool expected = NaiveRecogniser(expressions, text).matches(*root);
            INFO("\"" << text << "\"");
            REQUIRE(matcher.is_complete(state) == expected);
            num_matches += expected ? 1 : 0;
        }
    }
    CHECK(num_compared > 100);
    CHECK(num_matches > 500);
}

TEST_CASE("Matcher: forgetting what is not needed changes nothing", "[constraint][quick]") {
    Expressions expressions;
    const auto root =
        parse_gbnf("root ::= (item \",\"){2,9} item\nitem ::= \"[\" root? \"]\" | [a-c]{1,4}",
                   nullptr, expressions);
    REQUIRE(root.ok());
    auto grammar = compile_grammar(expressions, *root);
    REQUIRE(grammar.ok());
    Matcher matcher(*grammar), fresh(*grammar);
    std::vector<StackSetId> states{matcher.start()};
    StackSetId expected = fresh.start();
    for (const char byte : std::string("[a,b,abcc],a,[[],[],[]],cc,b")) {
        states.push_back(matcher.step(states.back(), static_cast<uint8_t>(byte)));
        expected = fresh.step(expected, static_cast<uint8_t>(byte));
        const size_t num_before = matcher.pool().size();
        matcher.collect(states);
        CHECK(matcher.pool().size() <= num_before);
        REQUIRE(states.back() != StackPool::kNothing);
        REQUIRE(matcher.is_complete(states.back()) == fresh.is_complete(expected));
        for (int next = 0; next < 256; ++next)
            REQUIRE(
                (matcher.step(states.back(), static_cast<uint8_t>(next)) == StackPool::kNothing) ==
                (fresh.step(expected, static_cast<uint8_t>(next)) == StackPool::kNothing));
    }
    CHECK(matcher.is_complete(states.back()));
}
