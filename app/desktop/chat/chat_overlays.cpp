// SPDX-License-Identifier: Apache-2.0
#include "chat/chat_overlays.h"

#include <QClipboard>
#include <QGuiApplication>

#include "chat/quiet_button.h"
#include "chat/transcript_browser.h"
#include "chat/transcript_document.h"

namespace hokku::desktop {

ChatOverlays::ChatOverlays(TranscriptBrowser& browser, const TranscriptDocument& transcript)
    : m_browser(browser), m_transcript(transcript) {}

/// From the top; turns and code in one list, so that the focus follows the eye.
QVector<ChatOverlays::Place> ChatOverlays::visiblePlaces() const {
    QVector<Place> places;
    const int right = m_browser.viewport()->width() - kColumnMargin;
    bool isFirst = true;
    m_browser.visitVisible([&](const QTextBlock& block, const QRectF& place) {
        const BlockPart part = blockPart(block.blockFormat());
        const int top = qRound(place.top());
        if (part == BlockPart::tail) {
            const qsizetype index = m_transcript.indexAt(block.position());
            if (index >= 0 && top > -kActionsHeight)
                places.append({.y = top + 4, .turn = m_transcript.turn(index).id});
        } else if (part == BlockPart::code) {
            const bool begins = (block.blockFormat().intProperty(kBlockEdges) & kFirstEdge) != 0;
            // The button stays in sight as long as its code is.
            if (begins || (isFirst && place.bottom() > 0))
                places.append({.x = right - kActionsHeight,
                               .y = qMax(begins ? top - kCodeHeader : 0, 0),
                               .position = block.position()});
        }
        if (place.bottom() > 0) isFirst = false;
    });
    return places;
}

void ChatOverlays::place() {
    QVector<Place> turns, code;
    for (const Place& place : visiblePlaces()) (place.turn != 0 ? turns : code).append(place);
    placeTurns(turns);
    placeCode(code);
    orderFocus();
}

void ChatOverlays::placeTurns(const QVector<Place>& places) {
    QVector<TurnActions*> spare = m_rows, rows;
    const auto take = [&](MessageId id) -> TurnActions* {
        for (qsizetype i = 0; i < spare.size(); ++i)
            if (spare[i]->id() == id) return spare.takeAt(i);
        return nullptr;
    };
    for (const Place& place : places) rows.append(take(place.turn));
    for (qsizetype i = 0; i < places.size(); ++i) {
        if (rows[i] == nullptr && !spare.isEmpty()) rows[i] = spare.takeLast();
        if (rows[i] == nullptr) {
            rows[i] = new TurnActions(m_browser.viewport());
            connect(rows[i], &TurnActions::triggered, this, &ChatOverlays::triggered);
        }
        const qsizetype index = m_transcript.indexOf(places[i].turn);
        const Turn& turn = m_transcript.turn(index);
        TurnActions& row = *rows[i];
        row.setTurn(turn);
        const bool isLast = index + 1 == m_transcript.size();
        row.setAwake(turn.id == m_hovered || isLast);
        const bool isPerson = turn.role == QLatin1String("user");
        const int width = m_browser.viewport()->width();
        // Its icons in line with the text.
        constexpr int kInset = 6;
        const bool isAtRight = isPerson != QGuiApplication::isRightToLeft();
        const int inset = isPerson ? 0 : kInset;
        row.move(isAtRight ? width - kColumnMargin - row.width() + inset : kColumnMargin - inset,
                 places[i].y);
        row.show();
    }
    for (TurnActions* row : spare) row->hide();
    m_rows = rows + spare;
}

void ChatOverlays::placeCode(const QVector<Place>& places) {
    m_codePositions.clear();
    for (qsizetype i = 0; i < places.size(); ++i) {
        if (i == m_codeButtons.size()) {
            auto* button = new QuietButton(QStringLiteral("copy"), m_browser.viewport());
            button->setObjectName(QStringLiteral("code-copy"));
            connect(button, &QToolButton::clicked, this,
                    [this, i] { copyCode(static_cast<int>(i)); });
            m_codeButtons.append(button);
        }
        const QTextBlock block = m_browser.document()->findBlock(places[i].position);
        const QString language =
            CodeHighlighter::displayName(block.blockFormat().stringProperty(kBlockLanguage));
        m_codeButtons[i]->setName(language.isEmpty() ? tr("Copy this code")
                                                     : tr("Copy this code (%1)").arg(language));
        m_codeButtons[i]->move(places[i].x, places[i].y);
        m_codeButtons[i]->show();
        m_codePositions.append(places[i].position);
    }
    for (qsizetype i = places.size(); i < m_codeButtons.size(); ++i) m_codeButtons[i]->hide();
}

/// By key, what is seen follows the text: from the top, then what comes after the view.
void ChatOverlays::orderFocus() {
    QVector<QPointer<QWidget>> order;
    for (qsizetype i = 0; i < m_codePositions.size(); ++i) order.append(m_codeButtons[i]);
    for (TurnActions* row : m_rows) {
        if (row->isHidden()) continue;
        for (QuietButton* button : row->visibleButtons()) order.append(button);
    }
    std::stable_sort(order.begin(), order.end(), [this](const auto& a, const auto& b) {
        QWidget* viewport = m_browser.viewport();
        return a->mapTo(viewport, QPoint()).y() < b->mapTo(viewport, QPoint()).y();
    });
    if (order == m_focusOrder) return;
    m_focusOrder = order;
    QWidget* last = &m_browser;
    for (const QPointer<QWidget>& widget : order) {
        QWidget::setTabOrder(last, widget);
        last = widget;
    }
}

void ChatOverlays::hover(const QPoint& position) {
    MessageId turn = 0;
    if (position.y() >= 0)
        m_browser.visitVisible([&](const QTextBlock& block, const QRectF& place) {
            if (place.top() > position.y()) return;
            const qsizetype index = m_transcript.indexAt(block.position());
            if (index >= 0) turn = m_transcript.turn(index).id;
        });
    if (turn == m_hovered) return;
    m_hovered = turn;
    const MessageId last =
        m_transcript.size() == 0 ? 0 : m_transcript.turn(m_transcript.size() - 1).id;
    for (TurnActions* row : m_rows) row->setAwake(row->id() == turn || row->id() == last);
}

void ChatOverlays::retranslate() {
    place();
}

void ChatOverlays::copyCode(int button) {
    const QTextBlock block = m_browser.document()->findBlock(m_codePositions.value(button));
    QGuiApplication::clipboard()->setText(TranscriptBrowser::codeAround(block));
}

}  // namespace hokku::desktop
