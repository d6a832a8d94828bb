// SPDX-License-Identifier: Apache-2.0
#include "chat/markdown_chunks.h"

#include <QStringList>

#include "gui/chat/markdown_corpus.h"
#include "gui/support/catch_qt.h"

using namespace hokku::desktop;
using hokku::testing::MarkdownCase;
using hokku::testing::markdownCorpus;

namespace {

/// As one text, so that a failure shows where they differ.
std::string describe(const MarkdownChunks& chunks) {
    QString text;
    for (qsizetype i = 0; i < chunks.chunks().size(); ++i) {
        const MarkdownChunk& chunk = chunks.chunks()[i];
        text += QStringLiteral("<%1 %2 %3 %4>")
                    .arg(chunk.begin)
                    .arg(chunk.end)
                    .arg(static_cast<int>(chunk.start))
                    .arg(chunk.prefix);
    }
    return text.toStdString();
}

MarkdownChunks scan(const QString& text, qsizetype piece) {
    MarkdownChunks chunks;
    for (qsizetype i = 0; i < text.size(); i += piece) chunks.append(text.mid(i, piece));
    return chunks;
}

/// Of a text that ends with a line.
QStringList texts(const char* markdown) {
    const MarkdownChunks chunks = scan(QString::fromUtf8(markdown) + QLatin1Char('\n'), 100);
    QStringList list;
    for (qsizetype i = 0; i < chunks.chunks().size(); ++i) list.append(chunks.text(i).trimmed());
    return list;
}

QStringList list(std::initializer_list<const char*> texts) {
    QStringList result;
    for (const char* text : texts) result.append(QString::fromUtf8(text));
    return result;
}

}  // namespace

TEST_CASE("MarkdownChunks: the chunks do not depend on how the text arrives", "[gui][quick]") {
    for (const MarkdownCase& example : markdownCorpus()) {
        CAPTURE(example.name);
        const std::string whole = describe(scan(example.text, example.text.size() + 1));
        for (const qsizetype piece : {1, 2, 3, 7, 64, 1000})
            CHECK(describe(scan(example.text, piece)) == whole);
    }
}

TEST_CASE("MarkdownChunks: what was final stays as it was", "[gui][quick]") {
    for (const MarkdownCase& example : markdownCorpus()) {
        CAPTURE(example.name);
        MarkdownChunks chunks;
        QVector<QString> final;
        for (const QChar c : example.text) {
            chunks.append(QString(c));
            for (qsizetype i = 0; i + 1 < chunks.chunks().size(); ++i) {
                if (i == final.size()) final.append(chunks.text(i));
            }
        }
        for (qsizetype i = 0; i < final.size(); ++i) CHECK(chunks.text(i) == final[i]);
    }
}

TEST_CASE("MarkdownChunks: they cover the text without gaps and stay short", "[gui][quick]") {
    for (const MarkdownCase& example : markdownCorpus()) {
        CAPTURE(example.name);
        const MarkdownChunks chunks = scan(example.text, 50);
        qsizetype end = 0;
        for (const MarkdownChunk& chunk : chunks.chunks()) {
            CHECK(chunk.begin == end);
            CHECK(chunk.end - chunk.begin <=
                  4 * MarkdownChunks::kLongChunk + 2 * MarkdownChunks::kLongLine);
            end = chunk.end;
        }
        QString source = example.text;
        CHECK(chunks.source() == source.remove(QLatin1Char('\r')));
        CHECK(end == chunks.source().size());
    }
}

TEST_CASE("MarkdownChunks: blocks end where a reader says so", "[gui][quick]") {
    CHECK(texts("a\nb\n\nc") == list({"a\nb", "c"}));
    CHECK(texts("# a\nb\n") == list({"# a", "b"}));
    CHECK(texts("- a\n\n- b\n\nc") == list({"- a\n\n- b", "c"}));
    CHECK(texts("```\na\n\nb\n```\nc") == list({"```\na\n\nb\n```", "c"}));
    CHECK(texts("1. a\n\n   ```\n   b\n\n   c\n   ```\n\n2. d") ==
          list({"1. a\n\n   ```\n   b\n\n   c\n   ```\n\n2. d"}));
    CHECK(texts("> a\n\n> b") == list({"> a", "> b"}));
    CHECK(texts("| a |\n|---|\n| b |\n\nc") == list({"| a |\n|---|\n| b |", "c"}));
}

TEST_CASE("MarkdownChunks: a long block goes on in the next chunk", "[gui][quick]") {
    const auto starts = [](const char* name) {
        for (const MarkdownCase& example : markdownCorpus()) {
            if (std::string(example.name) != name) continue;
            const MarkdownChunks chunks = scan(example.text, 17);
            REQUIRE(chunks.chunks().size() > 2);
            return chunks.chunks()[1];
        }
        FAIL("no such case");
        return MarkdownChunk();
    };
    CHECK(starts("a paragraph of one line").start == ChunkStart::sentence);
    CHECK(starts("a word").start == ChunkStart::word);
    CHECK(starts("a paragraph of many lines").start == ChunkStart::paragraph);
    CHECK(starts("a list").start == ChunkStart::list);
    CHECK(starts("a list of numbers").start == ChunkStart::list);
    CHECK(starts("a code block").start == ChunkStart::code);
    CHECK(starts("a code block").prefix == QStringLiteral("```cpp\n"));
    CHECK(starts("a table").start == ChunkStart::table);
    CHECK(starts("a table").prefix == QStringLiteral("| a | b |\n|---|---|\n"));
    CHECK(starts("a line of a quotation").prefix == QStringLiteral("> "));
    const MarkdownChunk line = starts("a line of code");
    CHECK(line.start == ChunkStart::word);
    CHECK(line.isInCode);
}
