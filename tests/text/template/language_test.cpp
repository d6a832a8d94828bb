// SPDX-License-Identifier: Apache-2.0
// The language by example: white space, scopes, loops, macros, undefined values. Expected values
// follow from the Jinja 3.1 template documentation.
#include "support/catch.h"
#include "text/template/render.h"

using hokku::testing::render;

TEST_CASE("Lexer: blocks take their line with them, variables do not", "[template][quick]") {
    CHECK(render("a\n  {% if true %}\n  b\n  {% endif %}\nc") == "a\n  b\nc");
    CHECK(render("a {% if true %} b {% endif %} c") == "a  b  c");
    CHECK(render("a\n  {{ 'x' }}\nb") == "a\n  x\nb");
    CHECK(render("a\n  {# note #}\nb") == "a\nb");
    CHECK(render("  {%+ if true %}\nx{% endif +%}\ny") == "  x\ny");
}

TEST_CASE("Lexer: a minus strips all white space on its side", "[template][quick]") {
    CHECK(render("a \n\t {{- 'x' -}} \n b") == "axb");
    CHECK(render("a \n{%- if true -%}\n\n b {%- endif %} c") == "ab c");
    CHECK(render("a {#- note -#} b") == "ab");
    CHECK(render("a\xC2\xA0{{- 1 }}") == "a1");  // a no-break space is white space too
    CHECK(render("{% raw -%}  {{ x }} {%- endraw %}.") == "{{ x }}.");
}

TEST_CASE("Lexer: one line break at the end is dropped and CRLF counts as one",
          "[template][quick]") {
    CHECK(render("a\n") == "a");
    CHECK(render("a\n\n\n") == "a\n\n");
    CHECK(render("a\r\nb\rc\r\n") == "a\nb\nc");
    CHECK(render("") == "");
}

TEST_CASE("Lexer: string escapes are Python's", "[template][quick]") {
    CHECK(render(R"({{ 'a\tb\x41\u00e9\U0001F600\101\\\'' }})") ==
          "a\tbA\xC3\xA9\xF0\x9F\x98\x80"
          "A\\'");
    CHECK(render(R"({{ '\d' }})") == R"(\d)");
    CHECK(render("{{ 'a\\\nb' }}") == "ab");
    CHECK(render(R"({{ '\ud83d\ude00' }})") == "\xF0\x9F\x98\x80");
}

TEST_CASE("Parser: precedence is Jinja's", "[template][quick]") {
    CHECK(render("{{ 1 + 2 * 3 }}") == "7");
    CHECK(render("{{ 'a' + 1 ~ 2 }}") == "a12");  // ~ binds tighter than +
    CHECK(render("{{ -3|abs }}") == "3");
    CHECK(render("{{ 2 ** 3 ** 2 }}") == "64");  // from the left, unlike Python
    CHECK(render("{{ not 1 == 2 }}") == "True");
    CHECK(render("{{ 1 < 2 < 3 and not 3 < 2 < 1 }}") == "True");
    CHECK(render("{{ 'a' if false else 'b' if false else 'c' }}") == "c");
    CHECK(render("{{ ('a' 'b' ~ 'c')|upper }}") == "ABC");
}

TEST_CASE("Interpreter: set stays in loops and leaves ifs", "[template][quick]") {
    CHECK(render("{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + 1 %}{{ x }} "
                 "{% endfor %}{{ x }}") == "12 12 1");
    CHECK(render("{% if true %}{% set x = 1 %}{% endif %}{{ x }}") == "1");
    CHECK(render("{% set ns = namespace(n=0) %}{% for i in [1, 2] %}{% set ns.n = ns.n + i %}"
                 "{% endfor %}{{ ns.n }}") == "3");
    CHECK(render("{% with a = 1 %}{{ a }}{% endwith %}{{ a is defined }}") == "1False");
}

TEST_CASE("Interpreter: the loop variable counts, looks around and recurses", "[template][quick]") {
    CHECK(render("{% for c in 'abc' %}{{ loop.index }}{{ loop.revindex0 }}{{ loop.previtem }}"
                 "{{ loop.nextitem }}{{ ' ' if not loop.last }}{% endfor %}") == "12b 21ac 30b");
    CHECK(render("{% for i in range(6) if i % 2 %}{{ loop.length }}{{ i }} {% endfor %}") ==
          "31 33 35 ");
    CHECK(render("{% for n in t recursive %}{{ n.v }}{% if n.c %}({{ loop(n.c) }}){% endif %}"
                 "{% endfor %}",
                 R"({"t": [{"v": 1, "c": [{"v": 2}, {"v": 3}]}, {"v": 4}]})") == "1(23)4");
    CHECK(render("{% for i in [] %}x{% else %}none{% endfor %}") == "none");
    CHECK(render("{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}"
                 "{% if i == 3 %}{% break %}{% endif %}{% endfor %}") == "023");
    CHECK(render("{% for i in range(4) %}{{ loop.cycle('a', 'b') }}{% endfor %}") == "abab");
}

