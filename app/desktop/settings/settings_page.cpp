// SPDX-License-Identifier: Apache-2.0
#include "settings/settings_page.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDesktopServices>
#include <QDoubleSpinBox>
#include <QEvent>
#include <QFile>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QInputDialog>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QUrl>
#include <QVBoxLayout>

#include "look/engine_text.h"
#include "look/page_parts.h"
#include "look/theme.h"
#include "settings/sampling_fields.h"

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
    Private(SettingsPage* page, const AppFolders& appFolders, Settings& appSettings)
        : self(page), folders(appFolders), settings(appSettings) {}

    void build();
    void addAppearance(QVBoxLayout* column);
    void addEngine(QVBoxLayout* column);
    void addPresets(QVBoxLayout* column);
    void addStorage(QVBoxLayout* column);
    void addPresetButtons(QVBoxLayout* column);
    void readPresetList();
    void showPreset(int index);
    void presetEdited();
    void savePresetAs();
    void importPreset();
    void exportPreset();
    void removePreset();
    template <class T>
    bool check(const Result<T>& result) {
        if (!result.ok()) emit self->noticed(errorText(result.error()));
        return result.ok();
    }

    SettingsPage* self;
    AppFolders folders;
    Settings& settings;
    QScrollArea* area = nullptr;
    QVector<Preset> presets;
    Preset current;
    QComboBox* presetBox = nullptr;
    QPlainTextEdit* systemPrompt = nullptr;
    QSpinBox* maxTokens = nullptr;
    QVector<QPair<SamplingField, QDoubleSpinBox*>> fields;
    QPushButton* deleteButton = nullptr;
    bool isFilling = false;
};

SettingsPage::SettingsPage(const AppFolders& folders, Settings& settings, QWidget* parent)
    : QWidget(parent), m_private(std::make_unique<Private>(this, folders, settings)) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    m_private->area = makePageArea();
    layout->addWidget(m_private->area);
    m_private->build();
    connect(
        &settings, &Settings::themeChanged, this, [this] { m_private->build(); },
        Qt::QueuedConnection);
}

SettingsPage::~SettingsPage() = default;

Preset SettingsPage::currentPreset() const {
    return m_private->current;
}

void SettingsPage::changeEvent(QEvent* event) {
    if (event->type() == QEvent::LanguageChange) m_private->build();
    QWidget::changeEvent(event);
}

// ---- Private
// -------------------------------------------------------------------------------------

void SettingsPage::Private::build() {
    QVBoxLayout* column = makeReadingColumn(*area, 0);
    addAppearance(column);
    addPresets(column);
    addEngine(column);
    addStorage(column);
    column->addStretch(1);
    alignForms(*area);
    readPresetList();
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
    auto* notify = new QCheckBox(tr("Tell me when a reply has ended while I am elsewhere"));
    notify->setChecked(settings.notifyWhenDone());
    QObject::connect(notify, &QCheckBox::toggled, self,
                     [this](bool on) { settings.setNotifyWhenDone(on); });
    column->addWidget(notify);
}

void SettingsPage::Private::addPresets(QVBoxLayout* column) {
    column->addWidget(heading(tr("How replies are written")));
    column->addWidget(makeRemark(
        tr("A preset is a system prompt with sampling values. Changes hold for the next replies; "
           "save them under a name to keep them.")));
    auto* form = new QFormLayout;
    presetBox = new QComboBox;
    presetBox->setObjectName(QStringLiteral("presetBox"));
    QObject::connect(presetBox, &QComboBox::activated, self,
                     [this](int index) { showPreset(index); });
    addFormRow(*form, tr("Preset"), tr("Used for new chats and the next replies"), presetBox);

    systemPrompt = new QPlainTextEdit;
    systemPrompt->setObjectName(QStringLiteral("systemPromptEdit"));
    systemPrompt->setTabChangesFocus(true);
    systemPrompt->setFixedHeight(5 * Theme::instance().textFont().pointSize() * 2);
    QObject::connect(systemPrompt, &QPlainTextEdit::textChanged, self, [this] { presetEdited(); });
    addFormRow(*form, tr("System prompt"), tr("What the model is told before every conversation"),
               systemPrompt);
    maxTokens = new QSpinBox;
    maxTokens->setRange(0, 1'000'000);
    maxTokens->setSpecialValueText(tr("until it ends"));
    QObject::connect(maxTokens, &QSpinBox::valueChanged, self, [this] { presetEdited(); });
    addFormRow(*form, tr("Longest reply"), tr("In tokens; most words are one or two"), maxTokens);

    fields.clear();
    for (const SamplingField& field : samplingFields()) {
        auto* box = new QDoubleSpinBox;
        box->setObjectName(QLatin1String(field.key));
        box->setDecimals(field.decimals);
        box->setRange(field.least, field.most);
        box->setSingleStep(field.step);
        QObject::connect(box, &QDoubleSpinBox::valueChanged, self, [this] { presetEdited(); });
        addFormRow(*form, field.name, field.help, box);
        fields.append({field, box});
    }
    column->addLayout(form);
    addPresetButtons(column);
}

