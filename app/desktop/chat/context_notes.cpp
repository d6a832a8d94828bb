// SPDX-License-Identifier: Apache-2.0
#include "chat/context_notes.h"

#include <QCoreApplication>
#include <QLocale>

namespace hokku::desktop {
namespace {

/// So many turns are named.
constexpr qsizetype kMostNamed = 3;

struct Words {
    Q_DECLARE_TR_FUNCTIONS(hokku::desktop::ContextNotes)
};

QString namesOf(const QVector<MessageId>& dropped, const MessageTree& messages) {
    QStringList names;
    for (const MessageId id : dropped) {
        const MessageRecord message = messages.at(id);
        if (message.role == QLatin1String("user"))
            names.append(Words::tr("“%1”").arg(firstLineOf(message.content)));
    }
    if (names.isEmpty()) return Words::tr("the beginning");
    const QString named = names.mid(0, kMostNamed).join(QStringLiteral(", "));
    const qsizetype more = names.size() - kMostNamed;
    return more > 0 ? Words::tr("%1 and %n more", nullptr, static_cast<int>(more)).arg(named)
                    : named;
}

}  // namespace

QStringList contextNotes(const ReplyFacts& facts, const MessageTree& messages) {
    QStringList notes;
    if (!facts.dropped.isEmpty()) {
        const QString names = namesOf(facts.dropped, messages);
        notes.append(facts.summary.isEmpty()
                         ? Words::tr("The context was full. No longer read: %1.").arg(names)
                         : Words::tr("The context was full. Read as a summary: %1.").arg(names));
    }
    if (facts.grownTo > 0)
        notes.append(Words::tr("The context was full and is now %1 tokens long.")
                         .arg(QLocale().toString(facts.grownTo)));
    return notes;
}

QString firstLineOf(const QString& text) {
    constexpr int kMostCharacters = 80;
    const QString line = text.trimmed().section(QLatin1Char('\n'), 0, 0).trimmed();
    return line.size() <= kMostCharacters ? line : line.left(kMostCharacters - 1) + QChar(0x2026);
}

}  // namespace hokku::desktop
