// SPDX-License-Identifier: Apache-2.0
#include "application/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QFileInfo>
#include <QMimeData>
#include <QSplitter>
#include <QStackedWidget>
#include <QUrl>
#include <QVBoxLayout>

#include "application/header_bar.h"
#include "chat/chat_page.h"
#include "chat/chat_view.h"
#include "chat/composer.h"
#include "conversations/exchange.h"
#include "conversations/sidebar.h"
#include "look/engine_text.h"
#include "look/theme.h"
#include "models/models_page.h"
#include "settings/settings_page.h"

namespace hokku::desktop {

MainWindow::MainWindow(const MainWindowParts& parts)
    : m_parts(parts),
      m_session(parts.generator),
      m_presets(parts.folders.presets(), parts.settings),
      m_models(parts.folders.models, parts.settings, parts.generator),
      m_header(new HeaderBar),
      m_splitter(new QSplitter(Qt::Horizontal, this)),
      m_sidebar(new Sidebar(parts.store)),
      m_pages(new QStackedWidget),
      m_chatPage(new ChatPage(m_session)),
      m_modelsPage(new ModelsPage(parts.folders, parts.settings)),
      m_settingsPage(new SettingsPage(parts.folders, parts.settings, m_presets)),
      m_presetControl(new PresetControl(m_presets, m_session, m_chatPage->presetButton(), this)),
      m_tray(parts.settings),
      m_notifier(*this),
      m_replyWatch(m_session, parts.settings, m_notifier),
      m_floating(*this, *m_splitter, *m_sidebar),
      m_state(*this, *m_splitter, *m_sidebar, parts.settings) {
    setAcceptDrops(true);
    setMinimumSize(360, 420);
    build();
    connectModel();
    connectPages();
    connectDesktop();
    addShortcuts();
    retranslate();
    resize(1080, 760);
    m_state.restore();
    newChat(false);
    QVector<NoticeWords> problems = m_presets.problems();
    if (const QString kept = parts.settings.damagedFile(); !kept.isEmpty())
        problems.append([kept] {
            return tr("The file of the settings was damaged. What could be read of it is used; the "
                      "file is kept as %1.")
                .arg(kept);
        });
    showNotices(problems);
    connect(&parts.store, &ChatStore::noticed, m_chatPage,
            [this](const NoticeWords& words) { m_chatPage->showNotice(words); });
}

void MainWindow::build() {
    m_sidebar->setObjectName(QStringLiteral("sidebar"));
    m_sidebar->setAttribute(Qt::WA_StyledBackground);
    m_sidebar->setMinimumWidth(200);
    auto* main = new QWidget;
    auto* column = new QVBoxLayout(main);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_header);
    column->addWidget(m_pages, 1);
    for (QWidget* page : std::initializer_list<QWidget*>{m_chatPage, m_modelsPage, m_settingsPage})
        m_pages->addWidget(page);
    m_splitter->addWidget(m_sidebar);
    m_splitter->addWidget(main);
    m_splitter->setStretchFactor(1, 1);
    m_splitter->setHandleWidth(1);
    m_splitter->setChildrenCollapsible(false);
    m_splitter->setSizes({FloatingSidebar::kUsualWidth, 1000});
    setCentralWidget(m_splitter);
}

MainWindow::~MainWindow() {
    m_chatPage->save();
}

/// All in one, as a notice takes the place of the one before; with what is wrong with the store,
/// which must not be overlooked.
void MainWindow::showNotices(QVector<NoticeWords> notices) {
    if (const NoticeWords trouble = m_parts.store.notice()) notices.append(trouble);
    if (notices.isEmpty()) return;
    m_chatPage->showNotice([notices] {
        QStringList texts;
        for (const NoticeWords& words : notices) texts.append(words());
        return texts.join(QLatin1Char('\n'));
    });
}

/// Says which model there is, or that it is on its way.
void MainWindow::showModel() {
    const qt::Generator& generator = m_parts.generator;
    if (generator.isLoading()) return m_chatPage->setReady(false, tr("The model is being loaded"));
    m_header->setModel(generator.model());
    m_modelsPage->setLoadedModel(m_models.loadedPath());
    m_chatPage->setIsStarterModel(m_models.isStarter());
    m_chatPage->setReady(generator.model().has_value(), tr("Choose a model first"));
}

/// The open conversation was written with another model, or its preset wants another one.
void MainWindow::offerModel(const QString& kept) {
    const QString path = m_models.currentPath(kept);
    if (path.isEmpty() || ModelControl::isSameFile(path, m_models.wantedPath())) return;
    const QString name = QFileInfo(path).completeBaseName();
    if (!QFileInfo::exists(path))
        return m_chatPage->showNotice([name] {
            return tr("This conversation belongs to the model %1, whose file is no longer there. "
                      "The model that is loaded goes on with it.")
                .arg(name);
        });
    if (m_models.wantedPath().isEmpty()) return loadModel(path);
    m_chatPage->showNotice(
        [name] { return tr("This conversation belongs to the model %1.").arg(name); },
        {{[] { return tr("Load it"); }, {}, [this, path] { loadModel(path); }}});
}

