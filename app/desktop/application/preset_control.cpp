// SPDX-License-Identifier: Apache-2.0
#include "application/preset_control.h"

namespace hokku::desktop {
namespace {

/// Of a system prompt, in a tooltip.
constexpr qsizetype kLongestHelp = 200;

}  // namespace

PresetControl::PresetControl(PresetLibrary& library, ChatSession& session, PresetButton& button,
                             QObject* parent)
    : QObject(parent), m_library(library), m_session(session), m_button(button) {
    connect(&button, &PresetButton::chosen, this, [this](const QString& key) {
        const Preset& preset = m_library.preset(key);
        m_session.choosePreset(preset.key);
        apply();
        emit chosen(preset);
    });
    connect(&library, &PresetLibrary::presetChanged, this, [this](const QString& key) {
        if (key == current().key || key == m_session.record().preset) apply();
    });
    connect(&library, &PresetLibrary::listChanged, this, &PresetControl::apply);
    // A conversation that has not begun has the preset for new ones.
    connect(&library, &PresetLibrary::defaultChanged, this, [this] {
        if (m_session.chat() != 0) return;
        m_session.choosePreset(m_library.defaultKey());
        apply();
    });
}

const Preset& PresetControl::current() const {
    return m_library.preset(m_session.record().preset);
}

void PresetControl::applyToChat() {
    const QString key = m_session.record().preset;
    if (m_session.chat() == 0) m_session.choosePreset(m_library.defaultKey());
    apply();
    if (!key.isEmpty() && !m_library.contains(key)) emit missing(key, current().name);
}

void PresetControl::apply() {
    const Preset& preset = current();
    m_session.setSampling(preset.sampling, preset.maxTokens, preset.thoughtBudget);
    m_session.setPresetPrompt(preset.systemPrompt);
    showChoices();
}

void PresetControl::showChoices() {
    QVector<PresetButton::Choice> choices;
    for (const Preset& preset : m_library.presets())
        choices.append({preset.key, preset.name, preset.systemPrompt.left(kLongestHelp)});
    m_button.setChoices(choices, current().key);
}

}  // namespace hokku::desktop
