// SPDX-License-Identifier: Apache-2.0
// ModelsPage: the models of this machine, how well they fit, and ways to add more.
#pragma once

#include <QStringList>
#include <QWidget>
#include <functional>
#include <memory>

#include "look/notice_words.h"
#include "settings/app_folders.h"
#include "settings/settings.h"

namespace hokku::desktop {

/// Threads: the UI thread; files are read and downloaded in the background.
class ModelsPage : public QWidget {
    Q_OBJECT

  public:
    ModelsPage(const AppFolders& folders, Settings& settings, QWidget* parent = nullptr);
    ~ModelsPage() override;

    /// Lists files that lie elsewhere, without copying them.
    void addFiles(const QStringList& paths);
    /// Marks the model that is loaded; empty: none.
    void setLoadedModel(const QString& path);

  signals:
    void modelChosen(const QString& path);
    /// Before a file is deleted: whoever has it loaded lets go of it, and then calls `go`, which
    /// somebody must.
    void aboutToDelete(const QString& path, const std::function<void()>& go);
    void noticed(const hokku::desktop::NoticeWords& words);

  protected:
    void changeEvent(QEvent* event) override;

  private:
    struct Private;
    std::unique_ptr<Private> m_private;
};

}  // namespace hokku::desktop
