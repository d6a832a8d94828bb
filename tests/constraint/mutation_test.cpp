// SPDX-License-Identifier: Apache-2.0
// Grammars, patterns and schemas broken at random: each gives an error or a constraint that can be
// followed, and takes neither long nor much memory. Most telling under AddressSanitizer.
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "constraint/test_vocabulary.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

using Samples = std::vector<std::string>;

std::string mutate(const Samples& samples, const std::string& alphabet, std::mt19937& random) {
    const auto below = [&random](size_t limit) { return random() % std::max<size_t>(limit, 1); };
    std::string text = samples[below(samples.size())];
    const size_t num_changes = 1 + below(6);
    for (size_t i = 0; i < num_changes; ++i) {
        const size_t at = below(text.size() + 1), length = below(12);
        switch (below(6)) {
            case 0:
                text.erase(std::min(at, text.size()), length);
                break;
            case 1:
                text.insert(at, 1, alphabet[below(alphabet.size())]);
                break;
            case 2:
                if (at < text.size()) text[at] = alphabet[below(alphabet.size())];
                break;
            case 3:
                text.insert(at, text.substr(below(text.size()), length));
                break;
            case 4: {
                const std::string& other = samples[below(samples.size())];
                text.insert(at, other.substr(below(other.size()), 4 * length));
                break;
            }
            default:
                if (at < text.size()) text[at] = static_cast<char>(below(256));
        }
    }
    return text;
}

/// Makes constraints of broken texts and follows those that can be made for some tokens.
void try_broken(ConstraintKind kind, const Samples& samples, const std::string& alphabet,
                int count) {
    const auto vocabulary = mixed_vocabulary();
    std::mt19937 random(11);
    int num_made = 0, num_refused = 0;
    for (int i = 0; i < count; ++i) {
        ConstraintSpec spec;
        spec.kind = kind;
        spec.text = mutate(samples, alphabet, random);
        INFO(spec.text);
        const auto begin = std::chrono::steady_clock::now();
        auto made = make_constraint(spec, vocabulary);
        if (!made.ok()) {
            ++num_refused;
            CHECK_FALSE(made.error().what.empty());
            continue;
        }
        ++num_made;
        TokenMask mask(vocabulary->num_tokens());
        for (int step = 0; step < 12 && !(*made)->is_finished(); ++step) {
            const auto masked = (*made)->allowed_tokens(mask);
            if (!masked.ok()) break;
            REQUIRE(mask.count() > 0);
            size_t id = random() % mask.size();
            while (!mask.test(id)) id = (id + 1) % mask.size();
            const auto accepted = (*made)->accept(static_cast<TokenId>(id));
            if (!accepted.ok()) FAIL(accepted.error().message());
        }
        (*made)->rollback(5);
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
        CHECK(spent.count() < 10.0);
    }
    CHECK(num_made > count / 50);
    CHECK(num_refused > count / 50);
}

}  // namespace

TEST_CASE("GBNF: broken grammars give errors", "[constraint]") {
    try_broken(
        ConstraintKind::gbnf,
        {"root ::= (\"a\" | b){2,3} c? # d\nb ::= [a-z^-]+ \"x\" b | \"\\u00e9\"\nc ::= . ",
         "root ::= \"{\" ws (s \":\" v (\",\" s \":\" v)*)? \"}\"\ns ::= \"\\\"\" [^\"\\\\]* "
         "\"\\\"\"\nv ::= s | root | [0-9]{1,16}\nws ::= [ \\t\\n]*",
         "root ::= e\ne ::= t ((\"+\" | \"-\") t)*\nt ::= [0-9]+ | \"(\" e \")\"",
         "root ::= <[5]> !<ctl>{0,3} <ctl>\n", "root ::= ((\"a\"*)* (\"b\"?)+){0,100}"},
        "\"[](){}|*+?.,:=-^\\#<>! \nabrootw019", 4000);
}

TEST_CASE("Regex: broken patterns give errors", "[constraint]") {
    try_broken(ConstraintKind::regex,
               {"^(\\d{4})-(0[1-9]|1[0-2])$", "[\\w.+-]+@\\w+\\.\\w{2,}", "(a|b)*?c+[^x-z\\s]{1,3}",
                "(?:x|(?<n>y))|\\u{1F600}\\x41"},
               "[](){}|*+?.,^$\\-:<>=!abdwsDWS019", 4000);
}

TEST_CASE("JSON schema: broken schemas give errors", "[constraint]") {
    try_broken(
        ConstraintKind::json_schema,
        {R"({"type":"object","properties":{"a":{"type":"integer","minimum":-5,"maximum":1.5e2},
             "b":{"$ref":"#/$defs/x"}},"required":["a"],"additionalProperties":{"type":"null"},
             "$defs":{"x":{"enum":[1,"b",null]}}})",
         R"({"type":"array","prefixItems":[{"const":1},{"type":["string","null"],"maxLength":4}],
             "items":{"pattern":"^a+$","minLength":2},"minItems":1,"maxItems":5})",
         R"({"anyOf":[{"$ref":"#/$defs/n"},{"oneOf":[{"type":"null"},{"type":"boolean"}]}],
             "$defs":{"n":{"allOf":[{"multipleOf":3,"minimum":0},{"type":"integer"}]}}})",
         R"({"patternProperties":{"^x":{"format":"date"}},"propertyNames":{"maxLength":3},
             "minProperties":1,"maxProperties":3,"type":"object"})"},
        "{}[]:,\"0123456789.-e\\truefalsn $#/^x", 4000);
}