void MainWindow::reportFailure(const QString& name, const Error& error) {
    m_chatPage->showNotice(
        [name, error] {
            if (!name.isEmpty()) return tr("%1 cannot be loaded: %2").arg(name, errorText(error));
            return error.code == ErrorCode::io
                       ? tr("No model was found. Add a model file, or download one.")
                       : tr("No model can be loaded: %1").arg(errorText(error));
        },
        {{[] { return tr("Choose another"); }, {}, [this] { showPage(m_modelsPage); }}});
}

void MainWindow::openFile(const QString& path) {
    if (path.endsWith(QLatin1String(".gguf"), Qt::CaseInsensitive)) {
        m_modelsPage->addFiles({path});
        loadModel(QFileInfo(path).absoluteFilePath());
        return;
    }
    QFile file(path);
    constexpr qint64 kMostBytes = 256 * 1024;
    // A pipe or a device might never end, or never begin.
    const bool isOpen = QFileInfo(path).isFile() && file.open(QIODevice::ReadOnly);
    const QByteArray content = isOpen ? file.read(kMostBytes + 1) : QByteArray();
    const std::optional<QString> text = decodeText(content);
    if (!isOpen || content.size() > kMostBytes || !text) {
        m_chatPage->showNotice([name = QFileInfo(path).fileName()] {
            return tr("%1 is not a model (.gguf) and not a short text.").arg(name);
        });
        return;
    }
    m_chatPage->insertIntoComposer(*text);
}

void MainWindow::openChat(ChatId id) {
    m_chatPage->open(m_parts.store, id);
    m_temporary.reset();
    m_presetControl->applyToChat();
    m_sidebar->setCurrentChat(id);
    showTitle();
    const QString& model = m_session.record().modelPath;
    offerModel(model.isEmpty() ? m_presetControl->current().modelPath : model);
    if (m_floating.isFloating()) m_sidebar->hide();
    showPage(m_chatPage);
}

void MainWindow::newChat(bool isTemporary) {
    std::unique_ptr<ChatStore> previous = std::move(m_temporary);
    ChatStore* store = &m_parts.store;
    if (isTemporary) {
        auto opened = ChatStore::open({});
        if (opened.ok()) {
            m_temporary = std::move(*opened);
            store = m_temporary.get();
        }
    }
    const QString key = QStringLiteral("new_draft");
    Settings& settings = m_parts.settings;
    if (m_temporary) {
        m_chatPage->openNew(*store, {}, nullptr);
    } else {
        m_chatPage->openNew(
            *store, settings.value(key).toString(),
            [&settings, key](const QString& text) { settings.setValue(key, text); });
    }
    m_presetControl->applyToChat();
    offerModel(m_presetControl->current().modelPath);
    m_sidebar->setCurrentChat(0);
    showTitle();
    showPage(m_chatPage);
}

void MainWindow::showTitle() {
    const QString title = m_session.record().displayTitle();
    const QWidget* page = m_pages->currentWidget();
    m_header->setAway(page != m_chatPage);
    m_header->setTitle(page == m_modelsPage     ? tr("Models")
                       : page == m_settingsPage ? tr("Settings")
                       : m_temporary            ? tr("Temporary chat: it leaves no trace")
                                                : title);
    m_replyWatch.setTitle(m_temporary ? QString() : title);
}

/// Shows the page, or the conversation again.
void MainWindow::togglePage(QWidget* page) {
    showPage(m_pages->currentWidget() == page ? m_chatPage : page);
}

void MainWindow::showPage(QWidget* page) {
    m_pages->setCurrentWidget(page);
    showTitle();
    if (page == m_chatPage) m_chatPage->focusComposer();
}

void MainWindow::closeEvent(QCloseEvent* event) {
    m_state.save();
    if (m_tray.isShown() && !m_isQuitting) {
        event->ignore();
        return hide();
    }
    m_session.stop();
    QMainWindow::closeEvent(event);
}

void MainWindow::bringUp() {
    setWindowState(windowState() & ~Qt::WindowMinimized);
    show();
    raise();
    activateWindow();
    m_notifier.withdraw();
}

void MainWindow::quit() {
    m_isQuitting = true;
    close();
    QApplication::quit();
}

void MainWindow::setSidebarShown(bool isShown) {
    // In a narrow window it comes and goes, and that is not remembered.
    if (m_floating.isFloating()) return m_sidebar->setVisible(isShown);
    m_state.setSidebarShown(isShown);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    event->acceptProposedAction();
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile()) openFile(url.toLocalFile());
}

void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    const bool isNarrow = width() < FloatingSidebar::kNarrowWindow;
    if (isNarrow == m_floating.isFloating()) return;
    m_floating.setFloating(isNarrow);
    m_sidebar->setVisible(!isNarrow && m_state.isSidebarShown());
}

void MainWindow::changeEvent(QEvent* event) {
    if (event->type() == QEvent::LanguageChange) {
        setLocale(QLocale());  // numbers of this window and all in it
        retranslate();
    }
    QMainWindow::changeEvent(event);
}

void MainWindow::retranslate() {
    setWindowTitle(QStringLiteral("Hokku"));
    m_tray.retranslate();
    showModel();
    showTitle();
}

}  // namespace hokku::desktop
