// SPDX-License-Identifier: Apache-2.0
// Templates and inputs made to exhaust or to escape: all end in an error value, soon and on a
// small stack.
#include <chrono>
#include <ctime>
#include <functional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "support/catch.h"
#include "support/system.h"
#include "support/time_limits.h"
#include "text/template/render.h"

using hokku::ChatTemplate;
using hokku::ErrorCode;
using hokku::TemplateInput;
using hokku::TemplateLimits;
using hokku::testing::input_with;
using hokku::testing::render;
using hokku::testing::run_on_small_stack;

namespace {

std::string repeat(std::string_view text, size_t count) {
    std::string out;
    for (size_t i = 0; i < count; ++i) out += text;
    return out;
}

constexpr size_t kSmallStack = size_t{512} << 10;

// Of the processor: other programs do not count.
double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Code of the error a template ends with; nullopt if it renders.
std::optional<ErrorCode> code_of(const std::string& source) {
    const auto chat_template = ChatTemplate::parse(source);
    if (!chat_template.ok()) return chat_template.error().code;
    const auto text = chat_template->render(input_with("[]"));
    if (text.ok()) return std::nullopt;
    return text.error().code;
}

}  // namespace

TEST_CASE("ChatTemplate: what grows without end meets a limit", "[template][quick]") {
    const std::vector<std::string> sources{
        "{% for i in range(1000000000) %}{% endfor %}",
        "{{ 'x' * 1000000000 }}",
        "{{ [1] * 1000000000 }}",
        "{% set ns = namespace(a='x') %}{% for i in range(40) %}{% set ns.a = ns.a ~ ns.a %}"
        "{% endfor %}",
        "{% set ns = namespace(a=[1]) %}{% for i in range(40) %}{% set ns.a = ns.a + ns.a %}"
        "{% endfor %}",
        "{% set ns = namespace(a=[1]) %}{% for i in range(99999) %}{% set ns.a = [ns.a] %}"
        "{% endfor %}{{ ns.a }}",
        "{% set ns = namespace(a=[1], b=[1]) %}{% for i in range(60) %}"
        "{% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}{% endfor %}"
        "{{ ns.a == ns.b }}",
        "{% set ns = namespace(a=[1]) %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}"
        "{% endfor %}{{ ns.a|tojson }}",
        "{% set a = [] %}{% do a.append(a) %}{{ a }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{{ ('a' * 1000000)|replace('a', 'b' * 1000) }}",
        "{{ ('a' * 100000)|join('b' * 1000) }}",
        "{{ 'a'|center(1000000000) }}",
        "{{ 'a'.zfill(1000000000) }}",
        "{{ 'a'|indent(1000000000, true) }}",
        "{{ ('a ' * 5000000).split()|length }}",
    };
    for (const std::string& source : sources) {
        INFO(source);
        const auto begin = std::chrono::steady_clock::now();
        CHECK(code_of(source) == ErrorCode::limit_exceeded);
        CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
    }
}

TEST_CASE("ChatTemplate: steps run out within a second or so", "[template]") {
    const std::vector<std::string> sources{
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% macro f(n) %}{% if n > 0 %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(30) "
        "}}",
        "{% set s = 'a' * 999999 %}{% for i in range(99999) %}{% set x = s|lower %}{% endfor %}",
        "{% set s = 'a' * 999999 %}{% for i in range(99999) %}{% if 'b' in s %}{% endif %}"
        "{% endfor %}",
        "{% set s = 'é' * 99999 %}{% for i in range(99999) %}{{ s[99998] }}{% endfor %}",
        "{% set s = 'a' * 999999 %}{% set t = 'a' * 999999 %}{% for i in range(99999) %}"
        "{% if s == t %}{% endif %}{% endfor %}",
        "{% set ns = namespace(s='') %}{% for i in range(99999) %}"
        "{% set ns.s = ns.s ~ 'xxxxxxxxxxxxxxxxxxxx' %}{% endfor %}",
    };
    for (const std::string& source : sources) {
        INFO(source);
        const auto begin = std::chrono::steady_clock::now();
        CHECK(code_of(source) == ErrorCode::limit_exceeded);
        CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
    }
    // Searching is linear even where a plain search is quadratic.
    CHECK(render("{{ ('a' * 1000000).count('a' * 500000 ~ 'b') }}") == "0");
    CHECK(render("{{ ('a' * 1000000).rfind('b' ~ 'a' * 500000) }}") == "-1");
}

