// SPDX-License-Identifier: Apache-2.0
#include "application/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QMimeData>
#include <QProgressBar>
#include <QShortcut>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

#include "chat/chat_page.h"
#include "chat/chat_view.h"
#include "chat/composer.h"
#include "conversations/sidebar.h"
#include "hokku/library.h"
#include "look/engine_text.h"
#include "look/theme.h"
#include "models/models_page.h"
#include "settings/settings_page.h"

namespace hokku::desktop {
namespace {

/// Below this width the sidebar gives way to the conversation.
constexpr int kNarrowWidth = 640;
constexpr int kSidebarWidth = 264;

/// Paths are UTF-8 for the engine and UTF-16 for Qt; both know the file by the same name.
std::filesystem::path toPath(const QString& path) {
    return std::filesystem::path(path.toStdU16String());
}

QString fromPath(const std::filesystem::path& path) {
    return QString::fromStdU16String(path.u16string());
}

}  // namespace

MainWindow::MainWindow(const MainWindowParts& parts)
    : m_parts(parts),
      m_session(parts.generator),
      m_splitter(new QSplitter(Qt::Horizontal, this)),
      m_sidebar(new Sidebar(parts.store)),
      m_pages(new QStackedWidget),
      m_chatPage(new ChatPage(m_session)),
      m_modelsPage(new ModelsPage(parts.folders, parts.settings)),
      m_settingsPage(new SettingsPage(parts.folders, parts.settings)) {
    setAcceptDrops(true);
    setMinimumSize(360, 420);
    m_sidebar->setObjectName(QStringLiteral("sidebar"));
    m_sidebar->setAttribute(Qt::WA_StyledBackground);
    m_sidebar->setMinimumWidth(200);

    auto* main = new QWidget;
    auto* column = new QVBoxLayout(main);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    auto* header = new QWidget;
    buildHeader(header);
    column->addWidget(header);
    column->addWidget(m_progress);
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

    connectModel();
    connectPages();
    addShortcuts();
    retranslate();
    resize(1080, 760);
    restoreGeometry(parts.settings.value(QStringLiteral("window/geometry")).toByteArray());
    m_splitter->restoreState(parts.settings.value(QStringLiteral("window/splitter")).toByteArray());
    newChat(false);
    if (!parts.store.notice().isEmpty()) m_chatPage->showNotice(parts.store.notice());
}

MainWindow::~MainWindow() = default;

void MainWindow::buildHeader(QWidget* header) {
    const auto makeButton = [](const char* name, const QString& icon) {
        auto* button = new QToolButton;
        button->setObjectName(QLatin1String(name));
        button->setIcon(Theme::instance().icon(icon));
        button->setIconSize({20, 20});
        return button;
    };
    m_sidebarButton = makeButton("sidebarButton", QStringLiteral("sidebar"));
    m_newButton = makeButton("newChatButton", QStringLiteral("new"));
    m_modelButton = makeButton("modelButton", QStringLiteral("models"));
    m_modelButton->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_settingsButton = makeButton("settingsButton", QStringLiteral("settings"));
    m_title = new QLabel;
    m_title->setObjectName(QStringLiteral("heading"));
    m_badge = new QLabel;
    m_badge->setObjectName(QStringLiteral("faint"));
    m_progress = new QProgressBar;
    m_progress->setTextVisible(false);
    m_progress->setRange(0, 1000);
    m_progress->hide();

    auto* row = new QHBoxLayout(header);
    row->setContentsMargins(kGrid, kGrid, kGrid, kGrid);
    row->setSpacing(kGrid / 2);
    row->addWidget(m_sidebarButton);
    row->addWidget(m_newButton);
    row->addWidget(m_title, 1);
    row->addWidget(m_badge);
    row->addWidget(m_modelButton);
    row->addWidget(m_settingsButton);
}

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
    connect(&generator, &qt::Generator::loadProgress, this,
            [this](double fraction) { m_progress->setValue(static_cast<int>(fraction * 1000)); });
    connect(&generator, &qt::Generator::modelReady, this, [this](const ModelInfo& info) {
        m_progress->hide();
        const QString path = fromPath(info.path);
        m_parts.settings.setModelPath(path);
        m_modelsPage->setLoadedModel(path);
        showModel();
        for (const std::string& warning : info.warnings)
            m_chatPage->showNotice([warning] { return warningText(warning); });
    });
    connect(&generator, &qt::Generator::loadFailed, this, [this](const Error& error) {
        m_progress->hide();
        showModel();
        if (error.code == ErrorCode::cancelled) return;
        m_chatPage->showNotice(
            [file = QFileInfo(m_loadingPath).fileName(), error] {
                return tr("%1 cannot be loaded: %2").arg(file, errorText(error));
            },
            {{[] { return tr("Choose another"); }, {}, [this] { showPage(m_modelsPage); }}});
    });
    connect(&m_parts.settings, &Settings::engineChanged, this, [this] {
        const QString path = m_parts.settings.modelPath();
        if (!path.isEmpty()) loadModel(path);
    });
    m_session.setOverflow(m_parts.settings.overflow());
    connect(&m_parts.settings, &Settings::changed, this,
            [this] { m_session.setOverflow(m_parts.settings.overflow()); });
    connect(&m_session, &ChatSession::replyEnded, this, &MainWindow::reportEnd);
}

