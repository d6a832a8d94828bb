// SPDX-License-Identifier: Apache-2.0
#include "settings/settings_page.h"

#include <QComboBox>
#include <QDesktopServices>
#include <QEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QUrl>
#include <QVBoxLayout>

#include "look/page_parts.h"
#include "look/theme.h"
#include "look/wrapping_check_box.h"
#include "settings/data_folder.h"
#include "settings/preset_editor.h"

namespace hokku::desktop {
namespace {

constexpr int kMostContext = 1 << 20, kMostThreads = 1024;

QLabel* heading(const QString& text) {
    QLabel* label = makeHeading(text);
    label->setContentsMargins(0, 3 * kGrid, 0, kGrid);
    return label;
}

}  // namespace

struct SettingsPage::Private {
    Private(SettingsPage* page, const AppFolders& appFolders, Settings& appSettings,
            PresetLibrary& library)
        : self(page), folders(appFolders), settings(appSettings), presets(library) {}

    void build();
    void addAppearance(QVBoxLayout* column);
    void addEngine(QVBoxLayout* column);
    void addPresets(QVBoxLayout* column);
    void addStorage(QVBoxLayout* column);
    void addConversations(QVBoxLayout* column);
    void showWantedFolder();
    void addDraftModel(QFormLayout* form);
    void showDraftModel();

    SettingsPage* self;
    AppFolders folders;
    Settings& settings;
    PresetLibrary& presets;
    QScrollArea* area = nullptr;
    PresetEditor* editor = nullptr;
    QComboBox* draftBox = nullptr;
    QVBoxLayout* wantedFolder = nullptr;  ///< What is said of the next start.
};

SettingsPage::SettingsPage(const AppFolders& folders, Settings& settings, PresetLibrary& presets,
                           QWidget* parent)
    : QWidget(parent), m_private(std::make_unique<Private>(this, folders, settings, presets)) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    m_private->area = makePageArea();
    layout->addWidget(m_private->area);
    m_private->build();
    connect(
        &settings, &Settings::themeChanged, this, [this] { m_private->build(); },
        Qt::QueuedConnection);
    // It is also given up when its file is deleted.
    connect(&settings, &Settings::engineChanged, this, [this] { m_private->showDraftModel(); });
}

SettingsPage::~SettingsPage() = default;

void SettingsPage::showPreset(const QString& key) {
    m_private->editor->show(key);
}

void SettingsPage::chooseDataFolder(const QString& folder) {
    const QString problem = DataFolder::want(m_private->folders, folder);
    if (!problem.isEmpty()) emit noticed([problem] { return problem; });
    m_private->showWantedFolder();
}

void SettingsPage::chooseDraftModel(const QString& path) {
    m_private->settings.setDraftModel(path);
    m_private->showDraftModel();
}

void SettingsPage::changeEvent(QEvent* event) {
    if (event->type() == QEvent::LanguageChange) {
        m_private->presets.reread();
        m_private->build();
    }
    QWidget::changeEvent(event);
}

// ---- Private
// -------------------------------------------------------------------------------------

void SettingsPage::Private::build() {
    QVBoxLayout* column = makeReadingColumn(*area, 0);
    addAppearance(column);
    addPresets(column);
    addConversations(column);
    addEngine(column);
    addStorage(column);
    column->addStretch(1);
    alignForms(*area);
}

void SettingsPage::Private::addAppearance(QVBoxLayout* column) {
    column->addWidget(heading(tr("Appearance")));
    auto* form = new QFormLayout;
    auto* theme = new QComboBox;
    theme->setObjectName(QStringLiteral("themeBox"));
    theme->addItems({tr("As the system"), tr("Light"), tr("Dark")});
    theme->setCurrentIndex(static_cast<int>(settings.theme()));
    QObject::connect(theme, &QComboBox::activated, self,
                     [this](int index) { settings.setTheme(static_cast<ThemeChoice>(index)); });
    addFormRow(*form, tr("Theme"), tr("Light or dark, or what the desktop uses"), theme);

    auto* size = new QSpinBox;
    size->setRange(80, 200);
    size->setSingleStep(10);
    size->setSuffix(tr(" %"));
    size->setValue(settings.fontPercent());
    size->setKeyboardTracking(false);
    QObject::connect(size, &QSpinBox::valueChanged, self,
                     [this](int percent) { settings.setFontPercent(percent); });
    addFormRow(*form, tr("Text size"), tr("Of everything in the window"), size);

    auto* language = new QComboBox;
    language->setObjectName(QStringLiteral("languageBox"));
    language->addItem(tr("As the system"), QString());
    language->addItem(QStringLiteral("English"), QStringLiteral("en"));
    language->addItem(QStringLiteral("Deutsch"), QStringLiteral("de"));
    language->setCurrentIndex(qMax(0, language->findData(settings.language())));
    QObject::connect(language, &QComboBox::activated, self, [this, language] {
        // Later: the page is built anew, and this box with it.
        QMetaObject::invokeMethod(
            self, [this, code = language->currentData().toString()] { settings.setLanguage(code); },
            Qt::QueuedConnection);
    });
    addFormRow(*form, tr("Language"), tr("Of the app; models answer in the language you write"),
               language);
    column->addLayout(form);
}

