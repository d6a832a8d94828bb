// SPDX-License-Identifier: Apache-2.0
// PresetLibrary: the presets there are, the one for new chats, and what was changed in them and
// not saved yet.
#pragma once

#include <QHash>
#include <QObject>

#include "hokku/sampling.h"
#include "settings/preset.h"
#include "settings/settings.h"

namespace hokku::desktop {

/// Never empty: the built-in presets are always there.
///
/// Threads: the UI thread. `settings` must outlive it.
class PresetLibrary : public QObject {
    Q_OBJECT

  public:
    /// `folder`: where presets are kept.
    PresetLibrary(const QString& folder, Settings& settings, QObject* parent = nullptr);

    [[nodiscard]] const QVector<Preset>& presets() const { return m_presets; }
    [[nodiscard]] bool contains(const QString& key) const;
    /// The default one where there is none of that key.
    [[nodiscard]] const Preset& preset(const QString& key) const;
    [[nodiscard]] QString defaultKey() const;
    void setDefault(const QString& key);

    /// The standard preset has them from now on, unless a person has changed it.
    void setModelDefaults(const SamplingDefaults& defaults);
    /// Holds until the program ends, or for good once it is saved.
    void change(const Preset& preset);
    /// Under its name, as a preset that is not built in; returns its key.
    Result<QString> save(const Preset& preset);
    Result<QString> import(const QString& path);
    Result<void> remove(const QString& key);
    /// Files that could not be read when the list was made.
    [[nodiscard]] const QVector<NoticeWords>& problems() const { return m_problems; }
    void reread();  ///< Also after a change of language.

  signals:
    void listChanged();
    void presetChanged(const QString& key);
    void defaultChanged();

  private:
    QString m_folder;
    Settings& m_settings;
    SamplingDefaults m_modelDefaults;
    QVector<Preset> m_presets;
    QHash<QString, Preset> m_changed;  ///< By key, not saved.
    QVector<NoticeWords> m_problems;
};

}  // namespace hokku::desktop
