// SPDX-License-Identifier: Apache-2.0
#include "conversations/sidebar.h"

#include <QEvent>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QInputDialog>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QSaveFile>
#include <QSet>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>
#include <QTreeView>
#include <QVBoxLayout>

#include "conversations/conversation_model.h"
#include "conversations/exchange.h"
#include "conversations/search_delegate.h"
#include "look/engine_text.h"
#include "look/theme.h"

namespace hokku::desktop {
namespace {

constexpr int kSearchDelayMs = 120;
constexpr int kMessageRole = Qt::UserRole + 2;

}  // namespace

struct Sidebar::Private {
    Private(Sidebar* sidebar, ChatStore& chatStore) : self(sidebar), store(chatStore) {}

    void build();
    void retranslate();
    void search();
    void showMenu(const QPoint& position);
    void addFolderMenu(QMenu& menu, const ChatRecord& chat);
    void addExportMenu(QMenu& menu, const ChatRecord& chat);
    void rename(const ChatRecord& chat);
    void remove(const ChatRecord& chat);
    void exportTo(const ChatRecord& chat, ExportFormat format);
    void importFrom();
    void update(const ChatRecord& chat);
    void open(const QModelIndex& index);
    [[nodiscard]] const ChatRecord* selected() const { return model->chatAt(tree->currentIndex()); }
    template <class T>
    bool check(const Result<T>& result) {
        if (!result.ok()) emit self->noticed([error = result.error()] { return errorText(error); });
        return result.ok();
    }