TEST_CASE("Parser: deep nesting is an error, long chains are not", "[template][quick]") {
    run_on_small_stack(kSmallStack, [] {
        for (const char* opening : {"(", "[", "{1:", "a[", "f(", "a|f(", "a.b(x is c(", "{{ ("}) {
            INFO(opening);
            CHECK(code_of("{{ " + repeat(opening, 50000)) == ErrorCode::limit_exceeded);
        }
        CHECK(code_of(repeat("{% if 1 %}", 20000)) == ErrorCode::limit_exceeded);
        CHECK(code_of(repeat("{% for i in x %}", 20000)) == ErrorCode::limit_exceeded);
        CHECK(code_of("{% for " + repeat("(", 50000) + "a in x %}{% endfor %}") ==
              ErrorCode::limit_exceeded);
        CHECK(render("{{ 1" + repeat("+1", 100000) + " }}") == "100001");
        CHECK(render("{{ 1" + repeat(" and 1", 50000) + " }}") == "1");
        CHECK(render("{{ 1" + repeat("|abs", 50000) + " }}") == "1");
        CHECK(render("{{ 1" + repeat("==1", 50000) + " }}") == "True");
        CHECK(render("{{ " + repeat("not ", 50000) + "1 }}") == "True");
        CHECK(render("{{ " + repeat("-", 50000) + "1 }}") == "1");
        CHECK(render("{{ 1 " + repeat(" if 0 else 1", 20000) + " }}") == "1");
        CHECK(render("{% if 0 %}" + repeat("{% elif 0 %}", 20000) + "{% endif %}") == "");
    });
}

TEST_CASE("Interpreter: recursion ends before a small stack does", "[template][quick]") {
    run_on_small_stack(kSmallStack, [] {
        CHECK(code_of("{% macro f(x) %}{% for i in [1] %}{% if true %}{{ f(f([f(x)])) }}{% endif %}"
                      "{% endfor %}{% endmacro %}{{ f(1) }}") == ErrorCode::limit_exceeded);
        CHECK(code_of("{% macro f() %}{% call f() %}{{ caller() }}{% endcall %}{{ caller }}"
                      "{% endmacro %}{{ f() }}") == ErrorCode::limit_exceeded);
        // A schema walker of a usual depth works.
        CHECK(render("{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}"
                     "{{ f(20) }}") == "2019181716151413121110987654321");
    });
}

TEST_CASE("ChatTemplate: nested input is read without recursion and bounded", "[template][quick]") {
    run_on_small_stack(kSmallStack, [] {
        const auto chat_template = ChatTemplate::parse("{{ tools|tojson }}{{ tools }}");
        REQUIRE(chat_template.ok());
        TemplateInput input = input_with("[]");
        input.tools_json = "[" + repeat("{\"a\":", 100) + "1" + repeat("}", 100) + "]";
        CHECK(chat_template->render(input).ok());
        input.tools_json = repeat("[", 5000) + repeat("]", 5000);
        const auto text = chat_template->render(input);
        REQUIRE(!text.ok());
        CHECK(text.error().message() == "nested deeper than 200 levels (tools)");
    });
}

TEST_CASE("ChatTemplate: only data can be reached", "[template][quick]") {
    for (const char* payload : {
             "{{ ''.__class__.__mro__ }}",
             "{{ ''.__class__.__base__.__subclasses__() }}",
             "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
             "{{ self.__init__.__globals__ }}",
             "{{ messages.__class__.__init__.__globals__ }}",
             "{{ namespace.__init__.__globals__['os'] }}",
             "{{ joiner.__init__.__globals__.os }}",
             "{{ (1).__class__.__base__.__subclasses__() }}",
             "{{ range.__self__.__import__('os') }}",
             "{{ ''|attr('__class__')|attr('__mro__') }}",
             "{{ raise_exception.__globals__ }}",
             "{{ strftime_now.__globals__['datetime'] }}",
             "{{ '{0.__class__.__init__.__globals__}'.format(1) }}",
             "{{ lipsum.__globals__ }}",
             "{{ config.items() }}",
             "{{ request.application }}",
             "{{ get_flashed_messages.__globals__ }}",
             "{{ env('HOME').x }}",
             "{% for c in [].__class__.__base__.__subclasses__() %}{{ c }}{% endfor %}",
         }) {
        INFO(payload);
        const std::string found = render(payload);
        CHECK((found.empty() || found.substr(0, 7) == "error: "));
    }
    CHECK(render("{{ ''.__class__ }}{{ [].__len__ }}{{ {}['__class__'] }}") == "");
}