void SettingsPage::Private::addPresets(QVBoxLayout* column) {
    column->addWidget(heading(tr("How replies are written")));
    column->addWidget(makeRemark(
        tr("A preset is a system prompt with sampling values. Changes hold for the next replies; "
           "save them under a name to keep them.")));
    editor = new PresetEditor(presets, settings);
    QObject::connect(editor, &PresetEditor::noticed, self, &SettingsPage::noticed);
    column->addWidget(editor);
}

void SettingsPage::Private::addConversations(QVBoxLayout* column) {
    column->addWidget(heading(tr("Conversations")));
    auto* form = new QFormLayout;
    auto* overflow = new QComboBox;
    overflow->setObjectName(QStringLiteral("overflowBox"));
    overflow->addItem(tr("Stop and ask me"), static_cast<int>(Overflow::stop));
    overflow->addItem(tr("Leave out the oldest turns"), static_cast<int>(Overflow::drop_oldest));
    overflow->addItem(tr("Summarise the oldest turns"), static_cast<int>(Overflow::summarise));
    overflow->addItem(tr("Enlarge it if the memory allows"), static_cast<int>(Overflow::grow));
    overflow->setCurrentIndex(overflow->findData(static_cast<int>(settings.overflow())));
    QObject::connect(overflow, &QComboBox::activated, self, [this, overflow] {
        settings.setOverflow(static_cast<Overflow>(overflow->currentData().toInt()));
    });
    addFormRow(*form, tr("When the context is full"),
               tr("What happens when a conversation is longer than the model can read; the chat "
                  "says what was done"),
               overflow);
    column->addLayout(form);
    auto* notify = new WrappingCheckBox(tr("Tell me when a long reply has ended"));
    notify->setToolTip(tr("By a notification of the desktop, while you are elsewhere"));
    notify->setObjectName(QStringLiteral("notifyBox"));
    notify->setChecked(settings.notifyWhenDone());
    QObject::connect(notify, &QCheckBox::toggled, self,
                     [this](bool on) { settings.setNotifyWhenDone(on); });
    column->addWidget(notify);
    auto* tray = new WrappingCheckBox(tr("Stay in the tray when the window is closed"));
    tray->setObjectName(QStringLiteral("trayBox"));
    tray->setToolTip(tr("Replies go on, and the model stays loaded, until Hokku is quit"));
    tray->setChecked(settings.trayIcon());
    QObject::connect(tray, &QCheckBox::toggled, self,
                     [this](bool on) { settings.setTrayIcon(on); });
    column->addWidget(tray);
}

void SettingsPage::Private::addEngine(QVBoxLayout* column) {
    column->addWidget(heading(tr("Engine")));
    column->addWidget(makeRemark(tr("Changes here load the model anew.")));
    auto* form = new QFormLayout;
    const auto addNumber = [&](const QString& name, const QString& help, int most, int value,
                               auto change) {
        auto* box = new QSpinBox;
        box->setRange(0, most);
        box->setSpecialValueText(tr("automatic"));
        box->setValue(value);
        box->setKeyboardTracking(false);
        QObject::connect(box, &QSpinBox::editingFinished, self,
                         [box, change] { change(box->value()); });
        addFormRow(*form, name, help, box);
    };
    addNumber(tr("Context"),
              tr("How many tokens of a conversation the model can see; more takes more memory"),
              kMostContext, settings.contextTokens(),
              [this](int tokens) { settings.setContextTokens(tokens); });
    addNumber(tr("Threads"), tr("How many processor cores write; automatic: all fast ones"),
              kMostThreads, settings.numThreads(),
              [this](int count) { settings.setNumThreads(count); });
    auto* type = new QComboBox;
    type->addItem(tr("automatic"), QString());
    type->addItem(tr("32-bit: exact"), QStringLiteral("f32"));
    type->addItem(tr("16-bit: half the memory"), QStringLiteral("f16"));
    type->addItem(tr("8-bit: a quarter of the memory"), QStringLiteral("q8_0"));
    type->addItem(tr("4-bit: an eighth of the memory, less accurate"), QStringLiteral("q4_0"));
    type->setCurrentIndex(qMax(0, type->findData(settings.kvType())));
    QObject::connect(type, &QComboBox::activated, self,
                     [this, type] { settings.setKvType(type->currentData().toString()); });
    addFormRow(*form, tr("Memory of the conversation"),
               tr("How precisely the model keeps what it has read (its key-value cache)"), type);
    addDraftModel(form);
    column->addLayout(form);
    auto* mapping = new WrappingCheckBox(tr("Read models in place from the disk"));
    mapping->setToolTip(
        tr("Faster to load, and the memory is shared. Switch it off for models on "
           "slow or network disks."));
    mapping->setChecked(settings.useMapping());
    QObject::connect(mapping, &QCheckBox::toggled, self,
                     [this](bool on) { settings.setUseMapping(on); });
    column->addWidget(mapping);
}

