// SPDX-License-Identifier: Apache-2.0
#include "application/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QFileInfo>
#include <QMimeData>
#include <QShortcut>
#include <QSplitter>
#include <QStackedWidget>
#include <QUrl>
#include <QVBoxLayout>

#include "application/header_bar.h"
#include "chat/chat_page.h"
#include "chat/chat_view.h"
#include "chat/composer.h"
#include "conversations/sidebar.h"
#include "look/engine_text.h"
#include "look/theme.h"
#include "models/models_page.h"
#include "settings/settings_page.h"

namespace hokku::desktop {
namespace {

/// Below this width the sidebar gives way to the conversation.
constexpr int kNarrowWidth = 640;
constexpr int kSidebarWidth = 264;

}  // namespace

MainWindow::MainWindow(const MainWindowParts& parts)
    : m_parts(parts),
      m_session(parts.generator),
      m_presets(parts.folders.presets(), parts.settings),
      m_models(parts.settings, parts.generator),
      m_header(new HeaderBar),
      m_splitter(new QSplitter(Qt::Horizontal, this)),
      m_sidebar(new Sidebar(parts.store)),
      m_pages(new QStackedWidget),
      m_chatPage(new ChatPage(m_session)),
      m_modelsPage(new ModelsPage(parts.folders, parts.settings)),
      m_settingsPage(new SettingsPage(parts.folders, parts.settings, m_presets)),
      m_presetControl(new PresetControl(m_presets, m_session, m_chatPage->presetButton(), this)) {
    setAcceptDrops(true);
    setMinimumSize(360, 420);
    build();
    connectModel();
    connectPages();
    addShortcuts();
    retranslate();
    resize(1080, 760);
    restoreGeometry(parts.settings.value(QStringLiteral("window/geometry")).toByteArray());
    m_splitter->restoreState(parts.settings.value(QStringLiteral("window/splitter")).toByteArray());
    newChat(false);
    for (const QString& problem : m_presets.problems()) m_chatPage->showNotice(problem);
    if (!parts.store.notice().isEmpty()) m_chatPage->showNotice(parts.store.notice());
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
    m_splitter->setSizes({kSidebarWidth, 1000});
    setCentralWidget(m_splitter);
}

MainWindow::~MainWindow() = default;

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
    add(QKeySequence(Qt::CTRL | Qt::Key_B),
        [this] { m_sidebar->setVisible(!m_sidebar->isVisible()); });
    add(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), [this] { m_chatPage->copyLastReply(); });
    add(QKeySequence(Qt::Key_Escape), [this] {
        if (m_session.isBusy()) return m_session.stop();
        if (m_parts.generator.isLoading()) return m_parts.generator.cancelLoad();
        showPage(m_chatPage);
    });
    add(QKeySequence(QKeySequence::Quit), [this] { close(); });
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
        for (const std::string& warning : info.warnings)
            m_chatPage->showNotice([warning] { return warningText(warning); });
    });
    connect(&m_models, &ModelControl::failed, this, &MainWindow::reportFailure);
    connect(m_modelsPage, &ModelsPage::aboutToDelete, &m_models, &ModelControl::letGo);
    m_session.setOverflow(m_parts.settings.overflow());
    connect(&m_parts.settings, &Settings::changed, this,
            [this] { m_session.setOverflow(m_parts.settings.overflow()); });
    connect(&m_session, &ChatSession::replyEnded, this, &MainWindow::reportEnd);
}

void MainWindow::connectPages() {
    connect(m_header, &HeaderBar::sidebarWanted, this,
            [this] { m_sidebar->setVisible(!m_sidebar->isVisible()); });
    connect(m_header, &HeaderBar::newChatWanted, this, [this] { newChat(false); });
    connect(m_header, &HeaderBar::modelsWanted, this, [this] { togglePage(m_modelsPage); });
    connect(m_header, &HeaderBar::settingsWanted, this, [this] { togglePage(m_settingsPage); });
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
    const auto notice = [this](const QString& text) { m_chatPage->showNotice(text); };
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
        const QString& path = preset.modelPath;
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

/// Says which model there is, or that it is on its way.
void MainWindow::showModel() {
    const qt::Generator& generator = m_parts.generator;
    if (generator.isLoading()) return m_chatPage->setReady(false, tr("The model is being loaded"));
    m_header->setModel(generator.model());
    m_modelsPage->setLoadedModel(m_models.loadedPath());
    m_chatPage->setReady(generator.model().has_value(), tr("Choose a model first"));
}

/// The open conversation was written with another model, or its preset wants another one.
void MainWindow::offerModel(const QString& kept) {
    const QString path = ModelControl::currentPath(kept);
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
            return name.isEmpty() ? tr("No model can be loaded: %1").arg(errorText(error))
                                  : tr("%1 cannot be loaded: %2").arg(name, errorText(error));
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
    if (!file.open(QIODevice::ReadOnly) || file.size() > kMostBytes) {
        m_chatPage->showNotice(
            tr("%1 is not a model (.gguf) and not a short text.").arg(QFileInfo(path).fileName()));
        return;
    }
    m_chatPage->setComposerText(QString::fromUtf8(file.readAll()));
}

void MainWindow::openChat(ChatId id) {
    m_chatPage->open(m_parts.store, id);
    m_temporary.reset();
    m_presetControl->applyToChat();
    m_sidebar->setCurrentChat(id);
    showTitle();
    const QString& model = m_session.record().modelPath;
    offerModel(model.isEmpty() ? m_presetControl->current().modelPath : model);
    if (m_isNarrow) m_sidebar->hide();
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
    m_chatPage->open(*store, 0);
    m_presetControl->applyToChat();
    offerModel(m_presetControl->current().modelPath);
    m_sidebar->setCurrentChat(0);
    showTitle();
    showPage(m_chatPage);
}

void MainWindow::showTitle() {
    m_header->setTitle(m_temporary ? tr("Temporary chat: it leaves no trace")
                                   : m_session.record().displayTitle());
}

/// Shows the page, or the conversation again.
void MainWindow::togglePage(QWidget* page) {
    showPage(m_pages->currentWidget() == page ? m_chatPage : page);
}

void MainWindow::showPage(QWidget* page) {
    m_pages->setCurrentWidget(page);
    if (page == m_chatPage) m_chatPage->focusComposer();
}

void MainWindow::reportEnd(const Turn& turn) {
    showTitle();
    if (turn.state != MessageState::complete || isActiveWindow()) return;
    if (m_parts.settings.notifyWhenDone()) QApplication::alert(this);
}

void MainWindow::closeEvent(QCloseEvent* event) {
    m_parts.settings.setValue(QStringLiteral("window/geometry"), saveGeometry());
    m_parts.settings.setValue(QStringLiteral("window/splitter"), m_splitter->saveState());
    m_session.stop();
    QMainWindow::closeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile()) openFile(url.toLocalFile());
}

void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    const bool isNarrow = width() < kNarrowWidth;
    if (isNarrow != m_isNarrow) m_sidebar->setVisible(!isNarrow);
    m_isNarrow = isNarrow;
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
    showModel();
    showTitle();
}

}  // namespace hokku::desktop
