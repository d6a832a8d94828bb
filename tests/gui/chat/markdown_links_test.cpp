// SPDX-License-Identifier: Apache-2.0
#include "chat/markdown_links.h"

#include <QTextBlock>
#include <QTextDocument>

#include "chat/transcript_document.h"
#include "gui/support/application.h"
#include "gui/support/catch_qt.h"

using namespace hokku::desktop;
using hokku::testing::application;

namespace {

struct Fixture {
    QApplication& app = application();
    QTextDocument document{};
    TranscriptDocument transcript{document};

    Fixture() {
        Turn turn;
        turn.id = 1;
        turn.role = QStringLiteral("assistant");
        turn.state = MessageState::streaming;
        transcript.append(turn);
    }
    void stream(const char* text) {
        transcript.streamText(QString::fromUtf8(text));
        transcript.layout();
    }
    void end() {
        Turn turn = transcript.turn(0);
        turn.content = transcript.source(0);
        turn.state = MessageState::complete;
        transcript.update(turn);
    }
    /// The address behind a word of the document; empty: none.
    [[nodiscard]] QString linkOf(const char* word) const {
        for (QTextBlock block = document.begin(); block.isValid(); block = block.next())
            for (auto it = block.begin(); !it.atEnd(); ++it)
                if (it.fragment().text() == QString::fromUtf8(word))
                    return it.fragment().charFormat().anchorHref();
        return QStringLiteral("no such words");
    }
};

}  // namespace

TEST_CASE("parseLinkDefinition: one line, in all its forms", "[gui][quick]") {
    const auto good = [](const char* line, const char* label, const char* target) {
        INFO(line);
        const auto definition = parseLinkDefinition(QString::fromUtf8(line));
        REQUIRE(definition);
        CHECK(definition->label == QString::fromUtf8(label));
        CHECK(definition->target == QString::fromUtf8(target));
    };
    good("[1]: https://a.example", "1", "https://a.example");
    good("   [a b]:\thttps://a.example  ", "a b", "https://a.example");
    good("[a]: <https://a.example/x>", "a", "https://a.example/x");
    good("[a]: https://a.example \"A title\"", "a", "https://a.example");
    good("[a]: https://a.example 'A title'", "a", "https://a.example");
    good("[a]: https://a.example (A title)", "a", "https://a.example");
    good("[a\\]b]: /x", "a\\]b", "/x");
    good("[Ä]: x", "Ä", "x");
    for (const char* line :
         {"    [1]: https://a.example", "[1] https://a.example", "[1]:", "[]: https://a.example",
          "[ ]: x", "a [1]: x", "[1]: x y", "[1]: x \"y", "[[1]]: x", "(1): x", ""}) {
        INFO(line);
        CHECK_FALSE(parseLinkDefinition(QString::fromUtf8(line)));
    }
}

TEST_CASE("LinkDefinitions: labels are the same whatever their case and space", "[gui][quick]") {
    LinkDefinitions links;
    links.add(
        {QStringLiteral(" Öl  Feld"), QStringLiteral("x"), {}, QStringLiteral("[Öl Feld]: x")});
    links.add({QStringLiteral("öl feld"), QStringLiteral("y"), {}, QStringLiteral("[öl feld]: y")});
    CHECK(links.labels().size() == 1);
    CHECK(links.contains(normalizedLabel(QStringLiteral("ÖL feld"))));
    CHECK(links.preamble(labelsIn(QStringLiteral("a [b][öl feld] c"))) ==
          QStringLiteral("[Öl Feld]: x\n\n"));
    CHECK(links.preamble(labelsIn(QStringLiteral("a [b] c"))).isEmpty());
}

TEST_CASE("TranscriptDocument: a link gets its address from the end of the reply", "[gui][quick]") {
    Fixture f;
    f.stream("See [the pond][1] and [frog].\n\nA paragraph in between.\n\n1. one [x][1]\n");
    CHECK(f.linkOf("the pond") == QStringLiteral("no such words"));
    f.stream("\nAfter the list.\n\n[1]: https://pond.example\n");
    CHECK(f.linkOf("the pond") == QStringLiteral("https://pond.example"));
    CHECK(f.linkOf("x") == QStringLiteral("https://pond.example"));
    // The last line counts when the reply has ended, not while it may go on.
    f.stream("[frog]: https://frog.exa");
    f.stream("mple");
    CHECK(f.linkOf("frog") == QStringLiteral("no such words"));
    f.end();
    CHECK(f.linkOf("frog") == QStringLiteral("https://frog.example"));
    CHECK(f.document.toPlainText().contains(QStringLiteral("A paragraph in between.")));
}

TEST_CASE("TranscriptDocument: an address that must not be opened makes no link", "[gui][quick]") {
    Fixture f;
    f.stream("A [trap][t].\n\nText.\n\n[t]: javascript:alert(1)\n");
    f.end();
    for (QTextBlock block = f.document.begin(); block.isValid(); block = block.next())
        for (auto it = block.begin(); !it.atEnd(); ++it)
            CHECK_FALSE(
                it.fragment().charFormat().anchorHref().startsWith(QStringLiteral("javascript")));
}

TEST_CASE("TranscriptDocument: many links cost no more than their paragraphs", "[gui][quick]") {
    Fixture f;
    QString text;
    for (int i = 0; i < 400; ++i) text += QStringLiteral("Line %1 [%1].\n\n").arg(i);
    f.stream(text.toUtf8().constData());
    for (int i = 0; i < 400; ++i)
        f.stream(QStringLiteral("[%1]: https://a.example/%1\n").arg(i).toUtf8().constData());
    f.end();
    CHECK(f.linkOf("0") == QStringLiteral("https://a.example/0"));
    CHECK(f.linkOf("399") == QStringLiteral("https://a.example/399"));
}