void SettingsPage::Private::addDraftModel(QFormLayout* form) {
    draftBox = new QComboBox;
    draftBox->setObjectName(QStringLiteral("draftBox"));
    showDraftModel();
    QObject::connect(draftBox, &QComboBox::activated, self, [this](int index) {
        QString path = draftBox->itemData(index).toString();
        if (index > 0 && index == draftBox->count() - 1) {
            path = QFileDialog::getOpenFileName(self, tr("Choose a draft model"), {},
                                                tr("Models (*.gguf)"));
            if (path.isEmpty()) return showDraftModel();
        }
        self->chooseDraftModel(path);
    });
    addFormRow(*form, tr("Draft model"),
               tr("A much smaller model of the same family that guesses what the model writes "
                  "next: the replies are the same, and often come sooner"),
               draftBox);
}

void SettingsPage::Private::showDraftModel() {
    if (draftBox == nullptr) return;
    const QString path = settings.draftModel();
    draftBox->clear();
    draftBox->addItem(tr("none"), QString());
    if (!path.isEmpty()) draftBox->addItem(QFileInfo(path).completeBaseName(), path);
    draftBox->addItem(tr("Choose a file…"));
    draftBox->setCurrentIndex(path.isEmpty() ? 0 : 1);
}

void SettingsPage::Private::addStorage(QVBoxLayout* column) {
    column->addWidget(heading(tr("Storage")));
    column->addWidget(
        makeRemark(tr("Conversations, presets and models are kept on this machine only, in %1")
                       .arg(folders.data)));
    if (folders.isPortable)
        column->addWidget(makeRemark(tr("Portable mode: everything lies beside the program.")));
    auto* row = new QHBoxLayout;
    auto* open = new QPushButton(tr("Open the folder"));
    QObject::connect(open, &QPushButton::clicked, self,
                     [this] { QDesktopServices::openUrl(QUrl::fromLocalFile(folders.data)); });
    open->setToolTip(tr("In the file manager"));
    row->addWidget(open);
    auto* choose = new QPushButton(tr("Keep it elsewhere…"));
    choose->setObjectName(QStringLiteral("chooseFolderButton"));
    choose->setToolTip(
        tr("Choose an empty folder, and everything is copied there at the next start; or one where "
           "Hokku kept conversations before, and those are used"));
    choose->setVisible(folders.isChoosable);
    QObject::connect(choose, &QPushButton::clicked, self, [this] {
        const QString folder = QFileDialog::getExistingDirectory(
            self, tr("A folder for conversations, presets and models"), folders.data);
        if (!folder.isEmpty()) self->chooseDataFolder(folder);
    });
    row->addWidget(choose);
    row->addStretch(1);
    column->addLayout(row);
    if (!folders.isChoosable && !folders.isPortable)
        column->addWidget(makeRemark(tr("HOKKU_HOME names this folder.")));
    wantedFolder = new QVBoxLayout;
    column->addLayout(wantedFolder);
    showWantedFolder();
}

void SettingsPage::Private::showWantedFolder() {
    while (QLayoutItem* item = wantedFolder->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    const QString folder = folders.isChoosable ? DataFolder::wanted(folders) : QString();
    if (folder.isEmpty()) return;
    const bool isThere = DataFolder::isLibrary(folder);
    QLabel* remark = makeRemark(
        isThere
            ? tr("From the next start: %1, with the conversations that lie there. Those of today "
                 "stay where they are.")
                  .arg(folder)
            : tr("At the next start everything is copied to %1 and checked, and is used from "
                 "there. What lies here stays until you delete it.")
                  .arg(folder));
    remark->setObjectName(QStringLiteral("wantedFolder"));
    wantedFolder->addWidget(remark);
    auto* keep = new QPushButton(tr("Leave it where it is"));
    keep->setObjectName(QStringLiteral("keepFolderButton"));
    keep->setToolTip(tr("Nothing is copied at the next start"));
    // Later: the button goes with the remark.
    QObject::connect(
        keep, &QPushButton::clicked, self,
        [this] {
            DataFolder::keepPresent(folders);
            showWantedFolder();
        },
        Qt::QueuedConnection);
    wantedFolder->addWidget(keep, 0, Qt::AlignLeft);
}

}  // namespace hokku::desktop
