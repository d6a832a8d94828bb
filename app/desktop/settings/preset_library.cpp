// SPDX-License-Identifier: Apache-2.0
#include "settings/preset_library.h"

#include <QFile>
#include <algorithm>

namespace hokku::desktop {
namespace {

const QString kDefaultSetting = QStringLiteral("preset");

}  // namespace

PresetLibrary::PresetLibrary(const QString& folder, Settings& settings, QObject* parent)
    : QObject(parent), m_folder(folder), m_settings(settings) {
    reread();
}

void PresetLibrary::reread() {
    const PresetList list = readPresets(m_folder);
    m_presets = list.presets;
    m_problems = list.problems;
    m_modelDefaults.apply_to(m_presets.first().sampling);
    for (Preset& preset : m_presets) {
        const auto changed = m_changed.constFind(preset.key);
        if (changed == m_changed.constEnd()) continue;
        const QString name = preset.name;  // in the language of now
        preset = *changed;
        preset.name = name;
    }
    emit listChanged();
}

void PresetLibrary::setModelDefaults(const SamplingDefaults& defaults) {
    if (m_modelDefaults == defaults) return;
    m_modelDefaults = defaults;
    reread();
}

bool PresetLibrary::contains(const QString& key) const {
    return std::any_of(m_presets.begin(), m_presets.end(),
                       [&](const Preset& preset) { return preset.key == key; });
}

const Preset& PresetLibrary::preset(const QString& key) const {
    const auto find = [this](const QString& wanted) {
        return std::find_if(m_presets.begin(), m_presets.end(),
                            [&](const Preset& preset) { return preset.key == wanted; });
    };
    auto found = find(key);
    if (found == m_presets.end()) found = find(defaultKey());
    return found == m_presets.end() ? m_presets.first() : *found;
}

QString PresetLibrary::defaultKey() const {
    const QString key = m_settings.value(kDefaultSetting).toString();
    return contains(key) ? key : m_presets.first().key;
}

void PresetLibrary::setDefault(const QString& key) {
    if (key == defaultKey()) return;
    m_settings.setValue(kDefaultSetting, key);
    emit defaultChanged();
}

void PresetLibrary::change(const Preset& preset) {
    for (Preset& own : m_presets) {
        if (own.key != preset.key) continue;
        own = preset;
        m_changed.insert(preset.key, preset);
        emit presetChanged(preset.key);
    }
}

Result<QString> PresetLibrary::save(const Preset& preset) {
    Preset saved = preset;
    saved.key = saved.name;
    if (Result<void> written = writePreset(m_folder, saved); !written.ok()) return written.error();
    m_changed.remove(preset.key);  // a built-in one is what it was again
    m_changed.remove(saved.key);
    reread();
    emit presetChanged(preset.key);
    if (saved.key != preset.key) emit presetChanged(saved.key);
    return saved.key;
}

Result<QString> PresetLibrary::import(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return Error{ErrorCode::io,
                     "the preset cannot be read: " + file.errorString().toStdString(),
                     path.toStdString(), ""};
    Result<Preset> preset = parsePreset(file.read(kMostPresetBytes + 1), path);
    if (!preset.ok()) return preset.error();
    return save(*preset);
}

Result<void> PresetLibrary::remove(const QString& key) {
    if (Result<void> removed = deletePreset(m_folder, preset(key)); !removed.ok()) return removed;
    m_changed.remove(key);
    reread();
    emit presetChanged(key);
    return {};
}

}  // namespace hokku::desktop