    Sidebar* self;
    ChatStore& store;
    ConversationModel* model = nullptr;
    QLineEdit* field = nullptr;
    QToolButton* menuButton = nullptr;
    QStackedWidget* stack = nullptr;
    QTreeView* tree = nullptr;
    QListWidget* results = nullptr;
    QLabel* empty = nullptr;
    QTimer* searchTimer = nullptr;
    QTimer* refreshTimer = nullptr;
    ChatId current = 0;
    std::function<QString(const ChatRecord&)> promptSource;
};

void Sidebar::Private::build() {
    model = new ConversationModel(self);
    field = new QLineEdit;
    field->setObjectName(QStringLiteral("searchField"));
    field->setClearButtonEnabled(true);
    // Qt gives its own action no other name.
    if (auto* clear = field->findChild<QAction*>(QStringLiteral("_q_qlineeditclearaction")))
        clear->setIcon(Theme::instance().icon(QStringLiteral("close")));
    menuButton = new QToolButton;
    menuButton->setObjectName(QStringLiteral("conversationsMenuButton"));
    menuButton->setIcon(Theme::instance().icon(QStringLiteral("more")));
    menuButton->setPopupMode(QToolButton::InstantPopup);
    menuButton->setMenu(new QMenu(menuButton));

    tree = new QTreeView;
    tree->setObjectName(QStringLiteral("conversationTree"));
    tree->setModel(model);
    tree->setHeaderHidden(true);
    tree->setIndentation(2 * kGrid);
    tree->setUniformRowHeights(true);
    tree->setTextElideMode(Qt::ElideRight);
    tree->setContextMenuPolicy(Qt::CustomContextMenu);
    tree->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    tree->setRootIsDecorated(false);
    results = new QListWidget;
    results->setObjectName(QStringLiteral("searchResults"));
    results->setItemDelegate(new SearchDelegate(results));
    results->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    empty = new QLabel;
    empty->setObjectName(QStringLiteral("faint"));
    empty->setWordWrap(true);
    empty->setAlignment(Qt::AlignTop | Qt::AlignHCenter);
    empty->setContentsMargins(kGrid, 3 * kGrid, kGrid, 0);
    stack = new QStackedWidget;
    for (QWidget* page : std::initializer_list<QWidget*>{tree, results, empty})
        stack->addWidget(page);

    auto* top = new QHBoxLayout;
    top->setSpacing(kGrid / 2);
    top->addWidget(field, 1);
    top->addWidget(menuButton);
    auto* layout = new QVBoxLayout(self);
    layout->setContentsMargins(kGrid, kGrid, kGrid, kGrid);
    layout->setSpacing(kGrid);
    layout->addLayout(top);
    layout->addWidget(stack, 1);

    searchTimer = new QTimer(self);
    searchTimer->setSingleShot(true);
    searchTimer->setInterval(kSearchDelayMs);
    refreshTimer = new QTimer(self);
    refreshTimer->setSingleShot(true);
}

Sidebar::Sidebar(ChatStore& store, QWidget* parent)
    : QWidget(parent), m_private(std::make_unique<Private>(this, store)) {
    Private& p = *m_private;
    p.build();
    connect(p.searchTimer, &QTimer::timeout, this, [&p] { p.search(); });
    connect(p.field, &QLineEdit::textChanged, this, [&p] { p.searchTimer->start(); });
    connect(p.field, &QLineEdit::returnPressed, this, [&p] {
        p.search();
        if (p.results->count() > 0) p.results->setFocus();
    });
    connect(p.tree, &QTreeView::clicked, this, [&p](const QModelIndex& index) { p.open(index); });
    connect(p.tree, &QTreeView::activated, this, [&p](const QModelIndex& index) { p.open(index); });
    connect(p.tree, &QTreeView::customContextMenuRequested, this,
            [&p](const QPoint& position) { p.showMenu(position); });
    const auto openResult = [this](const QListWidgetItem* item) {
        emit messageSelected(item->data(ConversationModel::ChatIdRole).toLongLong(),
                             item->data(kMessageRole).toLongLong());
    };
    connect(p.results, &QListWidget::itemClicked, this, openResult);
    connect(p.results, &QListWidget::itemActivated, this, openResult);
    // Several changes of one action are shown once.
    connect(p.refreshTimer, &QTimer::timeout, this, &Sidebar::refresh);
    connect(&store, &ChatStore::chatsChanged, this, [&p] { p.refreshTimer->start(0); });
    p.retranslate();
    refresh();
}

Sidebar::~Sidebar() = default;

void Sidebar::setCurrentChat(ChatId id) {
    m_private->current = id;
    const QModelIndex index = m_private->model->indexOf(id);
    m_private->tree->setCurrentIndex(index);
    if (!index.isValid()) m_private->tree->clearSelection();
}

void Sidebar::setPromptSource(const std::function<QString(const ChatRecord&)>& source) {
    m_private->promptSource = source;
}

Result<QByteArray> Sidebar::exported(const ChatRecord& shown, ExportFormat format) const {
    ChatRecord chat = shown;
    if (chat.systemPrompt.isNull() && m_private->promptSource)
        chat.systemPrompt = m_private->promptSource(chat);
    const Result<QVector<MessageRecord>> messages = m_private->store.messages(chat.id);
    if (!messages.ok()) return messages.error();
    return exportChat(chat, *messages, format);
}

void Sidebar::focusSearch() {
    m_private->field->setFocus();
    m_private->field->selectAll();
}

void Sidebar::refresh() {
    Private& p = *m_private;
    const Result<QVector<ChatRecord>> chats = p.store.chats();
    if (!p.check(chats)) return;
    p.model->setChats(*chats);
    p.tree->expandAll();
    setCurrentChat(p.current);
    if (!p.field->text().trimmed().isEmpty()) return;
    p.empty->setText(tr("Conversations appear here."));
    p.stack->setCurrentWidget(chats->isEmpty() ? static_cast<QWidget*>(p.empty) : p.tree);
}

void Sidebar::changeEvent(QEvent* event) {
    if (event->type() == QEvent::LanguageChange) {
        m_private->retranslate();
        m_private->search();
    }
    QWidget::changeEvent(event);
}

void Sidebar::keyPressEvent(QKeyEvent* event) {
    Private& p = *m_private;
    const ChatRecord* chat = p.tree->hasFocus() ? p.selected() : nullptr;
    if (chat != nullptr && event->key() == Qt::Key_F2) return p.rename(*chat);
    if (chat != nullptr && event->key() == Qt::Key_Delete) return p.remove(*chat);
    if (event->key() == Qt::Key_Escape && !p.field->text().isEmpty()) return p.field->clear();
    QWidget::keyPressEvent(event);
}

// ---- Private
// -------------------------------------------------------------------------------------

void Sidebar::Private::retranslate() {
    field->setPlaceholderText(tr("Search conversations"));
    field->setAccessibleName(tr("Search conversations"));
    field->setToolTip(
        tr("Search titles and messages (%1)")
            .arg(QKeySequence(Qt::CTRL | Qt::Key_K).toString(QKeySequence::NativeText)));
    menuButton->setAccessibleName(tr("More about conversations"));
    menuButton->setToolTip(tr("Temporary chat, import"));
    tree->setAccessibleName(tr("Conversations"));
    results->setAccessibleName(tr("Search results"));
    QMenu* menu = menuButton->menu();
    menu->clear();
    QObject::connect(menu->addAction(tr("New chat")), &QAction::triggered, self,
                     [this] { emit self->newChatRequested(false); });
    QObject::connect(menu->addAction(tr("New temporary chat")), &QAction::triggered, self,
                     [this] { emit self->newChatRequested(true); });
    QObject::connect(menu->addAction(tr("Import…")), &QAction::triggered, self,
                     [this] { importFrom(); });
}

void Sidebar::Private::open(const QModelIndex& index) {
    if (const ChatRecord* chat = model->chatAt(index)) emit self->chatSelected(chat->id);
}

void Sidebar::Private::search() {
    const QString query = field->text().trimmed();
    if (query.isEmpty()) return self->refresh();
    const Result<QVector<SearchHit>> hits = store.search(query);
    if (!check(hits)) return;
    results->clear();
    // A title is mostly the beginning of the first message: one of them is enough.
    QSet<QPair<ChatId, QString>> shown;
    for (const SearchHit& hit : *hits) {
        const QPair<ChatId, QString> said(hit.chat, hit.snippet);
        if (shown.contains(said)) continue;
        shown.insert(said);
        auto* item = new QListWidgetItem(hit.title, results);
        item->setData(SearchDelegate::SnippetRole, hit.snippet);
        item->setData(ConversationModel::ChatIdRole, hit.chat);
        item->setData(kMessageRole, hit.message);
        QString plain = hit.snippet;
        plain.remove(QChar(0xE000)).remove(QChar(0xE001));
        item->setData(Qt::AccessibleTextRole, QStringLiteral("%1: %2").arg(hit.title, plain));
    }
    empty->setText(tr("Nothing was found for “%1”.").arg(query));
    stack->setCurrentWidget(hits->isEmpty() ? static_cast<QWidget*>(empty) : results);
}

void Sidebar::Private::showMenu(const QPoint& position) {
    const ChatRecord* at = model->chatAt(tree->indexAt(position));
    if (at == nullptr) return;
    const ChatRecord chat = *at;
    QMenu menu(self);
    QObject::connect(menu.addAction(tr("Rename…")), &QAction::triggered, self,
                     [&] { rename(chat); });
    QObject::connect(menu.addAction(chat.isPinned ? tr("Unpin") : tr("Pin")), &QAction::triggered,
                     self, [&] {
                         ChatRecord changed = chat;
                         changed.isPinned = !chat.isPinned;
                         update(changed);
                     });
    addFolderMenu(menu, chat);
    addExportMenu(menu, chat);
    menu.addSeparator();
    QObject::connect(menu.addAction(tr("Delete")), &QAction::triggered, self,
                     [&] { remove(chat); });
    menu.exec(tree->viewport()->mapToGlobal(position));
}

void Sidebar::Private::addFolderMenu(QMenu& menu, const ChatRecord& chat) {
    QMenu* folders = menu.addMenu(tr("Move to folder"));
    const auto moveTo = [this, chat](const QString& folder) {
        ChatRecord changed = chat;
        changed.folder = folder;
        update(changed);
    };
    for (const QString& name : model->folders())
        QObject::connect(folders->addAction(name), &QAction::triggered, self,
                         [moveTo, name] { moveTo(name); });
    folders->addSeparator();
    QObject::connect(
        folders->addAction(tr("New folder…")), &QAction::triggered, self, [this, moveTo] {
            const QString name =
                QInputDialog::getText(self, tr("New folder"), tr("Name of the folder")).trimmed();
            if (!name.isEmpty()) moveTo(name);
        });
    if (!chat.folder.isEmpty())
        QObject::connect(folders->addAction(tr("No folder")), &QAction::triggered, self,
                         [moveTo] { moveTo({}); });
}

void Sidebar::Private::addExportMenu(QMenu& menu, const ChatRecord& chat) {
    QMenu* formats = menu.addMenu(tr("Export"));
    const QPair<QString, ExportFormat> all[] = {
        {tr("Markdown…"), ExportFormat::markdown},
        {tr("Plain text…"), ExportFormat::text},
        {tr("JSON, with all versions…"), ExportFormat::json}};
    for (const auto& [name, format] : all)
        QObject::connect(formats->addAction(name), &QAction::triggered, self,
                         [this, chat, format = format] { exportTo(chat, format); });
}

void Sidebar::Private::update(const ChatRecord& chat) {
    check(store.updateChat(chat));
}

void Sidebar::Private::rename(const ChatRecord& chat) {
    bool isAccepted = false;
    const QString title =
        QInputDialog::getText(self, tr("Rename"), tr("Title of the conversation"),
                              QLineEdit::Normal, chat.displayTitle(), &isAccepted);
    if (!isAccepted) return;
    ChatRecord changed = chat;
    changed.title = title.trimmed();
    update(changed);
}

void Sidebar::Private::remove(const ChatRecord& chat) {
    const ChatId id = chat.id;
    const QString title = chat.displayTitle();
    if (!check(store.deleteChat(id))) return;
    emit self->deleted(title, [this, id] { check(store.restoreChat(id)); });
}

void Sidebar::Private::exportTo(const ChatRecord& shown, ExportFormat format) {
    const Result<QByteArray> content = self->exported(shown, format);
    if (!check(content)) return;
    const QString path =
        QFileDialog::getSaveFileName(self, tr("Export"), exportName(shown, format));
    if (path.isEmpty()) return;
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(*content) < 0 || !file.commit())
        emit self->noticed([path, why = file.errorString()] {
            return tr("%1 cannot be written: %2").arg(path, why);
        });
}

void Sidebar::Private::importFrom() {
    const QStringList paths = QFileDialog::getOpenFileNames(
        self, tr("Import"), {}, tr("Conversations (*.json *.md *.txt)"));
    for (const QString& path : paths) {
        QFile file(path);
        if (!file.open(QIODevice::ReadOnly)) {
            emit self->noticed([path, why = file.errorString()] {
                return tr("%1 cannot be read: %2").arg(path, why);
            });
            continue;
        }
        const QByteArray content = file.read(kMostImportBytes + 1);
        const Result<ChatId> id = importChat(store, content, QFileInfo(path).fileName());
        if (check(id) && path == paths.last()) emit self->chatSelected(*id);
    }
}

}  // namespace hokku::desktop
