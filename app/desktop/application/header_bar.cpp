// SPDX-License-Identifier: Apache-2.0
#include "application/header_bar.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QProgressBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "look/elided_label.h"
#include "look/engine_text.h"
#include "look/theme.h"

namespace hokku::desktop {
namespace {

/// The name of the model takes at most this share of the line.
constexpr double kModelShare = 0.35;
constexpr int kIconSize = 20, kProgressSteps = 1000;

}  // namespace

HeaderBar::HeaderBar(QWidget* parent)
    : QWidget(parent),
      m_title(new ElidedLabel),
      m_badge(new ElidedLabel),
      m_progress(new QProgressBar) {
    m_sidebarButton = addButton("sidebarButton", QStringLiteral("sidebar"));
    m_newButton = addButton("newChatButton", QStringLiteral("new"));
    m_backButton = addButton("backButton", QStringLiteral("back"));
    m_backButton->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_backButton->hide();
    m_modelButton = addButton("modelButton", QStringLiteral("models"));
    m_modelButton->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_settingsButton = addButton("settingsButton", QStringLiteral("settings"));
    m_title->setObjectName(QStringLiteral("heading"));
    m_badge->setObjectName(QStringLiteral("faint"));
    m_progress->setTextVisible(false);
    m_progress->setRange(0, kProgressSteps);
    m_progress->hide();

    auto* row = new QHBoxLayout;
    row->setContentsMargins(kGrid, kGrid, kGrid, kGrid);
    row->setSpacing(kGrid / 2);
    row->addWidget(m_sidebarButton);
    row->addWidget(m_newButton);
    row->addWidget(m_backButton);
    // The title gives way first: it has what the others leave.
    row->addWidget(m_title, 1);
    row->addSpacing(kGrid);
    row->addWidget(m_badge);
    row->addWidget(m_modelButton);
    row->addWidget(m_settingsButton);
    m_title->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    // The window may become narrower than the name is now.
    m_modelButton->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    m_modelButton->setMinimumWidth(m_settingsButton->sizeHint().width());
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(row);
    column->addWidget(m_progress);

    connect(m_sidebarButton, &QToolButton::clicked, this, &HeaderBar::sidebarWanted);
    connect(m_newButton, &QToolButton::clicked, this, &HeaderBar::newChatWanted);
    connect(m_backButton, &QToolButton::clicked, this, &HeaderBar::backWanted);
    connect(m_modelButton, &QToolButton::clicked, this, &HeaderBar::modelsWanted);
    connect(m_settingsButton, &QToolButton::clicked, this, &HeaderBar::settingsWanted);
    retranslate();
}

QToolButton* HeaderBar::addButton(const char* name, const QString& icon) {
    auto* button = new QToolButton(this);
    button->setObjectName(QLatin1String(name));
    button->setIcon(Theme::instance().icon(icon));
    button->setIconSize({kIconSize, kIconSize});
    return button;
}

void HeaderBar::setTitle(const QString& title) {
    m_title->setText(title);
}

void HeaderBar::setAway(bool isAway) {
    m_backButton->setVisible(isAway);
}

void HeaderBar::setModel(const std::optional<ModelInfo>& model) {
    m_model = model;
    m_isLoading = false;
    m_progress->hide();
    retranslate();
}

void HeaderBar::setLoading(double fraction) {
    m_progress->setValue(static_cast<int>(fraction * kProgressSteps));
    if (m_isLoading) return;
    m_isLoading = true;
    m_progress->show();
    retranslate();
}

void HeaderBar::showModelName() {
    const int most = static_cast<int>(kModelShare * width());
    m_modelButton->setText(
        m_modelButton->fontMetrics().elidedText(m_modelName, Qt::ElideMiddle, most));
}

void HeaderBar::changeEvent(QEvent* event) {
    if (event->type() == QEvent::LanguageChange) retranslate();
    QWidget::changeEvent(event);
}

void HeaderBar::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    showModelName();
}

void HeaderBar::retranslate() {
    const auto name = [](QToolButton* button, const QString& text, Qt::Key key) {
        const QString keys = QKeySequence(Qt::CTRL | key).toString(QKeySequence::NativeText);
        button->setAccessibleName(text);
        button->setToolTip(QStringLiteral("%1 (%2)").arg(text, keys));
    };
    name(m_sidebarButton, tr("Show or hide the conversations"), Qt::Key_B);
    name(m_newButton, tr("New chat"), Qt::Key_N);
    name(m_settingsButton, tr("Settings"), Qt::Key_Comma);
    name(m_modelButton, tr("Models"), Qt::Key_M);
    m_backButton->setText(tr("Back"));
    m_backButton->setAccessibleName(tr("Back to the chat"));
    m_backButton->setToolTip(QStringLiteral("%1 (%2)").arg(
        tr("Back to the chat"), QKeySequence(Qt::Key_Escape).toString(QKeySequence::NativeText)));
    m_progress->setAccessibleName(tr("Loading the model"));
    m_badge->setText(m_model ? deviceText(m_model->device) : QString());
    m_badge->setShortText(m_badge->text().section(QLatin1Char(' '), 0, 0));
    QString help = tr("Where the model runs, with which instructions and how many threads");
    const bool hasNote = m_model && !m_model->device_note.empty();
    const QString note = hasNote ? deviceNoteText(m_model->device_note) : QString();
    if (hasNote) help += QLatin1Char('\n') + note;
    if (m_model && !m_model->draft_model.empty())
        help += QLatin1Char('\n') +
                tr("Draft model: %1").arg(QString::fromStdString(m_model->draft_model));
    m_badge->setAccessibleDescription(note);
    m_badge->setToolTip(m_model ? m_badge->text() + QLatin1Char('\n') + help : help);
    m_badge->setAccessibleName(m_model ? tr("Device: %1").arg(m_badge->text()) : QString());
    m_modelName = m_isLoading ? tr("Loading…") : tr("Choose a model");
    if (m_model) {
        // What files call themselves inside is often the name of a training run.
        const QString file = QString::fromStdU16String(m_model->path.stem().u16string());
        const QString path = QString::fromStdU16String(m_model->path.u16string());
        if (!m_isLoading) m_modelName = file;
        m_modelButton->setToolTip(
            QStringLiteral("%1\n%2").arg(QString::fromStdString(m_model->name), path));
        m_modelButton->setAccessibleName(tr("Model: %1").arg(file));
    }
    showModelName();
}

}  // namespace hokku::desktop