TEST_CASE("ChatTemplate: errors name the line and column", "[template][quick]") {
    const auto place_of = [](std::string_view source) {
        const auto chat_template = ChatTemplate::parse(source);
        if (!chat_template.ok()) return chat_template.error().where;
        const auto text = chat_template->render(input_with("[]"));
        return text.ok() ? std::string("none") : text.error().where;
    };
    CHECK(place_of("a\nbc {{ 1 + }}") == "line 2, column 11");
    CHECK(place_of("a\r\n\r\n  {{ nope.x }}") == "line 3, column 10");
    CHECK(place_of("{% if true %}\n{{ 'é' ~ x|upper(1) }}{% endif %}") == "line 2, column 12");
    CHECK(place_of("{% for x in y") == "line 1, column 14");
    CHECK(place_of("text {# open") == "line 1, column 6");
}

TEST_CASE("ChatTemplate: limits are the caller's", "[template][quick]") {
    TemplateLimits limits;
    limits.max_output_bytes = 10;
    CHECK(render("{{ 'x' * 10 }}", "{}", limits) == "xxxxxxxxxx");
    CHECK(render("{{ 'x' * 11 }}", "{}", limits) == "error: a text grows beyond 10 bytes");
    CHECK(render("12345{{ 'x' * 6 }}", "{}", limits) == "error: the output grows beyond 10 bytes");
    limits = {};
    limits.max_steps = 100;
    CHECK(render("{% for i in range(9) %}{{ i }}{% endfor %}", "{}", limits) == "012345678");
    CHECK(render("{% for i in range(99) %}{{ i }}{% endfor %}", "{}", limits) ==
          "error: the template runs for more than the 100 steps allowed");
    limits = {};
    limits.max_depth = 5;
    CHECK(render("{{ ((1)) }}", "{}", limits) == "1");
    CHECK(render("{{ ((((((1)))))) }}", "{}", limits) ==
          "error: the template is nested deeper than 5 levels");
}

TEST_CASE("ChatTemplate: what ends the reading of its input keeps its kind", "[template][quick]") {
    TemplateLimits limits;
    limits.max_steps = 100;
    const auto chat_template = ChatTemplate::parse("x", limits);
    REQUIRE(chat_template.ok());
    std::stop_source stop;
    stop.request_stop();
    const auto cancelled = chat_template->render_parts(input_with("[1]"), stop.get_token());
    REQUIRE_FALSE(cancelled.ok());
    CHECK(cancelled.error().code == ErrorCode::cancelled);
    const auto too_long = chat_template->render(input_with("[1" + repeat(",1", 100) + "]"));
    REQUIRE_FALSE(too_long.ok());
    CHECK(too_long.error().code == ErrorCode::limit_exceeded);
    CHECK(too_long.error().where == "messages");
    const auto ill_formed = chat_template->render(input_with("[1"));
    REQUIRE_FALSE(ill_formed.ok());
    CHECK(ill_formed.error().code == ErrorCode::bad_argument);
}

