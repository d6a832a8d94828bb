// SPDX-License-Identifier: Apache-2.0
#include "chat/announcer.h"

#include <QAccessible>
#include <QAccessibleWidget>

namespace hokku::desktop {
namespace {

/// What is said within this time is said at once: one notification would hide the other.
constexpr int kGatherMs = 100;

QAccessibleInterface* makeNotification(const QString&, QObject* object) {
    auto* announcer = qobject_cast<Announcer*>(object);
    return announcer == nullptr ? nullptr
                                : new QAccessibleWidget(announcer, QAccessible::Notification);
}

/// The words of a block, without its looks.
QString wordsOf(const RichBlock& block) {
    QStringList words;
    if (!block.marker.isEmpty()) words.append(block.marker);
    words.append(block.content.text);
    for (const QVector<RichText>& row : block.rows)
        for (const RichText& cell : row) words.append(cell.text);
    return words.join(QLatin1Char(' ')).replace(QChar::LineSeparator, QLatin1Char('\n'));
}

}  // namespace

Announcer::Announcer(QWidget* parent) : QWidget(parent) {
    static const bool isInstalled = [] {
        QAccessible::installFactory(makeNotification);
        return true;
    }();
    Q_UNUSED(isInstalled);
    setObjectName(QStringLiteral("announcer"));
    setFocusPolicy(Qt::NoFocus);
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setGeometry(0, 0, 1, 1);
    m_timer.setSingleShot(true);
    m_timer.setInterval(kGatherMs);
    connect(&m_timer, &QTimer::timeout, this, &Announcer::sayWaiting);
}

void Announcer::say(const QString& text) {
    if (text.trimmed().isEmpty()) return;
    m_waiting.append(text.trimmed());
    if (!m_timer.isActive()) m_timer.start();
}

void Announcer::read(const QString& text) {
    m_chunks.append(text);
    while (m_numSaid + 1 < m_chunks.chunks().size()) sayChunk(m_numSaid++);
}

void Announcer::finish() {
    while (m_numSaid < m_chunks.chunks().size()) sayChunk(m_numSaid++);
    m_chunks.clear();
    m_context = {};
    m_numSaid = 0;
}

void Announcer::sayChunk(qsizetype chunk) {
    QStringList words;
    for (const RichBlock& block :
         parseMarkdown(m_chunks.chunks()[chunk], m_chunks.text(chunk), false, m_context))
        words.append(wordsOf(block));
    say(words.join(QLatin1Char('\n')));
}

void Announcer::sayWaiting() {
    const QString text = m_waiting.join(QLatin1Char('\n'));
    m_waiting.clear();
    setAccessibleName(text);
    QAccessibleEvent shown(this, QAccessible::ObjectShow);
    QAccessible::updateAccessibility(&shown);
    emit said(text);
}

}  // namespace hokku::desktop
