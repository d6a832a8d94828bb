// SPDX-License-Identifier: Apache-2.0
#include "chat/transcript_document.h"

#include <QAbstractTextDocumentLayout>
#include <QTextBlock>
#include <QTextTable>

#include "gui/chat/markdown_corpus.h"
#include "gui/support/application.h"
#include "gui/support/catch_qt.h"
#include "look/theme.h"

using namespace hokku::desktop;
using hokku::testing::MarkdownCase;
using hokku::testing::markdownCorpus;

namespace {

struct Fixture {
    QApplication& application = hokku::testing::application();
    QTextDocument document{};
    TranscriptDocument transcript{document};
};

Turn turn(MessageId id, const char* role, const QString& content,
          MessageState state = MessageState::complete) {
    Turn turn;
    turn.id = id;
    turn.role = QString::fromLatin1(role);
    turn.content = content;
    turn.state = state;
    return turn;
}

QString text(const char* utf8) {
    return QString::fromUtf8(utf8);
}

/// Everything that is seen of a document: blocks, formats and tables.
std::string dump(const QTextDocument& document) {
    QString result;
    for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
        const QTextBlockFormat format = block.blockFormat();
        const QTextTable* table = QTextCursor(block).currentTable();
        result += QStringLiteral("%1 %2/%3/%4/%5 %6 %7 %8 %9 ")
                      .arg(table == nullptr ? 0 : table->columns())
                      .arg(format.leftMargin())
                      .arg(format.topMargin())
                      .arg(format.bottomMargin())
                      .arg(format.lineHeight())
                      .arg(format.intProperty(kBlockPart))
                      .arg(format.intProperty(kBlockEdges))
                      .arg(format.intProperty(kBlockJoin))
                      .arg(block.charFormat().font().pixelSize());
        for (auto it = block.begin(); !it.atEnd(); ++it) {
            const QTextCharFormat run = it.fragment().charFormat();
            result += QStringLiteral("[%1 %2 %3 %4]")
                          .arg(it.fragment().text())
                          .arg(run.fontWeight())
                          .arg(run.foreground().color().name())
                          .arg(run.anchorHref());
        }
        result += QLatin1Char('\n');
    }
    return result.toStdString();
}

}  // namespace

TEST_CASE("TranscriptDocument: streamed text looks as the whole at once", "[gui][quick]") {
    for (const MarkdownCase& example : markdownCorpus()) {
        CAPTURE(example.name);
        Fixture whole, streamed;
        whole.transcript.append(turn(1, "user", text("hi")));
        whole.transcript.append(turn(2, "assistant", example.text));
        streamed.transcript.append(turn(1, "user", text("hi")));
        streamed.transcript.append(turn(2, "assistant", {}, MessageState::streaming));
        // Each character of short texts, pieces of long ones.
        const qsizetype step = example.text.size() > 2000 ? 211 : 1;
        for (qsizetype i = 0; i < example.text.size(); i += step) {
            streamed.transcript.streamText(example.text.mid(i, step));
            streamed.transcript.layout();
        }
        streamed.transcript.update(turn(2, "assistant", streamed.transcript.source(1)));
        CHECK(dump(streamed.document) == dump(whole.document));
    }
}

TEST_CASE("TranscriptDocument: turns know their characters", "[gui][quick]") {
    Fixture f;
    QVector<Turn> turns;
    MessageId id = 1;
    for (const MarkdownCase& example : markdownCorpus()) {
        if (example.text.size() > 2000) continue;
        turns.append(turn(id++, "user", text("question")));
        turns.append(turn(id++, "assistant", example.text));
    }
    f.transcript.setTurns(turns);
    const auto check = [&] {
        int end = 0;
        for (qsizetype i = 0; i < f.transcript.size(); ++i) {
            const auto range = f.transcript.range(i);
            REQUIRE(range.begin == end);
            end = range.end;
            const QTextBlock tail = f.document.findBlock(range.tail);
            REQUIRE(blockPart(tail.blockFormat()) == BlockPart::tail);
            REQUIRE(f.transcript.indexAt(tail.position()) == i);
            REQUIRE(f.transcript.indexAt(range.begin + 1) == i);
        }
        REQUIRE(end == f.document.characterCount() - 1);
    };
    check();
    SECTION("after a turn in the middle was changed") {
        for (qsizetype i = 0; i < turns.size(); i += 3) {
            turns[i].content += text("\n\nmore\n\n- a\n- b");
            f.transcript.update(turns[i]);
        }
        check();
    }
    SECTION("after details and thoughts were unfolded and folded") {
        const std::string before = dump(f.document);
        for (Turn& changed : turns) {
            changed.thought = text("Hmm.\n\n| a |\n|---|\n| b |");
            changed.details = text("12 tokens");
            f.transcript.update(changed);
        }
        const std::string folded = dump(f.document);
        for (const Turn& changed : turns) {
            f.transcript.toggleThought(changed.id);
            f.transcript.toggleDetails(changed.id);
        }
        check();
        CHECK(f.document.toPlainText().contains(text("12 tokens")));
        for (const Turn& changed : turns) {
            f.transcript.toggleThought(changed.id);
            f.transcript.toggleDetails(changed.id);
        }
        check();
        CHECK(dump(f.document) == folded);
        CHECK(folded != before);
    }
    SECTION("after the last turns were taken away and others came") {
        const std::string before = dump(f.document);
        f.transcript.setTurns(turns.mid(0, turns.size() / 2));
        check();
        f.transcript.setTurns(turns);
        check();
        CHECK(dump(f.document) == before);
        f.transcript.setTurns({});
        CHECK(f.document.characterCount() == 1);
    }
    SECTION("after everything was laid out anew") {
        const std::string before = dump(f.document);
        f.transcript.relayout(kReadingWidth);
        check();
        CHECK(dump(f.document) == before);
    }
}

