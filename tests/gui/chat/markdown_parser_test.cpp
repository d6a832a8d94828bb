// SPDX-License-Identifier: Apache-2.0
#include "chat/markdown_parser.h"

#include "gui/chat/markdown_corpus.h"
#include "gui/support/catch_qt.h"

using namespace hokku::desktop;
using hokku::testing::MarkdownCase;
using hokku::testing::markdownCorpus;

namespace {

QVector<RichBlock> parse(const QString& text) {
    MarkdownChunks chunks;
    chunks.append(text);
    MarkdownContext context;
    QVector<RichBlock> blocks;
    for (qsizetype i = 0; i < chunks.chunks().size(); ++i) {
        const bool isCut = i + 1 < chunks.chunks().size() && chunks.chunks()[i + 1].isInCode;
        blocks += parseMarkdown(chunks.chunks()[i], chunks.text(i), isCut, context);
    }
    return blocks;
}

QVector<RichBlock> parse(const char* text) {
    return parse(QString::fromUtf8(text));
}

std::string styled(const RichText& text) {
    std::string result;
    for (const TextRun& run : text.runs) {
        if (run.style & kStrong) result += 'B';
        if (run.style & kEmphasis) result += 'I';
        if (run.style & kStrike) result += 'S';
        if (run.style & kInlineCode) result += 'C';
        if (run.style & kFormula) result += 'F';
        if (run.style & kFaint) result += 'f';
        result += '[' + text.text.mid(run.begin, run.size).toStdString();
        if (!run.link.isEmpty()) result += " -> " + run.link.toStdString();
        result += ']';
    }
    return result;
}

/// The only block of a text.
std::string one(const char* text) {
    const QVector<RichBlock> blocks = parse(text);
    REQUIRE(blocks.size() == 1);
    return styled(blocks[0].content);
}

/// Blocks as "containers marker text", one a line.
std::string outline(const char* text) {
    std::string result;
    for (const RichBlock& block : parse(text))
        result += block.containers.toStdString() + '|' + block.marker.toStdString() + '|' +
                  block.content.text.toStdString() + '\n';
    return result;
}

}  // namespace

TEST_CASE("Markdown: the tabs that code is set in by stay tabs", "[gui][quick]") {
    const auto codeOf = [](const char* text) {
        QStringList lines;
        for (const RichBlock& block : parse(text))
            if (block.kind == RichBlock::Kind::code) lines.append(block.content.text);
        return lines.join(QLatin1Char('\n')).toStdString();
    };
    CHECK(codeOf("```make\nall: a\n\tcc a.c\n\t\tx\ty\n  \tz\n    four\n```\n") ==
          "all: a\n\tcc a.c\n\t\tx\ty\n  \tz\n    four");
    CHECK(codeOf("- item\n  ```go\n  func f() {\n  \treturn\n  }\n  ```\n") ==
          "func f() {\n\treturn\n}");
    CHECK(codeOf("> ```\n> a\n> \tb\n> ```\n") == "a\n\tb");
    CHECK(codeOf("```\n\t$x$ \\(y\\)\n```\n") == "\t$x$ \\(y\\)");
}

TEST_CASE("parseMarkdown: emphasis, code and lines", "[gui][quick]") {
    CHECK(one("a **b *c*** ~~d~~ `e*f*`") == "[a ]B[b ]BI[c][ ]S[d][ ]C[e*f*]");
    CHECK(one("old pond\nfrog") == "[old pond\u2028frog]");
    CHECK(one("2 &lt; 3 &amp; &#65; &nope;") == "[2 < 3 & A &nope;]");
}

TEST_CASE("parseMarkdown: raw HTML is text", "[gui][quick]") {
    CHECK(one("<b>x</b> <img src=\"https://a.example/t.png\">").find("<b>x</b> <img src=") == 1);
    CHECK(one("<script>alert(1)</script>") == "[<script>alert(1)</script>]");
    CHECK(one("<!-- hidden -->") == "[<!-- hidden -->]");
}