TEST_CASE("Interpreter: macros bind arguments and see where they were written",
          "[template][quick]") {
    CHECK(render("{% macro f(a, b='x', c=b) %}{{ a }}{{ b }}{{ c }} {% endmacro %}"
                 "{{ f(1) }}{{ f(1, c=2) }}{{ f(b=3, a=4) }}") == "1xx 1x2 433 ");
    CHECK(render("{% macro f() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ f() }}"
                 "{% for x in [7] %}{{ f() }}{% endfor %}") == "11");
    CHECK(render("{% macro f(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, k=3) }}") ==
          "(2,){'k': 3}");
    CHECK(render("{% macro list() %}{{ caller(1) }}{{ caller(2) }}{% endmacro %}"
                 "{% call(n) list() %}<{{ n }}>{% endcall %}") == "<1><2>");
    CHECK(render("{% macro f() %}{% endmacro %}{{ f(1) }}") ==
          "error: macro 'f' takes not more than 0 argument(s)");
}

TEST_CASE("Interpreter: undefined prints nothing and fails when used", "[template][quick]") {
    CHECK(render("[{{ x }}{{ x|length }}{% for i in x %}{% endfor %}]") == "[0]");
    CHECK(render("{{ x.y }}") == "error: 'x' is undefined");
    CHECK(render("{{ x + 1 }}") == "error: 'x' is undefined");
    CHECK(render("{{ d.a.b }}", R"({"d": {}})") == "error: 'dict object' has no attribute 'a'");
    CHECK(render("{{ l[3].x }}", R"({"l": []})") == "error: list object has no element 3");
    CHECK(render("{{ n.x }}", R"({"n": null})") == "");
    CHECK(render("{{ n.x.y }}", R"({"n": null})") == "error: 'None' has no attribute 'x'");
    CHECK(render("{{ x|default('d') }}{{ ''|default('e', true) }}") == "de");
}

TEST_CASE("Interpreter: numbers are Python's", "[template][quick]") {
    CHECK(render("{{ 7 // -2 }} {{ 7 % -3 }} {{ 6 / 2 }} {{ 1e16 }} {{ 0.1 + 0.2 }}") ==
          "-4 -2 3.0 1e+16 0.30000000000000004");
    CHECK(render("{{ 1 == true }} {{ 1.0 == 1 }} {{ true + 1 }}") == "True True 2");
    CHECK(render("{{ 9223372036854775807 + 1 }}") ==
          "error: the result does not fit into a 64-bit integer");
    CHECK(
        render("{{ n }} {{ n|tojson }} {{ n == n }}", R"({"n": 123456789012345678901234567890})") ==
        "123456789012345678901234567890 123456789012345678901234567890 True");
    CHECK(render("{{ n + 1 }}", R"({"n": 18446744073709551616})") ==
          "error: integers beyond 64 bits cannot be calculated with");
    CHECK(render("{{ n }}", R"({"n": 1.0})") == "1.0");
    CHECK(render("{{ n * 1.5 }}", R"({"n": 2})") == "3.0");
}

TEST_CASE("Interpreter: files cannot be reached", "[template][quick]") {
    for (const char* tag : {"include 'x'", "import 'x' as y", "from 'x' import y", "extends 'x'"}) {
        INFO(tag);
        const std::string found = render(std::string("{% ") + tag + " %}");
        CHECK(found.find("is not available") != std::string::npos);
    }
    CHECK(render("{% unknown %}") == "error: Encountered unknown tag 'unknown'.");
}

TEST_CASE("Interpreter: an unknown filter fails only where it runs", "[template][quick]") {
    CHECK(render("{% if false %}{{ 1|nope }}{{ 1 is nope }}{% endif %}ok") == "ok");
    CHECK(render("{{ 1|nope }}") == "error: No filter named 'nope' found.");
    CHECK(render("{{ 1 is nope }}") == "error: No test named 'nope' found.");
}