TEST_CASE("TranscriptDocument: a selection over turns is copied", "[gui][quick]") {
    Fixture f;
    const QString reply = text("# T\n\nA **b**.\n\n1. x\n2. y\n\n```py\nz = 1\n```\n");
    f.transcript.setTurns({turn(1, "user", text("q *v*\nw")), turn(2, "assistant", reply)});
    const int end = f.document.characterCount() - 1;
    CHECK(f.transcript.plainText(0, end) == text("q *v*\nw\n\nT\n\nA b.\n\n1. x\n2. y\n\nz = 1"));
    CHECK(f.transcript.markdown(0, end) ==
          text("q *v*\nw\n\n# T\n\nA **b**.\n\n1. x\n2. y\n\n```py\nz = 1\n```"));
    // A part of the first word of the paragraph to the end: that paragraph is plain, the rest not.
    const int paragraph = f.document.find(text("A b.")).selectionStart();
    CHECK(f.transcript.markdown(paragraph + 2, end) ==
          text("b.\n\n1. x\n2. y\n\n```py\nz = 1\n```"));
    CHECK(f.transcript.plainText(paragraph, paragraph + 1) == text("A"));
}

TEST_CASE("TranscriptDocument: tables are copied by cells", "[gui][quick]") {
    Fixture f;
    f.transcript.append(turn(1, "assistant", text("a\n\n| b | c |\n|---|---|\n| d | e |\n\nf")));
    CHECK(f.transcript.plainText(0, f.document.characterCount() - 1) ==
          text("a\n\nb\tc\nd\te\n\nf"));
}

TEST_CASE("TranscriptDocument: text that was cut is copied whole", "[gui][quick]") {
    for (const MarkdownCase& example : hokku::testing::longBlocks(9000)) {
        CAPTURE(example.name);
        if (example.text.trimmed().isEmpty()) continue;  // Nothing is shown of it.
        Fixture f;
        f.transcript.append(turn(1, "assistant", example.text));
        const int end = f.document.characterCount() - 1;
        QString expected = example.text;
        while (expected.endsWith(QLatin1Char('\n'))) expected.chop(1);
        CHECK(f.transcript.markdown(0, end) == expected);
        if (std::string(example.name) == "a word")
            CHECK(f.transcript.plainText(0, end) == example.text);
    }
    Fixture f;
    const QString paste(20000, QLatin1Char('x'));
    f.transcript.append(turn(1, "user", paste));
    CHECK(f.transcript.plainText(0, f.document.characterCount() - 1) == paste);
}

TEST_CASE("TranscriptDocument: states are told in words", "[gui][quick]") {
    Fixture f;
    Turn reply = turn(1, "assistant", text("a"), MessageState::stopped);
    f.transcript.append(reply);
    CHECK(f.document.toPlainText().contains(text("Stopped")));
    reply.state = MessageState::failed;
    reply.error = text("no memory");
    f.transcript.update(reply);
    CHECK(f.document.toPlainText().contains(text("no memory")));
    CHECK_FALSE(f.document.toPlainText().contains(text("Stopped")));
    reply.state = MessageState::complete;
    reply.isCut = true;
    f.transcript.update(reply);
    CHECK(f.document.toPlainText().contains(text("Cut off")));
}