TEST_CASE("ChatTemplate: errors are readable whatever they quote", "[template][quick]") {
    CHECK(render("{{ '%é' % 1 }}") == "error: unsupported format character 'é'");
    CHECK(render("{{ '%(é' % 1 }}") == "error: incomplete format key");
    CHECK(render("{{ '{!é}'.format(1) }}") == "error: Unknown conversion specifier é");
    CHECK(render("{{ '{!r}{!s}{!a}'.format('é', 1, 'é') }}") == "'é'1'é'");
    CHECK(render("{{ '{!rx}'.format(1) }}") == "error: expected ':' after conversion specifier");
    CHECK(render("{{ '{!r!r}'.format(1) }}") == "error: expected ':' after conversion specifier");
    CHECK(render("{{ '{!}'.format(1) }}") == "error: unmatched '{' in format spec");
    CHECK(render("{{ '{:é}'.format(1) }}") == "error: Invalid format specifier 'é'");
    // What is quoted may be as long as the template lets it be.
    const std::string name = repeat("é", 5000);
    const std::vector<std::string> sources = {
        "{{ " + name + "() }}",
        "{{ x." + name + " }}{{ x." + name + ".y }}",
        "{{ 1|" + name + " }}",
        "{{ 1 is " + name + " }}",
        "{% " + name + " %}",
        "{% for " + name + " of x %}",
        "{{ f(" + name + "=1, " + name + "=2) }}",
        "{% macro m(a) %}{% endmacro %}{{ m(" + name + "=1) }}",
        "{{ {'a': 1}['" + name + "'].b }}",
        "{{ '%(" + name + ")s' % {} }}",
        "{{ '{" + name + "}'.format(1) }}",
        "{{ '{:" + name + "}'.format(1) }}",
        "{{ ('é' * 5000)() }}",
        "{{ raise_exception('é' * 5000) }}",
        "{{ '" + name + "'|int() + 'a' }}",
        "{{ (['é'] * 5000)['a']() }}",
        "{% include '" + name + "' %}",
        "{{ 1 " + name + " }}",
        "{{ '" + name + "' '" + name + "' }",
    };
    for (const std::string& source : sources) {
        INFO(source.substr(0, 40));
        const auto message = [&] {
            const auto chat_template = ChatTemplate::parse(source);
            if (!chat_template.ok()) return chat_template.error().message();
            const auto text = chat_template->render(input_with("[]"));
            return text.ok() ? std::string("rendered") : text.error().message();
        }();
        CHECK(message != "rendered");
        CHECK(message.size() < 2200);
        CHECK(hokku::is_valid_utf8(message));
    }
}

TEST_CASE("ChatTemplate: a source of up to 512 KiB is read, one more byte is refused",
          "[template][quick]") {
    constexpr size_t kMaxBytes = 512u << 10;
    CHECK(render(std::string(kMaxBytes, 'x')) == std::string(kMaxBytes, 'x'));
    const auto refused = ChatTemplate::parse(std::string(kMaxBytes + 1, 'x'));
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::limit_exceeded);
    CHECK(refused.error().message() == "the template has 524289 bytes: expected at most 524288");
}

TEST_CASE("ChatTemplate: what a message holds cannot be multiplied beyond the limits",
          "[template][quick]") {
    const auto code_with = [](std::string_view source) -> std::optional<ErrorCode> {
        const auto chat_template = ChatTemplate::parse(source);
        REQUIRE(chat_template.ok());
        const auto text = chat_template->render(
            input_with(R"([{"role": "user", "content": "some words of a user"}])"));
        if (text.ok()) return std::nullopt;
        return text.error().code;
    };
    CHECK_FALSE(code_with("{{ messages[0].content * 1000 }}"));
    CHECK(code_with("{{ messages[0].content * 1048576 }}") == ErrorCode::limit_exceeded);
    CHECK(code_with("{% for i in range(1048576) %}{{ messages[0].content }}{% endfor %}") ==
          ErrorCode::limit_exceeded);
    CHECK(code_with("{{ (messages * 1048576)|map(attribute='content')|join }}") ==
          ErrorCode::limit_exceeded);
    CHECK(code_with("{% set ns = namespace(t=messages[0].content) %}{% for i in range(40) %}"
                    "{% set ns.t = ns.t + ns.t %}{% endfor %}{{ ns.t }}") ==
          ErrorCode::limit_exceeded);
}

TEST_CASE("ChatTemplate: every way to use fuel costs some", "[template]") {
    // Each once took seconds: many small replacements, wide padding.
    for (const char* source : {
             "{% set s = 'ab' * 99999 %}{% for i in range(99999) %}{% set d = s|replace('a', '') %}"
             "{% endfor %}",
             "{% for i in range(99999) %}{% for j in range(999) %}{% set d = '%65000d'|format(1) %}"
             "{% endfor %}{% endfor %}",
         }) {
        INFO(source);
        const double begin = thread_seconds();
        CHECK(code_of(source) == ErrorCode::limit_exceeded);
        CHECK(thread_seconds() - begin < 1.5 * hokku::testing::kTimeFactor);
    }
}
