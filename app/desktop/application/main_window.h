// SPDX-License-Identifier: Apache-2.0
// MainWindow: sidebar, header with the model and its device, and the pages beside it.
#pragma once

#include <QMainWindow>
#include <memory>

#include "chat/chat_session.h"
#include "conversations/chat_store.h"
#include "hokku/qt/generator.h"
#include "settings/app_folders.h"
#include "settings/settings.h"

class QLabel;
class QProgressBar;
class QSplitter;
class QStackedWidget;
class QToolButton;

namespace hokku::desktop {

class ChatPage;
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
    void loadModel(const QString& path);
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
    void buildHeader(QWidget* header);
    void addShortcuts();
    void connectModel();
    void connectPages();
    void openChat(ChatId id);
    void newChat(bool isTemporary);
    void showPage(QWidget* page);
    void showModel();
    void setBadge(const ModelInfo& info);
    void showTitle();
    void retranslate();
    void reportEnd(const Turn& turn);

    MainWindowParts m_parts;
    std::unique_ptr<ChatStore> m_temporary;  ///< In memory; gone when another chat is opened.
    ChatSession m_session;
    QSplitter* m_splitter;
    Sidebar* m_sidebar;
    QStackedWidget* m_pages;
    ChatPage* m_chatPage;
    ModelsPage* m_modelsPage;
    SettingsPage* m_settingsPage;
    QToolButton *m_sidebarButton, *m_newButton, *m_modelButton, *m_settingsButton;
    QLabel *m_badge, *m_title;
    QProgressBar* m_progress;
    QString m_loadingPath;
    bool m_isNarrow = false;
};

}  // namespace hokku::desktop
