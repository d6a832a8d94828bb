// SPDX-License-Identifier: Apache-2.0
// SettingsPage: everything that a person can choose, in plain words, with the presets.
#pragma once

#include <QWidget>
#include <memory>

#include "look/notice_words.h"
#include "settings/app_folders.h"
#include "settings/preset_library.h"
#include "settings/settings.h"

namespace hokku::desktop {

/// Threads: the UI thread. `settings` and `presets` must outlive it.
class SettingsPage : public QWidget {
    Q_OBJECT

  public:
    SettingsPage(const AppFolders& folders, Settings& settings, PresetLibrary& presets,
                 QWidget* parent = nullptr);
    ~SettingsPage() override;

    void showPreset(const QString& key);
    /// For the next start, or says why not.
    void chooseDataFolder(const QString& folder);
    /// Empty: none.
    void chooseDraftModel(const QString& path);

  signals:
    void noticed(const hokku::desktop::NoticeWords& words);

  protected:
    void changeEvent(QEvent* event) override;

  private:
    struct Private;
    std::unique_ptr<Private> m_private;
};

}  // namespace hokku::desktop