TEST_CASE("parseMarkdown: only harmless links are links", "[gui][quick]") {
    CHECK(one("[a](https://b.example/c)") == "[a -> https://b.example/c]");
    CHECK(one("[a](mailto:b@c.example)") == "[a -> mailto:b@c.example]");
    CHECK(one("[a](javascript:alert)") == "[a]f[ (javascript:alert)]");
    CHECK(one("[a](file:///etc/passwd)") == "[a]f[ (file:///etc/passwd)]");
    CHECK(one("[a](data:text/html,x)") == "[a]f[ (data:text/html,x)]");
    CHECK(one("see https://b.example now") ==
          "[see ][https://b.example -> https://b.example][ now]");
    for (const char* bad : {"http:", "https://", "ftp://a.example", "HTTP//a", "qrc:/x",
                            "hokku:thought/1", "//a.example", "smb://a.example/x"})
        CHECK_FALSE(isAllowedLink(QString::fromLatin1(bad)));
}

TEST_CASE("parseMarkdown: an image is its text and its address", "[gui][quick]") {
    CHECK(one("![a frog](https://b.example/c.png)") ==
          "I[a frog]f[ (]f[https://b.example/c.png -> https://b.example/c.png]f[)]");
    CHECK(one("![](c.png)") == "f[(c.png)]");
}

TEST_CASE("parseMarkdown: formulas stay as they were written", "[gui][quick]") {
    CHECK(one("so $a_1 * b_1$ is") == "[so ]F[$a_1 * b_1$][ is]");
    CHECK(one("\\(a_1\\) \\[b*c*d\\]") == "F[\\(a_1\\)][ ]F[\\[b*c*d\\]]");
    CHECK(one("$$\nx_1\n= y_1\n$$") == "F[$$\u2028x_1\u2028= y_1\u2028$$]");
    CHECK(one("$5 and $10") == "[$5 and $10]");
    CHECK(one("`$a_1$`") == "C[$a_1$]");
    CHECK(one("open \\(a") == "[open ]F[\\(][a]");
    CHECK(one("\\[ a \\(b\\) \\[c\\] \\[ d \\(e\\)") ==
          "F[\\[ a \\(b\\) \\[c\\]][ ]F[\\[][ d ]F[\\(e\\)]");
    const QVector<RichBlock> table = parse("| a |\n|---|\n| $|x|$ |\n");
    REQUIRE(table.size() == 1);
    CHECK(styled(table[0].rows[1][0]) == "F[$|x|$]");
}

TEST_CASE("parseMarkdown: lists, tasks and quotations", "[gui][quick]") {
    CHECK(outline("- a\n  - b\n    c\n- d") == "b|•|a\nbb|◦|b\u2028c\nb|•|d\n");
    CHECK(outline("3. a\n4. b\n\n   c") == "n|3.|a\nn|4.|b\nn||c\n");
    CHECK(outline("1. a\n\n1. b\n\n1. c") == "n|1.|a\nn|2.|b\nn|3.|c\n");
    CHECK(outline("0. a\n1. b") == "n|0.|a\nn|1.|b\n");
    CHECK(outline("- [ ] a\n- [x] b") == "b|☐|a\nb|☑|b\n");
    CHECK(outline("> a\n> - b\n\nc") == "q||a\nqb|•|b\n||c\n");
    CHECK(outline("- - a") == "b|•|\nbb|◦|a\n");
    CHECK(outline("- ```\n  a\n  ```\n-") == "b|•|\nb||a\nb|•|\n");
}

TEST_CASE("parseMarkdown: a list that was cut counts on", "[gui][quick]") {
    QString text;
    for (int i = 0; i < 900; ++i) text += QStringLiteral("1. item\n");
    const QVector<RichBlock> blocks = parse(text);
    REQUIRE(blocks.size() == 900);
    for (int i = 0; i < 900; ++i)
        REQUIRE(blocks[i].marker == QString::number(i + 1) + QLatin1Char('.'));
}

TEST_CASE("parseMarkdown: a table that was cut goes on without a head", "[gui][quick]") {
    QString text = QStringLiteral("| a | b |\n|---|--:|\n");
    for (int i = 0; i < 500; ++i) text += QStringLiteral("| %1 | x |\n").arg(i);
    const QVector<RichBlock> blocks = parse(text);
    REQUIRE(blocks.size() > 1);
    int next = 0;
    for (const RichBlock& block : blocks) {
        REQUIRE(block.kind == RichBlock::Kind::table);
        CHECK(block.alignments == QVector<Qt::Alignment>{Qt::AlignLeft, Qt::AlignRight});
        for (qsizetype row = block.isHeadless ? 0 : 1; row < block.rows.size(); ++row)
            REQUIRE(block.rows[row][0].text == QString::number(next++));
    }
    CHECK(next == 500);
}

