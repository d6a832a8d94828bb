// SPDX-License-Identifier: Apache-2.0
#include "settings/preset_editor.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>

#include "look/engine_text.h"
#include "look/flow_layout.h"
#include "look/page_parts.h"
#include "look/theme.h"
#include "settings/sampler_order_list.h"
#include "settings/sampling_fields.h"

namespace hokku::desktop {
namespace {

constexpr int kMostTokens = 1'000'000;
const QString kUnfoldedSetting = QStringLiteral("presets/unfolded");

}  // namespace

struct PresetEditor::Private {
    Private(PresetEditor* editor, PresetLibrary& presets, Settings& appSettings)
        : self(editor), library(presets), settings(appSettings) {}

    void build();
    void addBasics(QFormLayout& form);
    void addField(QFormLayout& form, const SamplingField& field);
    QWidget* makeMore();
    void addDraw(QFormLayout& form);
    void addButtons(QVBoxLayout* column);
    void fillList();
    void fillModels();
    void fill();
    void edited();
    void saveAs();
    void import();
    void exportCurrent();
    void remove();
    template <class T>
    bool check(const Result<T>& result) {
        if (!result.ok()) emit self->noticed([error = result.error()] { return errorText(error); });
        return result.ok();
    }
    [[nodiscard]] const Preset& current() const { return library.preset(key); }