TEST_CASE("TranscriptDocument: text that turns out to be a thought is folded away",
          "[gui][quick]") {
    Fixture f;
    f.transcript.append(turn(1, "user", text("hi")));
    f.transcript.append(turn(2, "assistant", {}, MessageState::streaming));
    f.transcript.streamText(text("I wonder.\n\nWhat now?"));
    f.transcript.layout();
    REQUIRE(f.document.toPlainText().contains(text("I wonder.")));
    Turn thinking = turn(2, "assistant", {}, MessageState::streaming);
    thinking.thought = text("I wonder.\n\nWhat now?");
    thinking.thoughtMs = 3000;
    f.transcript.update(thinking);
    CHECK_FALSE(f.document.toPlainText().contains(text("I wonder.")));
    f.transcript.streamText(text("An answer."));
    f.transcript.layout();
    CHECK(f.document.toPlainText().contains(text("An answer.")));
    CHECK(f.document.toPlainText().contains(text("Thought for 3 s")));
    f.transcript.toggleThought(2);
    CHECK(f.document.toPlainText().contains(text("What now?")));
    // What comes at once looks the same.
    Fixture whole;
    thinking.content = text("An answer.");
    whole.transcript.append(turn(1, "user", text("hi")));
    whole.transcript.append(thinking);
    whole.transcript.toggleThought(2);
    CHECK(dump(f.document) == dump(whole.document));
}

TEST_CASE("TranscriptDocument: thoughts are folded and tell their time", "[gui][quick]") {
    Fixture f;
    Turn reply = turn(1, "assistant", {}, MessageState::streaming);
    f.transcript.append(reply);
    f.transcript.streamThought(text("Secret"));
    f.transcript.layout();
    CHECK(f.document.toPlainText().contains(text("Thinking…")));
    CHECK_FALSE(f.document.toPlainText().contains(text("Secret")));
    f.transcript.toggleThought(1);
    CHECK(f.document.toPlainText().contains(text("Secret")));
    f.transcript.streamThought(text(" plan"));
    f.transcript.streamText(text("Answer"));
    f.transcript.layout();
    CHECK(f.document.toPlainText().contains(text("Secret plan")));
    reply.thought = text("Secret plan");
    reply.content = text("Answer");
    reply.state = MessageState::complete;
    reply.thoughtMs = 4200;
    f.transcript.update(reply);
    CHECK(f.document.toPlainText().contains(text("Thought for 4 s")));
    f.transcript.toggleThought(1);
    CHECK_FALSE(f.document.toPlainText().contains(text("Secret")));
    CHECK(f.document.toPlainText().contains(text("Answer")));
}

TEST_CASE("TranscriptDocument: while a reply streams only its tail is written again",
          "[gui][quick]") {
    Fixture f;
    QString old;
    for (int i = 0; i < 300; ++i) old += QStringLiteral("Paragraph %1 of the reply.\n\n").arg(i);
    f.transcript.setTurns({turn(1, "user", text("Question")), turn(2, "assistant", old),
                           turn(3, "user", text("More")),
                           turn(4, "assistant", old, MessageState::streaming)});
    f.document.documentLayout();  // without one nobody is told of changes
    int farthest = 0, most = 0;   // characters before the end, and at a time
    QObject::connect(&f.document, &QTextDocument::contentsChange, &f.document,
                     [&](int position, int removed, int added) {
                         farthest = qMax(farthest, f.document.characterCount() - position);
                         most = qMax(most, qMax(removed, added));
                     });
    for (int i = 0; i < 100; ++i) {
        f.transcript.streamText(QStringLiteral("word %1 and more%2")
                                    .arg(i)
                                    .arg(i % 10 == 9 ? QStringLiteral(".\n\n") : QString()));
        f.transcript.layout();
    }
    // A paragraph of ten pieces, its tail and what closes it.
    CHECK(farthest > 0);
    CHECK(farthest < 500);
    CHECK(most < 500);
    CHECK(f.document.characterCount() > 15'000);
}

TEST_CASE("TranscriptDocument: emoji come in slices, as their layout asks for no deadline",
          "[gui][quick]") {
    constexpr int kPairs = 20'000;
    const QString joined = QString::fromUtf8("\U0001F469\u200D").repeated(kPairs);
    const QVector<Turn> turns{turn(1, "assistant", joined)};
    const auto numShown = [](const Fixture& f) {
        return f.document.toPlainText().count(QString::fromUtf8("\U0001F469"));
    };
    const QDeadlineTimer hours(10'000'000);
    Fixture f;
    f.transcript.setTurns(turns, hours);
    while (!f.transcript.isLaidOut()) {
        const auto before = numShown(f);
        f.transcript.layout(hours);
        REQUIRE(numShown(f) > before);
        REQUIRE(numShown(f) <= before + 1000);
    }
    CHECK(numShown(f) == kPairs);
    // Who sets no deadline wants all of it.
    Fixture whole;
    whole.transcript.setTurns(turns);
    CHECK(whole.transcript.isLaidOut());
    CHECK(numShown(whole) == kPairs);
}