TEST_CASE("parseMarkdown: code keeps its lines and its language", "[gui][quick]") {
    const QVector<RichBlock> blocks = parse("```py\ndef f():\n\n    pass\n```\n");
    REQUIRE(blocks.size() == 3);
    CHECK(blocks[0].language == QStringLiteral("py"));
    CHECK(blocks[0].isFirst);
    CHECK_FALSE(blocks[0].isLast);
    CHECK(blocks[1].content.text.isEmpty());
    CHECK(blocks[2].content.text == QStringLiteral("    pass"));
    CHECK(blocks[2].isLast);
    CHECK(blocks[2].content.runs.back().token == CodeToken::keyword);
}

TEST_CASE("parseMarkdown: a code block that was cut is one block", "[gui][quick]") {
    for (const char* name : {"a code block", "a line of code", "a comment"}) {
        CAPTURE(name);
        for (const MarkdownCase& example : markdownCorpus()) {
            if (std::string(example.name) != name) continue;
            QString code;
            int firsts = 0, lasts = 0;
            for (const RichBlock& block : parse(example.text)) {
                if (block.kind != RichBlock::Kind::code) continue;
                firsts += block.isFirst;
                lasts += block.isLast;
                if (block.join == BlockJoin::line) code += QLatin1Char('\n');
                code += block.content.text;
                if (std::string(name) == "a comment" && !block.isFirst && !block.isLast &&
                    !block.content.text.isEmpty()) {
                    REQUIRE(block.content.runs.size() == 1);
                    REQUIRE(block.content.runs[0].token == CodeToken::comment);
                }
            }
            CHECK(firsts == 1);
            CHECK(lasts == 1);
            QString expected = example.text.mid(example.text.indexOf(QLatin1Char('\n')) + 1);
            const qsizetype close = expected.indexOf(QStringLiteral("\n```"));
            CHECK(code == (close < 0 ? expected : expected.left(close)));
        }
    }
}

TEST_CASE("parseMarkdown: definitions of links do not vanish", "[gui][quick]") {
    CHECK(one("[1]: https://a.example") == "[[1]: ][https://a.example -> https://a.example]");
}

TEST_CASE("parseMarkdown: no text vanishes", "[gui][quick]") {
    for (const MarkdownCase& example : markdownCorpus()) {
        CAPTURE(example.name);
        QString shown;
        for (const RichBlock& block : parse(example.text)) {
            shown += block.marker + block.content.text + block.language;
            for (const TextRun& run : block.content.runs) shown += run.link;
            for (const auto& row : block.rows)
                for (const RichText& cell : row) shown += cell.text;
        }
        // Boxes and the characters of entities are shown as what they mean.
        const std::string name = example.name;
        for (const QChar c : example.text) {
            if (name == "tasks" || name == "entities") break;
            if (c.isLetter() && c.unicode() < 0x2000 && !shown.contains(c))
                FAIL_CHECK("lost " << QString(c).toStdString());
        }
        for (const QChar c : shown) {
            const bool isSpecial = c.unicode() == 0 || c.unicode() == 0xFFFC ||
                                   c.unicode() == 0x2029 ||
                                   (c.unicode() >= 0xFDD0 && c.unicode() <= 0xFDEF);
            CHECK_FALSE(isSpecial);
        }
    }
}

TEST_CASE("plainBlocks: people's text stays as it is", "[gui][quick]") {
    const QVector<RichBlock> blocks = plainBlocks(QStringLiteral("*a*\n\n  <b>b</b>"));
    REQUIRE(blocks.size() == 3);
    CHECK(blocks[0].content.text == QStringLiteral("*a*"));
    CHECK(blocks[1].content.text.isEmpty());
    CHECK(blocks[2].content.text == QStringLiteral("  <b>b</b>"));
    const QVector<RichBlock> cut = plainBlocks(QString(10000, QLatin1Char('x')));
    REQUIRE(cut.size() == 3);
    CHECK(cut[1].join == BlockJoin::none);
}