void SettingsPage::Private::addPresetButtons(QVBoxLayout* column) {
    auto* row = new QHBoxLayout;
    const auto add = [&](const QString& text, auto action) {
        auto* button = new QPushButton(text);
        QObject::connect(button, &QPushButton::clicked, self, action);
        row->addWidget(button);
        return button;
    };
    add(tr("Save as…"), [this] { savePresetAs(); });
    add(tr("Import…"), [this] { importPreset(); });
    add(tr("Export…"), [this] { exportPreset(); });
    deleteButton = add(tr("Delete"), [this] { removePreset(); });
    row->addStretch(1);
    column->addLayout(row);
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
    addNumber(tr("Threads"), tr("How many processor cores write; automatic: all real ones"),
              kMostThreads, settings.numThreads(),
              [this](int count) { settings.setNumThreads(count); });
    auto* type = new QComboBox;
    type->addItem(tr("32-bit: exact"), QStringLiteral("f32"));
    type->addItem(tr("16-bit: half the memory"), QStringLiteral("f16"));
    type->addItem(tr("8-bit: a quarter of the memory"), QStringLiteral("q8_0"));
    type->setCurrentIndex(qMax(0, type->findData(settings.kvType())));
    QObject::connect(type, &QComboBox::activated, self,
                     [this, type] { settings.setKvType(type->currentData().toString()); });
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
    addFormRow(
        *form, tr("When the context is full"),
        tr("What happens when a conversation is longer than the model can read; the chat says "
           "what was done"),
        overflow);
    addFormRow(*form, tr("Memory of the conversation"),
               tr("How precisely the model keeps what it has read (its key-value cache)"), type);
    column->addLayout(form);
    auto* mapping = new QCheckBox(tr("Read models in place from the disk"));
    mapping->setToolTip(
        tr("Faster to load, and the memory is shared. Switch it off for models on "
           "slow or network disks."));
    mapping->setChecked(settings.useMapping());
    QObject::connect(mapping, &QCheckBox::toggled, self,
                     [this](bool on) { settings.setUseMapping(on); });
    column->addWidget(mapping);
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
    row->addWidget(open);
    row->addStretch(1);
    column->addLayout(row);
}

void SettingsPage::Private::readPresetList() {
    const PresetList list = readPresets(folders.presets());
    presets = list.presets;
    presetBox->clear();
    for (const Preset& preset : presets) presetBox->addItem(preset.name);
    const QString chosen = settings.value(QStringLiteral("preset")).toString();
    showPreset(qMax(0, presetBox->findText(chosen)));
    for (const QString& problem : list.problems) emit self->noticed(problem);
}

void SettingsPage::Private::showPreset(int index) {
    isFilling = true;
    current = presets[index];
    presetBox->setCurrentIndex(index);
    systemPrompt->setPlainText(current.systemPrompt);
    maxTokens->setValue(static_cast<int>(current.maxTokens));
    for (const auto& [field, box] : fields) box->setValue(field.get(current.sampling));
    deleteButton->setEnabled(!current.isBuiltIn);
    isFilling = false;
    settings.setValue(QStringLiteral("preset"), current.name);
    emit self->presetChanged(current);
}

void SettingsPage::Private::presetEdited() {
    if (isFilling) return;
    current.systemPrompt = systemPrompt->toPlainText();
    current.maxTokens = static_cast<uint32_t>(maxTokens->value());
    for (const auto& [field, box] : fields) field.set(current.sampling, box->value());
    emit self->presetChanged(current);
}

void SettingsPage::Private::savePresetAs() {
    const QString name =
        QInputDialog::getText(self, tr("Save the preset"), tr("Name"), QLineEdit::Normal,
                              current.isBuiltIn ? QString() : current.name)
            .trimmed();
    if (name.isEmpty()) return;
    Preset saved = current;
    saved.name = name;
    saved.isBuiltIn = false;
    if (!check(writePreset(folders.presets(), saved))) return;
    settings.setValue(QStringLiteral("preset"), name);
    readPresetList();
}

void SettingsPage::Private::importPreset() {
    const QString path =
        QFileDialog::getOpenFileName(self, tr("Import a preset"), {}, tr("Presets (*.json)"));
    if (path.isEmpty()) return;
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) {
        emit self->noticed(tr("%1 cannot be read: %2").arg(path, file.errorString()));
        return;
    }
    const Result<Preset> preset = parsePreset(file.readAll(), path);
    if (!check(preset) || !check(writePreset(folders.presets(), *preset))) return;
    settings.setValue(QStringLiteral("preset"), preset->name);
    readPresetList();
}

void SettingsPage::Private::exportPreset() {
    const QString path = QFileDialog::getSaveFileName(self, tr("Export the preset"),
                                                      current.name + QStringLiteral(".json"));
    if (path.isEmpty()) return;
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(presetToJson(current)) < 0)
        emit self->noticed(tr("%1 cannot be written: %2").arg(path, file.errorString()));
}

void SettingsPage::Private::removePreset() {
    if (current.isBuiltIn || !check(deletePreset(folders.presets(), current))) return;
    settings.setValue(QStringLiteral("preset"), QString());
    readPresetList();
}

}  // namespace hokku::desktop
