// SPDX-License-Identifier: Apache-2.0
#include "chat/code_highlighter.h"

#include "gui/support/catch_qt.h"

using namespace hokku::desktop;

namespace {

/// Each token as its letter and text: "k:int t:size_t s:"x" n:1 c:// y", lines apart by '/'.
std::string tokens(const char* language, const char* code) {
    CodeHighlighter highlighter(QString::fromUtf8(language));
    std::string result;
    const QStringList lines = QString::fromUtf8(code).split(QLatin1Char('\n'));
    for (const QString& line : lines) {
        qsizetype end = 0;
        for (const CodeSpan& span : highlighter.line(line)) {
            CHECK(span.begin >= end);
            end = span.begin + span.size;
            CHECK(end <= line.size());
            if (!result.empty() && result.back() != '\n') result += ' ';
            result += "?ktsnc"[static_cast<int>(span.token)];
            result += ':' + line.mid(span.begin, span.size).toStdString();
        }
        result += '\n';
    }
    return result;
}

}  // namespace

TEST_CASE("CodeHighlighter: C-like code", "[gui][quick]") {
    CHECK(tokens("cpp", "#include <x>") == "k:#include\n");
    CHECK(tokens("C++", "int n = 0x1F + 2.5e-3; // end") == "t:int n:0x1F n:2.5e-3 c:// end\n");
    CHECK(tokens("c", "return \"a\\\"b\" + 'c';") == "k:return s:\"a\\\"b\" s:'c'\n");
    CHECK(tokens("java", "a /* b\nc */ class") == "c:/* b\nc:c */ k:class\n");
    CHECK(tokens("rust", "fn f<'a>(x: &'a str)") == "k:fn t:str\n");
    CHECK(tokens("js", "const a = `b\nc` + `d`") == "k:const s:`b\ns:c` s:`d`\n");
    CHECK(tokens("cpp", "integer classy _int") == "\n");
}

TEST_CASE("CodeHighlighter: Python, shell, SQL and JSON", "[gui][quick]") {
    CHECK(tokens("python", "def f(x): # it's\n    \"\"\"a\nb\"\"\"\n    return None") ==
          "k:def c:# it's\ns:\"\"\"a\ns:b\"\"\"\nk:return t:None\n");
    CHECK(tokens("bash", "for f in $X ${Y}; do echo \"a\" # b\nfoo#bar") ==
          "k:for k:in t:$X t:${Y} k:do t:echo s:\"a\" c:# b\n\n");
    CHECK(tokens("sql", "SELECT a FROM b -- c") == "k:SELECT k:FROM c:-- c\n");
    CHECK(tokens("json", "{\"a\": \"b\", \"c\": [1, true]}") ==
          "t:\"a\" s:\"b\" t:\"c\" n:1 t:true\n");
}

TEST_CASE("CodeHighlighter: Markdown and HTML", "[gui][quick]") {
    CHECK(tokens("md", "# a\n- `b` **c**\n> d\n```\n# e\n```\nf") ==
          "k:# a\nn:-  s:`b` t:**c**\nc:> d\ns:```\ns:# e\ns:```\n\n");
    CHECK(tokens("html", "<a href=\"x\">b</a> <!-- c\nd --> &amp; 1 < 2") ==
          "k:<a t:href s:\"x\" k:> k:</a k:> c:<!-- c\nc:d --> n:&amp;\n");
}

TEST_CASE("CodeHighlighter: what it does not know stays plain", "[gui][quick]") {
    CHECK(tokens("brainfuck", "int a; // b") == "\n");
    CHECK(tokens("", "int a;") == "\n");
    CHECK(CodeHighlighter::displayName(QStringLiteral("PY")) == QStringLiteral("Python"));
    CHECK(CodeHighlighter::displayName(QStringLiteral("Zig")) == QStringLiteral("Zig"));
}

TEST_CASE("CodeHighlighter: any text at all gives spans in order", "[gui][quick]") {
    const char* nasty = "\"'`/*<!--\n*/-->\"\"\"\n'''\\\n<\n&;\n${\n$\n0x\n#\n-- \n\\\"\n\n`";
    for (const char* language : {"cpp", "py", "sh", "json", "md", "sql", "html", "yaml", "go"})
        CHECK(!tokens(language, nasty).empty());
}
