// SPDX-License-Identifier: Apache-2.0
// PresetEditor: the part of the settings in which presets are chosen, changed and kept. A few
// values are always seen; the rest unfolds, in groups.
#pragma once

#include <QWidget>
#include <memory>

#include "look/notice_words.h"
#include "settings/preset_library.h"

namespace hokku::desktop {

/// In the language and the theme of its making.
///
/// Threads: the UI thread. `library` and `settings` must outlive it.
class PresetEditor : public QWidget {
    Q_OBJECT

  public:
    PresetEditor(PresetLibrary& library, Settings& settings);
    ~PresetEditor() override;

    [[nodiscard]] QString currentKey() const;
    void show(const QString& key);

  signals:
    void noticed(const hokku::desktop::NoticeWords& words);

  private:
    struct Private;
    std::unique_ptr<Private> m_private;
};

}  // namespace hokku::desktop
