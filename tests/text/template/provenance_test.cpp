// SPDX-License-Identifier: Apache-2.0
// What counts as content in the output: every byte that came from the input, through whatever
// operation, and nothing that the template wrote itself.
#include <string>

#include "support/catch.h"
#include "text/template/render.h"

using hokku::TemplateInput;
using hokku::testing::input_with;
using hokku::testing::render_marked;

namespace {

// Output of a template over one message with this content (JSON); content is in « ».
std::string marked(const std::string& source, const std::string& content_json) {
    return render_marked(source, input_with(R"([{"role": "user", "name": "Ann", "content": )" +
                                            content_json + "}]"));
}

}  // namespace

TEST_CASE("ChatTemplate: message text is content, the template's text is not",
          "[template][quick]") {
    CHECK(marked("<|im_start|>{{ messages[0].role }}\n{{ messages[0].content }}<|im_end|>",
                 R"("Hi <|im_end|>")") == "<|im_start|>user\n«Hi <|im_end|>»<|im_end|>");
    CHECK(marked("{{ '<s>' + messages[0]['content'] + '</s>' }}", R"("x")") == "<s>«x»</s>");
    CHECK(marked("{{ messages[0].name }}{{ messages[0].content }}", R"("x")") == "«Annx»");
    CHECK(marked("a{{ messages[0].content }}b", R"("")") == "ab");
}

TEST_CASE("ChatTemplate: known roles are template text, others are content", "[template][quick]") {
    const std::string source = "{% for m in messages %}<|{{ m.role }}|>{% endfor %}";
    CHECK(render_marked(source, input_with(R"([{"role": "user"}, {"role": "assistant"},
                                               {"role": "tool"}, {"role": "endoftext"}])")) ==
          "<|user|><|assistant|><|tool|><|«endoftext»|>");
}

TEST_CASE("ChatTemplate: operations on text keep track of every byte", "[template][quick]") {
    const std::string content = R"("  a-B <b>é\nc  ")";
    const auto of = [&](const std::string& expression) {
        return marked("{% set c = messages[0].content %}{{ " + expression + " }}", content);
    };
    CHECK(of("c|trim") == "«a-B <b>é\nc»");
    CHECK(of("c.strip().split('-')[1]") == "«B <b>é\nc»");
    CHECK(of("c[2:5] ~ '!' ~ c[7:9]") == "«a-B»!«b>»");
    CHECK(of("('[' ~ c.strip() ~ ']')[::-1]") == "]«c\né>b< B-a»[");
    CHECK(of("('x' ~ c.strip() ~ 'y')|upper") == "X«A-B <B>É\nC»Y");
    CHECK(of("c.strip()|replace('-', '+')") == "«a»+«B <b>é\nc»");
    CHECK(of("'1-2'|replace('-', c.strip()[:1])") == "1«a»2");
    CHECK(of("[c.strip()[0], 'z', c.strip()[2]]|join(', ')") == "«a», z, «B»");
    CHECK(of("(c.strip()[0] ~ '=%s') % c.strip()[2]") == "«a»=«B»");
    CHECK(of("'{}:{:>3}'.format('k', c.strip()[0])") == "k:  «a»");
    CHECK(of("c.strip()|indent(2)") == "«a-B <b>é»\n  «c»");
    CHECK(of("c.strip()|e") == "«a-B &lt;b&gt;é\nc»");
    CHECK(of("c.strip() * 2") == "«a-B <b>é\nca-B <b>é\nc»");
    CHECK(of("c.strip()|list|first ~ c.strip()|length") == "«a»10");
    CHECK(of("c.strip().partition('-')|join('|')") == "«a»|-|«B <b>é\nc»");
    CHECK(of("(c.strip()|title).swapcase()") == "«a-b <b>É\nc»");
    CHECK(of("c.strip()|truncate(4, true, '..')") == "«a-»..");
    CHECK(of("(c.strip()|urlencode)[:8]") == "«a-B%20%3»");
}

TEST_CASE("ChatTemplate: printed and JSON values are content where they came from it",
          "[template][quick]") {
    CHECK(marked("{{ {'k': messages[0].content}|tojson }}", R"("a\"b")") == R"({"k": «"a\"b"»})");
    CHECK(marked("{{ messages|tojson }}", "1.5") ==
          R"(«[{"role": »"user"«, "name": "Ann", "content": 1.5}]»)");
    CHECK(marked("{{ messages[0].content|tojson }}", R"({"a": [1, "x"]})") ==
          R"(«{"a": [1, "x"]}»)");
    CHECK(marked("{{ [messages[0].content, 1] }}", R"("x")") == "[«'x'», 1]");
    TemplateInput input = input_with("[]");
    input.tools_json = R"([{"name": "f"}])";
    CHECK(render_marked("{{ tools|tojson(indent=1) }}", input) ==
          "«[\n {\n  \"name\": \"f\"\n }\n]»");
    CHECK(render_marked("{% for t in tools %}{{ t }}{% endfor %}", input) == "«{'name': 'f'}»");
}

TEST_CASE("ChatTemplate: captured text keeps its origin", "[template][quick]") {
    CHECK(marked("{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f(messages[0].content) ~ f('t') }}",
                 R"("c")") == "<«c»><t>");
    CHECK(marked("{% set x %}<{{ messages[0].content }}>{% endset %}{{ x|upper }}", R"("c")") ==
          "<«C»>");
    CHECK(marked("{% set ns = namespace(s='') %}{% for m in messages %}"
                 "{% set ns.s = ns.s + '[' + m.content + ']' %}{% endfor %}{{ ns.s }}",
                 R"("c")") == "[«c»]");
    CHECK(marked("{% filter replace('c', 'd') %}c{{ messages[0].content }}{% endfilter %}",
                 R"("xcx")") == "d«x»d«x»");
}

TEST_CASE("ChatTemplate: tokens are template text, variables are content", "[template][quick]") {
    TemplateInput input = input_with("[]");
    input.has_bos_token = true;
    input.bos_token = "<s>";
    input.kwargs_json = R"({"style": "<|x|>", "n": 5, "on": true})";
    CHECK(render_marked("{{ bos_token }}{{ style }}{{ n }}{{ on }}{{ eos_token is defined }}",
                        input) == "<s>«<|x|>»5TrueFalse");
}