void MainWindow::connectPages() {
    connect(m_sidebarButton, &QToolButton::clicked, this,
            [this] { m_sidebar->setVisible(!m_sidebar->isVisible()); });
    connect(m_newButton, &QToolButton::clicked, this, [this] { newChat(false); });
    connect(m_modelButton, &QToolButton::clicked, this, [this] {
        showPage(m_pages->currentWidget() == m_modelsPage ? static_cast<QWidget*>(m_chatPage)
                                                          : m_modelsPage);
    });
    connect(m_settingsButton, &QToolButton::clicked, this, [this] {
        showPage(m_pages->currentWidget() == m_settingsPage ? static_cast<QWidget*>(m_chatPage)
                                                            : m_settingsPage);
    });
    connect(m_sidebar, &Sidebar::newChatRequested, this, &MainWindow::newChat);
    connect(m_sidebar, &Sidebar::chatSelected, this, &MainWindow::openChat);
    connect(m_sidebar, &Sidebar::messageSelected, this, [this](ChatId chat, MessageId message) {
        openChat(chat);
        m_chatPage->view().scrollToTurn(message);
    });
    connect(m_sidebar, &Sidebar::deleted, this,
            [this](const QString& title, const std::function<void()>& undo) {
                newChat(false);
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
    connect(m_settingsPage, &SettingsPage::presetChanged, this, [this](const Preset& preset) {
        m_session.setSampling(preset.sampling, preset.maxTokens);
        if (m_session.chat() == 0) m_session.setSystemPrompt(preset.systemPrompt);
    });
    connect(m_chatPage, &ChatPage::filesDropped, this, [this](const QStringList& paths) {
        for (const QString& path : paths) openFile(path);
    });
}

void MainWindow::loadModel(const QString& path) {
    m_loadingPath = path;
    LoadOptions options;
    const std::string name = path.toStdString();
    if (const auto resolved = hokku::resolve_model(name); resolved.ok()) {
        options.path = *resolved;
    } else {
        options.path = toPath(path);
    }
    const Settings& settings = m_parts.settings;
    if (settings.contextTokens() > 0)
        options.context_tokens = static_cast<uint32_t>(settings.contextTokens());
    options.num_threads = static_cast<uint32_t>(settings.numThreads());
    options.use_mapping = settings.useMapping();
    options.kv_type = find_kv_type(settings.kvType().toStdString()).value_or(KvType::f32);
    m_progress->setValue(0);
    m_progress->show();
    m_parts.generator.load(options);
    showModel();
}

/// Says which model there is, or that it is on its way.
void MainWindow::showModel() {
    const qt::Generator& generator = m_parts.generator;
    if (generator.isLoading()) {
        m_chatPage->setReady(false, tr("The model is being loaded"));
        m_modelButton->setText(tr("Loading…"));
        return;
    }
    m_chatPage->setReady(generator.model().has_value(), tr("Choose a model first"));
    if (generator.model()) return setBadge(*generator.model());
    m_modelButton->setText(tr("Choose a model"));
    m_badge->clear();
}

void MainWindow::setBadge(const ModelInfo& info) {
    // What files call themselves inside is often the name of a training run.
    m_modelButton->setText(fromPath(info.path.stem()));
    m_modelButton->setAccessibleName(tr("Model: %1").arg(m_modelButton->text()));
    m_modelButton->setToolTip(
        QStringLiteral("%1\n%2").arg(QString::fromStdString(info.name), fromPath(info.path)));
    const QString device = deviceText(info.device);
    m_badge->setText(device);
    m_badge->setToolTip(tr("Where the model runs, with which instructions and how many threads"));
    m_badge->setAccessibleName(tr("Device: %1").arg(device));
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
    m_sidebar->setCurrentChat(id);
    showTitle();
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
    const Preset preset = m_settingsPage->currentPreset();
    m_session.setSampling(preset.sampling, preset.maxTokens);
    m_session.setSystemPrompt(preset.systemPrompt);
    m_sidebar->setCurrentChat(0);
    showTitle();
    showPage(m_chatPage);
}

void MainWindow::showTitle() {
    m_title->setText(m_temporary ? tr("Temporary chat: it leaves no trace")
                                 : m_session.record().displayTitle());
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
    const auto name = [](QToolButton* button, const QString& text, Qt::Key key) {
        const QString keys = QKeySequence(Qt::CTRL | key).toString(QKeySequence::NativeText);
        button->setAccessibleName(text);
        button->setToolTip(QStringLiteral("%1 (%2)").arg(text, keys));
    };
    name(m_sidebarButton, tr("Show or hide the conversations"), Qt::Key_B);
    name(m_newButton, tr("New chat"), Qt::Key_N);
    name(m_settingsButton, tr("Settings"), Qt::Key_Comma);
    name(m_modelButton, tr("Models"), Qt::Key_M);
    showModel();
    showTitle();
    m_progress->setAccessibleName(tr("Loading the model"));
}

}  // namespace hokku::desktop
