// SPDX-License-Identifier: Apache-2.0
// MainWindow: what leads where: keys, pages, the model and the desktop around the window.
#include <QApplication>
#include <QFileInfo>
#include <QShortcut>
#include <QSplitter>
#include <QStackedWidget>

#include "application/header_bar.h"
#include "application/main_window.h"
#include "chat/chat_page.h"
#include "chat/chat_view.h"
#include "conversations/sidebar.h"
#include "look/engine_text.h"
#include "models/models_page.h"
#include "settings/settings_page.h"

namespace hokku::desktop {

void MainWindow::addShortcuts() {
    const auto add = [this](const QKeySequence& keys, auto action) {
        auto* shortcut = new QShortcut(keys, this);
        connect(shortcut, &QShortcut::activated, this, action);
    };
    add(QKeySequence(Qt::CTRL | Qt::Key_N), [this] { newChat(false); });
    add(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_N), [this] { newChat(true); });
    add(QKeySequence(Qt::CTRL | Qt::Key_K), [this] {
        m_sidebar->show();
        m_sidebar->focusSearch();
    });
    add(QKeySequence(Qt::CTRL | Qt::Key_Comma), [this] { showPage(m_settingsPage); });
    add(QKeySequence(Qt::CTRL | Qt::Key_M), [this] { showPage(m_modelsPage); });
    add(QKeySequence(Qt::CTRL | Qt::Key_B), [this] { setSidebarShown(!m_sidebar->isVisible()); });
    add(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), [this] { m_chatPage->copyLastReply(); });
    add(QKeySequence(Qt::Key_Escape), [this] {
        if (m_floating.isFloating() && m_sidebar->isVisible()) {
            m_sidebar->hide();
            return m_chatPage->focusComposer();
        }
        if (m_session.isBusy()) return m_session.stop();
        if (m_parts.generator.isLoading()) return m_parts.generator.cancelLoad();
        showPage(m_chatPage);
    });
    add(QKeySequence(QKeySequence::Quit), [this] { quit(); });
}

void MainWindow::connectModel() {
    qt::Generator& generator = m_parts.generator;
    connect(&m_models, &ModelControl::started, this, [this] {
        m_header->setLoading(0);
        showModel();
    });
    connect(&generator, &qt::Generator::loadProgress, m_header, &HeaderBar::setLoading);
    connect(&m_models, &ModelControl::settled, this, &MainWindow::showModel);
    connect(&generator, &qt::Generator::modelReady, this, [this](const ModelInfo& info) {
        m_presets.setModelDefaults(info.sampling_defaults);
        QVector<NoticeWords> warnings;
        if (const auto refusal = m_models.draftRefusal())
            warnings.append([refusal = *refusal] {
                return tr("The model writes without the draft model %1 (Settings, Draft model): %2")
                    .arg(QFileInfo(refusal.path).completeBaseName(), errorText(refusal.error));
            });
        for (const std::string& warning : info.warnings)
            warnings.append([warning] { return warningText(warning); });
        if (!warnings.isEmpty()) showNotices(warnings);
    });
    connect(&m_models, &ModelControl::failed, this, &MainWindow::reportFailure);
    connect(m_modelsPage, &ModelsPage::aboutToDelete, &m_models, &ModelControl::letGo);
    m_session.setOverflow(m_parts.settings.overflow());
    connect(&m_parts.settings, &Settings::changed, this,
            [this] { m_session.setOverflow(m_parts.settings.overflow()); });
    connect(&m_session, &ChatSession::replyEnded, this, &MainWindow::showTitle);
}

void MainWindow::connectDesktop() {
    const auto takeIcon = [this] {
        m_notifier.setTrayIcon(m_tray.icon());
        QApplication::setQuitOnLastWindowClosed(!m_tray.isShown());
    };
    takeIcon();
    connect(&m_tray, &Tray::changed, this, takeIcon);
    connect(&m_tray, &Tray::showWanted, this, &MainWindow::bringUp);
    connect(&m_tray, &Tray::newChatWanted, this, [this] {
        bringUp();
        newChat(false);
    });
    connect(&m_tray, &Tray::quitWanted, this, &MainWindow::quit);
    connect(&m_notifier, &Notifier::activated, this, &MainWindow::bringUp);
}

void MainWindow::connectPages() {
    connect(m_header, &HeaderBar::sidebarWanted, this,
            [this] { setSidebarShown(!m_sidebar->isVisible()); });
    connect(m_header, &HeaderBar::newChatWanted, this, [this] { newChat(false); });
    connect(m_header, &HeaderBar::backWanted, this, [this] { showPage(m_chatPage); });
    connect(m_header, &HeaderBar::modelsWanted, this, [this] { togglePage(m_modelsPage); });
    connect(m_header, &HeaderBar::settingsWanted, this, [this] { togglePage(m_settingsPage); });
    m_sidebar->setPromptSource(
        [this](const ChatRecord& chat) { return m_presets.preset(chat.preset).systemPrompt; });
    connect(m_sidebar, &Sidebar::newChatRequested, this, &MainWindow::newChat);
    connect(m_sidebar, &Sidebar::chatSelected, this, &MainWindow::openChat);
    connect(m_sidebar, &Sidebar::messageSelected, this, [this](ChatId chat, MessageId message) {
        openChat(chat);
        m_chatPage->view().scrollToTurn(message);
    });
    connect(m_sidebar, &Sidebar::deleted, this,
            [this](const QString& title, const std::function<void()>& undo) {
                const bool isOpen = !m_temporary && m_session.chat() != 0;
                if (isOpen && !m_parts.store.chat(m_session.chat()).ok()) newChat(false);
                m_chatPage->showNotice([title] { return tr("Deleted: %1").arg(title); },
                                       {{[] { return tr("Undo"); }, {}, undo}});
            });
    const auto notice = [this](const NoticeWords& words) { m_chatPage->showNotice(words); };
    connect(m_sidebar, &Sidebar::noticed, this, notice);
    connect(m_modelsPage, &ModelsPage::noticed, this, notice);
    connect(m_settingsPage, &SettingsPage::noticed, this, notice);
    connect(&m_session, &ChatSession::chatCreated, this, [this](ChatId id) {
        if (m_temporary) return;
        m_sidebar->refresh();
        m_sidebar->setCurrentChat(id);
    });
    connect(m_modelsPage, &ModelsPage::modelChosen, this, [this](const QString& path) {
        showPage(m_chatPage);
        loadModel(path);
    });
    connect(m_presetControl, &PresetControl::chosen, this, [this](const Preset& preset) {
        const QString path = m_models.currentPath(preset.modelPath);
        if (!path.isEmpty() && !ModelControl::isSameFile(path, m_models.wantedPath()))
            loadModel(path);
    });
    connect(m_presetControl, &PresetControl::missing, this,
            [this](const QString& key, const QString& instead) {
                m_chatPage->showNotice([key, instead] {
                    return tr("The preset %1 is no longer there; %2 is used.").arg(key, instead);
                });
            });
    connect(&m_chatPage->presetButton(), &PresetButton::editWanted, this, [this] {
        m_settingsPage->showPreset(m_presetControl->current().key);
        showPage(m_settingsPage);
    });
    connect(&m_parts.store, &ChatStore::chatsChanged, this, [this] {
        m_session.refreshRecord();
        showTitle();
    });
    connect(m_chatPage, &ChatPage::filesDropped, this, [this](const QStringList& paths) {
        for (const QString& path : paths) openFile(path);
    });
}

}  // namespace hokku::desktop
