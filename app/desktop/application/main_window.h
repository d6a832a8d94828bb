// SPDX-License-Identifier: Apache-2.0
// MainWindow: sidebar, header with the model and its device, and the pages beside it.
#pragma once

#include <QMainWindow>
#include <memory>

#include "application/floating_sidebar.h"
#include "application/model_control.h"
#include "application/preset_control.h"
#include "application/reply_watch.h"
#include "application/tray.h"
#include "application/window_state.h"
#include "chat/chat_session.h"
#include "conversations/chat_store.h"
#include "hokku/qt/generator.h"
#include "settings/app_folders.h"
#include "settings/preset_library.h"
#include "settings/settings.h"

class QSplitter;
class QStackedWidget;

namespace hokku::desktop {

class ChatPage;
class HeaderBar;
class ModelsPage;
class SettingsPage;
class Sidebar;

/// What the window works with; all of it outlives the window.
struct MainWindowParts {
    const AppFolders& folders;
    Settings& settings;
    ChatStore& store;
    qt::Generator& generator;
};

/// Threads: the UI thread.
class MainWindow : public QMainWindow {
    Q_OBJECT

  public:
    explicit MainWindow(const MainWindowParts& parts);
    ~MainWindow() override;

    /// A model file or text that was given on the command line or dropped.
    void openFile(const QString& path);
    /// From the tray, from behind other windows, or from a second start.
    void bringUp();
    /// Also when the app would stay in the tray.
    void quit();
    /// A temporary one leaves nothing behind.
    void newChat(bool isTemporary);
    void loadModel(const QString& path) { m_models.load(path); }
    [[nodiscard]] ChatSession& session() { return m_session; }
    [[nodiscard]] ChatPage& chatPage() { return *m_chatPage; }
    [[nodiscard]] qt::Generator& generator() { return m_parts.generator; }

  protected:
    void closeEvent(QCloseEvent* event) override;
    void changeEvent(QEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    void build();
    void addShortcuts();
    void connectModel();
    void connectPages();
    void connectDesktop();
    void openChat(ChatId id);
    void showPage(QWidget* page);
    void togglePage(QWidget* page);
    void showModel();
    void showNotices(QVector<NoticeWords> notices);
    void offerModel(const QString& kept);
    void reportFailure(const QString& name, const Error& error);
    void showTitle();
    void retranslate();
    void setSidebarShown(bool isShown);

    MainWindowParts m_parts;
    std::unique_ptr<ChatStore> m_temporary;  ///< In memory; gone when another chat is opened.
    ChatSession m_session;
    PresetLibrary m_presets;
    ModelControl m_models;
    HeaderBar* m_header;
    QSplitter* m_splitter;
    Sidebar* m_sidebar;
    QStackedWidget* m_pages;
    ChatPage* m_chatPage;
    ModelsPage* m_modelsPage;
    SettingsPage* m_settingsPage;
    PresetControl* m_presetControl;
    Tray m_tray;
    Notifier m_notifier;
    ReplyWatch m_replyWatch;
    FloatingSidebar m_floating;
    WindowState m_state;
    bool m_isQuitting = false;
};

}  // namespace hokku::desktop
