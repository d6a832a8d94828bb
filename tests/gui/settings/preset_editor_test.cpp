// SPDX-License-Identifier: Apache-2.0
#include "settings/preset_editor.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "gui/support/application.h"
#include "gui/support/catch_qt.h"
#include "settings/sampler_order_list.h"
#include "settings/sampling_fields.h"

using namespace hokku;
using namespace hokku::desktop;
using namespace hokku::testing;

namespace {

struct Fixture {
    QApplication& app = application();
    QTemporaryDir folder;
    Settings settings{folder.filePath(QStringLiteral("settings.ini"))};
    PresetLibrary library{folder.path(), settings};
    std::unique_ptr<PresetEditor> editor = std::make_unique<PresetEditor>(library, settings);

    Fixture() { editor->QWidget::show(); }
    template <class Widget>
    Widget* find(const char* name) {
        auto* widget = editor->findChild<Widget*>(QLatin1String(name));
        INFO(name);
        REQUIRE(widget != nullptr);
        return widget;
    }
    [[nodiscard]] const Preset& current() const { return library.preset(editor->currentKey()); }
};

}  // namespace

TEST_CASE("PresetEditor: a beginner sees few values, an expert all", "[gui][quick]") {
    Fixture f;
    CHECK(f.find<QDoubleSpinBox>("temperature")->isVisible());
    for (const SamplingField& field : samplingFields()) {
        INFO(field.key);
        CHECK(f.find<QDoubleSpinBox>(field.key)->isVisible() ==
              (field.group == SamplingGroup::basic));
    }
    f.find<QToolButton>("moreSamplingButton")->click();
    for (const SamplingField& field : samplingFields()) {
        INFO(field.key);
        auto* box = f.find<QDoubleSpinBox>(field.key);
        CHECK(box->isVisible());
        CHECK(box->toolTip() == field.help);
        CHECK(box->accessibleName() == field.name);
    }
    // Remembered.
    f.editor = std::make_unique<PresetEditor>(f.library, f.settings);
    f.editor->QWidget::show();
    CHECK(f.find<QDoubleSpinBox>("dry_base")->isVisible());
}

TEST_CASE("PresetEditor: what is edited is in the preset at once", "[gui][quick]") {
    Fixture f;
    for (const SamplingField& field : samplingFields()) {
        INFO(field.key);
        auto* box = f.find<QDoubleSpinBox>(field.key);
        box->setValue(field.least + field.step);
        CHECK(field.get(f.current().sampling) == Approx(box->value()).margin(1e-6));
    }
    f.find<QPlainTextEdit>("systemPromptEdit")->setPlainText(QStringLiteral("Be brief."));
    CHECK(f.current().systemPrompt == QStringLiteral("Be brief."));
    f.find<QSpinBox>("thoughtBudgetBox")->setValue(100);
    CHECK(f.current().thoughtBudget == 100u);
    f.find<QSpinBox>("thoughtBudgetBox")->setValue(-1);
    CHECK_FALSE(f.current().thoughtBudget.has_value());
    auto* breakers = f.find<QLineEdit>("dry_breakers");
    breakers->setText(QStringLiteral("\\n ."));
    emit breakers->editingFinished();
    CHECK(f.current().sampling.dry_breakers == std::vector<std::string>{"\n", "."});
    auto* bias = f.find<QLineEdit>("logit_bias");
    bias->setText(QStringLiteral("7=-2.5"));
    emit bias->editingFinished();
    CHECK(f.current().sampling.logit_bias == std::vector<std::pair<int32_t, float>>{{7, -2.5f}});
}

TEST_CASE("PresetEditor: steps are moved by key and switched off", "[gui][quick]") {
    Fixture f;
    auto* order = f.find<SamplerOrderList>("samplerOrder");
    const std::vector<SamplerStep> standard = SamplingOptions().order;
    CHECK(order->order() == standard);
    order->setCurrentRow(0);
    QTest::keyClick(order, Qt::Key_Down, Qt::AltModifier);
    CHECK(f.current().sampling.order[0] == standard[1]);
    CHECK(f.current().sampling.order[1] == standard[0]);
    CHECK(order->currentRow() == 1);
    order->item(0)->setCheckState(Qt::Unchecked);
    CHECK(f.current().sampling.order.size() == standard.size() - 1);
    CHECK(f.current().sampling.order.front() == standard[0]);
    QTest::keyClick(order, Qt::Key_Up, Qt::AltModifier);
    QTest::keyClick(order, Qt::Key_Up, Qt::AltModifier);  // it is the first already
    CHECK(order->currentRow() == 0);
}

TEST_CASE("PresetEditor: another preset shows its own values and becomes the default",
          "[gui][quick]") {
    Fixture f;
    auto* box = f.find<QComboBox>("presetBox");
    const int verse = box->findData(QStringLiteral(":verse"));
    REQUIRE(verse > 0);
    box->setCurrentIndex(verse);
    emit box->activated(verse);
    CHECK(f.find<QDoubleSpinBox>("temperature")->value() == Approx(0.9));
    CHECK(
        f.find<QPlainTextEdit>("systemPromptEdit")->toPlainText().contains(QStringLiteral("poet")));
    CHECK(f.library.defaultKey() == QStringLiteral(":verse"));
    CHECK(f.current().sampling.top_k == 40);  // showing changes nothing
}

TEST_CASE("PresetEditor: a preset can want the model that is used now", "[gui][quick]") {
    Fixture f;
    f.settings.setModelPath(QStringLiteral("/models/small.gguf"));
    f.editor->show(QStringLiteral(":standard"));
    auto* box = f.find<QComboBox>("presetModelBox");
    REQUIRE(box->count() == 2);
    CHECK(box->itemText(1) == QStringLiteral("small"));
    box->setCurrentIndex(1);
    emit box->activated(1);
    CHECK(f.current().modelPath == QStringLiteral("/models/small.gguf"));
}