    PresetEditor* self;
    PresetLibrary& library;
    Settings& settings;
    QString key;
    QComboBox *presetBox = nullptr, *modelBox = nullptr;
    QPlainTextEdit* systemPrompt = nullptr;
    QSpinBox *maxTokens = nullptr, *thoughtBudget = nullptr;
    QVector<QPair<SamplingField, QDoubleSpinBox*>> fields;
    QLineEdit *breakers = nullptr, *bias = nullptr;
    SamplerOrderList* order = nullptr;
    QPushButton* deleteButton = nullptr;
    bool isFilling = false;
};

PresetEditor::PresetEditor(PresetLibrary& library, Settings& settings)
    : m_private(std::make_unique<Private>(this, library, settings)) {
    Private& p = *m_private;
    p.key = library.defaultKey();
    p.build();
    p.fillList();
    connect(&library, &PresetLibrary::listChanged, this, [&p] { p.fillList(); });
    connect(&settings, &Settings::changed, this, [&p] { p.fillModels(); });
}

PresetEditor::~PresetEditor() = default;

QString PresetEditor::currentKey() const {
    return m_private->key;
}

void PresetEditor::show(const QString& key) {
    m_private->key = m_private->library.preset(key).key;
    m_private->fillList();
}

// ---- Private
// -------------------------------------------------------------------------------------

void PresetEditor::Private::build() {
    auto* column = new QVBoxLayout(self);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(kGrid);
    auto* form = new QFormLayout;
    addBasics(*form);
    column->addLayout(form);

    auto* unfold = new QToolButton;
    unfold->setObjectName(QStringLiteral("moreSamplingButton"));
    unfold->setText(tr("All sampling values"));
    unfold->setToolTip(tr("Every way to choose words that the engine knows, for experts"));
    unfold->setCheckable(true);
    unfold->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    QWidget* more = makeMore();
    const auto fold = [unfold, more](bool isUnfolded) {
        unfold->setIcon(Theme::instance().icon(isUnfolded ? QStringLiteral("control-up")
                                                          : QStringLiteral("control-down")));
        more->setVisible(isUnfolded);
    };
    unfold->setChecked(settings.value(kUnfoldedSetting).toBool());
    fold(unfold->isChecked());
    QObject::connect(unfold, &QToolButton::toggled, self, [this, fold](bool isUnfolded) {
        fold(isUnfolded);
        settings.setValue(kUnfoldedSetting, isUnfolded);
    });
    column->addWidget(unfold, 0, Qt::AlignLeft);
    column->addWidget(more);
    addButtons(column);
}

void PresetEditor::Private::addBasics(QFormLayout& form) {
    presetBox = new QComboBox;
    presetBox->setObjectName(QStringLiteral("presetBox"));
    QObject::connect(presetBox, &QComboBox::activated, self, [this](int index) {
        key = presetBox->itemData(index).toString();
        library.setDefault(key);
        fill();
    });
    addFormRow(form, tr("Preset"), tr("Used for new chats; every chat can have another one"),
               presetBox);
    systemPrompt = new QPlainTextEdit;
    systemPrompt->setObjectName(QStringLiteral("systemPromptEdit"));
    systemPrompt->setTabChangesFocus(true);
    systemPrompt->setFixedHeight(5 * Theme::instance().textFont().pointSize() * 2);
    QObject::connect(systemPrompt, &QPlainTextEdit::textChanged, self, [this] { edited(); });
    addFormRow(form, tr("System prompt"), tr("What the model is told before every conversation"),
               systemPrompt);
    modelBox = new QComboBox;
    modelBox->setObjectName(QStringLiteral("presetModelBox"));
    QObject::connect(modelBox, &QComboBox::activated, self, [this] { edited(); });
    addFormRow(form, tr("Model"), tr("The model that is loaded when the preset is chosen"),
               modelBox);
    for (const SamplingField& field : samplingFields())
        if (field.group == SamplingGroup::basic) addField(form, field);
    maxTokens = new QSpinBox;
    maxTokens->setObjectName(QStringLiteral("maxTokensBox"));
    maxTokens->setRange(0, kMostTokens);
    maxTokens->setSpecialValueText(tr("until it ends"));
    addFormRow(form, tr("Longest reply"), tr("In tokens; most words are one or two"), maxTokens);
    thoughtBudget = new QSpinBox;
    thoughtBudget->setObjectName(QStringLiteral("thoughtBudgetBox"));
    thoughtBudget->setRange(-1, kMostTokens);
    thoughtBudget->setSpecialValueText(tr("no limit"));
    addFormRow(form, tr("Longest thought"),
               tr("For models that think before they answer, in tokens; then the answer begins. "
                  "0: no thoughts."),
               thoughtBudget);
    for (QSpinBox* box : {maxTokens, thoughtBudget})
        QObject::connect(box, &QSpinBox::valueChanged, self, [this] { edited(); });
}

void PresetEditor::Private::addField(QFormLayout& form, const SamplingField& field) {
    auto* box = new QDoubleSpinBox;
    box->setObjectName(QLatin1String(field.key));
    box->setDecimals(field.decimals);
    box->setRange(field.least, field.most);
    box->setSingleStep(field.step);
    box->setSpecialValueText(field.leastName);
    QObject::connect(box, &QDoubleSpinBox::valueChanged, self, [this] { edited(); });
    addFormRow(form, field.name, field.help, box);
    fields.append({field, box});
}

/// The groups that a beginner need not see.
QWidget* PresetEditor::Private::makeMore() {
    auto* more = new QWidget;
    auto* column = new QVBoxLayout(more);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(kGrid);
    for (const SamplingGroup group :
         {SamplingGroup::choice, SamplingGroup::repetition, SamplingGroup::variety,
          SamplingGroup::mirostat, SamplingGroup::draw}) {
        auto* title = new QLabel(samplingGroupName(group));
        title->setObjectName(QStringLiteral("heading"));
        title->setContentsMargins(0, kGrid, 0, 0);
        column->addWidget(title);
        auto* form = new QFormLayout;
        for (const SamplingField& field : samplingFields())
            if (field.group == group) addField(*form, field);
        if (group == SamplingGroup::repetition) {
            breakers = new QLineEdit;
            breakers->setObjectName(QStringLiteral("dry_breakers"));
            QObject::connect(breakers, &QLineEdit::editingFinished, self, [this] { edited(); });
            addFormRow(*form, tr("DRY breakers"),
                       tr("Texts across which no run reaches, separated by spaces; \\n is a new "
                          "line, \\s a space"),
                       breakers);
        }
        if (group == SamplingGroup::draw) addDraw(*form);
        column->addLayout(form);
    }
    return more;
}

void PresetEditor::Private::addDraw(QFormLayout& form) {
    bias = new QLineEdit;
    bias->setObjectName(QStringLiteral("logit_bias"));
    bias->setPlaceholderText(tr("none"));
    QObject::connect(bias, &QLineEdit::editingFinished, self, [this] { edited(); });
    addFormRow(form, tr("Token bias"),
               tr("Makes single tokens likelier or less likely, by their numbers in the model: "
                  "1234=-5 77=2. From -100, which forbids one, to 100."),
               bias);
    order = new SamplerOrderList;
    order->setObjectName(QStringLiteral("samplerOrder"));
    QObject::connect(order, &SamplerOrderList::edited, self, [this] { edited(); });
    addFormRow(form, tr("Order"),
               tr("The order in which the values take effect. Drag a step, or move it with Alt and "
                  "the arrow keys; a step without a tick does nothing."),
               order);
}

void PresetEditor::Private::addButtons(QVBoxLayout* column) {
    auto* row = new FlowLayout(kGrid);
    const auto add = [&](const char* name, const QString& text, auto action) {
        auto* button = new QPushButton(text);
        button->setObjectName(QLatin1String(name));
        QObject::connect(button, &QPushButton::clicked, self, action);
        row->addWidget(button);
        return button;
    };
    add("savePresetButton", tr("Save as…"), [this] { saveAs(); });
    add("importPresetButton", tr("Import…"), [this] { import(); });
    add("exportPresetButton", tr("Export…"), [this] { exportCurrent(); });
    deleteButton = add("deletePresetButton", tr("Delete"), [this] { remove(); });
    column->addLayout(row);
}

void PresetEditor::Private::fillList() {
    presetBox->clear();
    for (const Preset& preset : library.presets()) presetBox->addItem(preset.name, preset.key);
    key = current().key;
    presetBox->setCurrentIndex(presetBox->findData(key));
    fill();
}

/// Any model, that of the preset, and the one that is used now.
void PresetEditor::Private::fillModels() {
    modelBox->clear();
    modelBox->addItem(tr("any"), QString());
    for (const QString& path : {current().modelPath, settings.modelPath()})
        if (!path.isEmpty() && modelBox->findData(path) < 0)
            modelBox->addItem(QFileInfo(path).completeBaseName(), path);
    modelBox->setCurrentIndex(modelBox->findData(current().modelPath));
}

void PresetEditor::Private::fill() {
    isFilling = true;
    const Preset preset = current();
    systemPrompt->setPlainText(preset.systemPrompt);
    fillModels();
    maxTokens->setValue(static_cast<int>(preset.maxTokens));
    thoughtBudget->setValue(preset.thoughtBudget ? static_cast<int>(*preset.thoughtBudget) : -1);
    for (const auto& [field, box] : fields) box->setValue(field.get(preset.sampling));
    breakers->setText(breakersToText(preset.sampling.dry_breakers));
    bias->setText(biasToText(preset.sampling.logit_bias));
    order->setOrder(preset.sampling.order);
    deleteButton->setEnabled(!preset.isBuiltIn());
    isFilling = false;
}

void PresetEditor::Private::edited() {
    if (isFilling) return;
    Preset preset = current();
    preset.systemPrompt = systemPrompt->toPlainText();
    preset.modelPath = modelBox->currentData().toString();
    preset.maxTokens = static_cast<uint32_t>(maxTokens->value());
    preset.thoughtBudget.reset();
    if (thoughtBudget->value() >= 0)
        preset.thoughtBudget = static_cast<uint32_t>(thoughtBudget->value());
    for (const auto& [field, box] : fields) field.set(preset.sampling, box->value());
    preset.sampling.dry_breakers = breakersFromText(breakers->text());
    preset.sampling.logit_bias = biasFromText(bias->text());
    preset.sampling.order = order->order();
    library.change(preset);
}

void PresetEditor::Private::saveAs() {
    const Preset preset = current();
    const QString name =
        QInputDialog::getText(self, tr("Save the preset"), tr("Name"), QLineEdit::Normal,
                              preset.isBuiltIn() ? QString() : preset.name)
            .trimmed();
    if (name.isEmpty()) return;
    Preset saved = preset;
    saved.name = name;
    const Result<QString> savedKey = library.save(saved);
    if (!check(savedKey)) return;
    library.setDefault(*savedKey);
    self->show(*savedKey);
}

void PresetEditor::Private::import() {
    const QString path =
        QFileDialog::getOpenFileName(self, tr("Import a preset"), {}, tr("Presets (*.json)"));
    if (path.isEmpty()) return;
    const Result<QString> imported = library.import(path);
    if (!check(imported)) return;
    library.setDefault(*imported);
    self->show(*imported);
}

void PresetEditor::Private::exportCurrent() {
    const QString path = QFileDialog::getSaveFileName(self, tr("Export the preset"),
                                                      current().name + QStringLiteral(".json"));
    if (path.isEmpty()) return;
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(presetToJson(current())) < 0)
        emit self->noticed([path, why = file.errorString()] {
            return tr("%1 cannot be written: %2").arg(path, why);
        });
}

void PresetEditor::Private::remove() {
    if (current().isBuiltIn()) return;
    check(library.remove(key));
}

}  // namespace hokku::desktop
