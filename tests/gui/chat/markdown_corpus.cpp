// SPDX-License-Identifier: Apache-2.0
#include "gui/chat/markdown_corpus.h"

namespace hokku::testing {
namespace {

QString repeat(const QString& pattern, qsizetype size) {
    QString text;
    for (int i = 1; text.size() < size; ++i) {
        QString part = pattern;
        text += part.replace(QStringLiteral("%"), QString::number(i));
    }
    return text;
}

QVector<MarkdownCase> shortTexts() {
    const auto text = [](const char* utf8) { return QString::fromUtf8(utf8); };
    return {
        {"empty", {}},
        {"blank lines", text("\n\n  \n\t\n")},
        {"paragraphs", text("One.\n\nTwo\nlines.\n\n\n\nThree.")},
        {"windows line ends", text("# A\r\n\r\nb\r\nc\r\n")},
        {"headings", text("# One\ntext\n## Two\n### Three ###\n\nSet\n===\n\nUnder\n---\nend\n")},
        {"emphasis", text("**a *b* c** __d__ _e_ ~~f~~ `g` ***h*** **open *only\n\nnext")},
        {"tight list", text("- a\n- b\n- c\n\nend")},
        {"loose list", text("- a\n\n- b\n\n  more of b\n\n- c\n\nend")},
        {"numbers by ones", text("1. a\n\n1. b\n\n1. c\n")},
        {"list from seven", text("7) a\n8) b\n")},
        {"nested lists", text("1. a\n   - b\n     - c\n\n       d\n   - e\n2. f\n\ng")},
        {"list after text", text("Here:\n- a\n- b\n\n- c\n")},
        {"list of codes", text("1. Do:\n\n   ```sh\n   ls\n\n   cd\n   ```\n\n2. Then\n")},
        {"code left of its item", text("1. Do:\n```sh\nls\n\ncd\n```\n2. Then\n")},
        {"code in an item that ends", text("- ```\n  a\nout\n\n- b\n")},
        {"tasks", text("- [ ] a\n- [x] b\n  - [X] c\n")},
        {"item of code", text("- ```py\n  x = 1\n  ```\n- \n- last")},
        {"reference links",
         text("See [the sea][s], [S] and [one][1].\n\nMore [s].\n\n- [a][ s ]\n"
              "- b\n\n[s]: https://sea.example/a \"of water\"\n[1]: <https://one.example>\n"
              "[s]: https://late.example\n\nEnd [1].")},
        {"reference without a line end", text("A [b].\n\n> c [b]\n\n[b]: https://b.example/path")},
        {"references that are none",
         text("[x]\n\n```\n[x]: https://code.example\n```\n\ntext\n"
              "[x]: https://text.example\n\n> [x]: https://quote.example\n")},
        {"references before",
         text("[a]: https://a.example\n\nThen [a] and [b].\n\n1. one\n2. two\n\n"
              "[b]: javascript:alert(1)\n\n3. three [b]\n")},
        {"quotes", text("> a\n> b\n>\n> c\n\n> d\nlazy\n\nend")},
        {"nested quotes", text("> a\n>> b\n> - c\n>   > d\n")},
        {"code in a quote", text("> ```\n> a\n>\n> b\n> ```\n> c\n\nd")},
        {"table", text("| a | b |\n|---|:-:|\n| 1 | **2** |\n| 3 |\n\nend")},
        {"table without bars outside", text("a | b\n--|--\n1 | 2\nx\n\ny")},
        {"table that is none", text("a | b\n\n|---|\n")},
        {"fences", text("```cpp\nint a;\n\n# no heading\n```\n~~~\n```\n~~~\nend")},
        {"fence with more marks", text("````md\n```\nx\n```\n````\ny")},
        {"fence that stays open", text("a\n\n```py\ndef f():\n\n    return 1\n\n")},
        {"empty fence", text("```\n```\n\n```js\n")},
        {"fence with a mark in its info", text("``` a`b\n\nc\n```\n")},
        {"indented fence", text("  ```\n  a\n b\n  ```\nc")},
        {"html", text("<div>\n*a*\n\n</div>\n<script>alert(1)</script> <!-- x -->\n")},
        {"links", text("[a](https://a.example/x?y=1&amp;z) <https://b.example> www.c.example "
                       "d@e.example [f](javascript:1) [g](#h) [i](file:///etc/passwd)\n")},
        {"definitions", text("[a][1] and [b]\n\n[1]: https://a.example\n[b]: https://b.example\n")},
        {"images", text("![a *b*](https://a.example/b.png \"t\") ![](x.png)\n")},
        {"entities", text("&amp; &lt; &copy; &#65; &#x1F600; &nope; &#0; &#xFDD0;\n")},
        {"formulas", text("$a_1*b$ and $$\nx_1 = *y*\n- z\n$$ and \\(a_b\\) and \\[c_d\n\\]\n\n"
                          "$5 or $10, \\$6 `$a$`, \\( open\n")},
        {"rules", text("a\n\n---\n\n* * *\n___\nb")},
        {"hard breaks", text("a  \nb\\\nc\n")},
        {"text of other scripts",
         text(
             "古池や\n蛙飛びこむ\n水の音\n\n- مرحبا\n- 👩‍👩‍👧 🇩🇪 "
             "é\n")},
        {"special characters", QString(QChar(0xFDD0)) + QChar(0xFDD1) + QChar(0xFDD2) +
                                   QStringLiteral("0") + QChar(0xFDD3) + QChar(0xFFFC) +
                                   QChar(0x2029) + QStringLiteral("x") + QChar(0) + QChar(0x2028)},
        {"marks alone", text("*\n\n-\n\n1.\n\n>\n\n#\n\n|\n\n`\n\n$\n\n\\")},
        {"brackets", text("[[[[[[((((((![![![ ]]]]))\n\n<<<<>>>>&&&&")},
        {"mixed", text("Sure!\n## Plan\n1. **One**: do `x`\n2. Two\n\n```json\n{\"a\": 1}\n```\n"
                       "| k | v |\n|---|---|\n| a | 1 |\n\n> note\n\nBye.")},
    };
}

}  // namespace

QVector<MarkdownCase> longBlocks(qsizetype size) {
    const auto block = [&](const char* head, const char* pattern) {
        return QString::fromUtf8(head) + repeat(QString::fromUtf8(pattern), size);
    };
    return {
        {"a paragraph of one line", block("", "word%, and **more** of it % ")},
        {"a word", block("", "abcdefghij")},
        {"a paragraph of many lines", block("", "line % of a text\n")},
        {"a code block",
         block("```cpp\n", "int value% = %; // number /* % */\n") + QStringLiteral("```\nend")},
        {"a line of code", block("```json\n", "{\"key%\":%},")},
        {"a comment",
         block("```c\n/*\n", "still comment %\n") + QStringLiteral("*/ int x;\n```\n")},
        {"a list", block("", "- item % with **words**\n")},
        {"a list of numbers", block("", "1. item %\n\n")},
        {"a nested list", block("- top\n", "  - inner %\n")},
        {"a table", block("| a | b |\n|---|---|\n", "| cell % | **x** |\n")},
        {"a quotation", block("", "> line % of it\n")},
        {"a line of a quotation", block("> ", "words % of it ")},
        {"code in an item", block("- a\n  ```py\n", "  x% = %\n") + QStringLiteral("  ```\n- b\n")},
        {"spaces", block("", "                                                  ")},
        {"formulas", block("", "$a_% = b$ ")},
        {"pairs of surrogates", block("", "😀")},
    };
}

const QVector<MarkdownCase>& markdownCorpus() {
    static const QVector<MarkdownCase> corpus = shortTexts() + longBlocks(9000);
    return corpus;
}

}  // namespace hokku::testing
