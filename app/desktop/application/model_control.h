// SPDX-License-Identifier: Apache-2.0
// ModelControl: which model is loaded: by name or path, with the settings of the person, and let
// go of before its file is deleted.
#pragma once

#include <QObject>
#include <QVector>
#include <filesystem>
#include <functional>
#include <optional>

#include "hokku/library.h"
#include "hokku/qt/generator.h"
#include "settings/settings.h"

namespace hokku::desktop {

/// `library`: the folder of models that belongs to the app's data.
///
/// Threads: the UI thread; nothing here waits. `settings` and `generator` must outlive it.
class ModelControl : public QObject {
    Q_OBJECT

  public:
    ModelControl(const QString& library, Settings& settings, qt::Generator& generator,
                 QObject* parent = nullptr);

    /// A path, a name in the library, or nothing for the starter model.
    void load(const QString& nameOrPath);
    /// Runs `then` as soon as the file is neither loaded nor being loaded.
    void letGo(const QString& path, const std::function<void()>& then);
    /// Empty: there is none.
    [[nodiscard]] QString loadedPath() const;
    [[nodiscard]] bool isStarter() const;  ///< The model that comes with the program.
    /// The draft model of the settings, if the loaded model had to be loaded without it, and why.
    struct DraftRefusal {
        QString path;
        Error error;
    };
    [[nodiscard]] const std::optional<DraftRefusal>& draftRefusal() const { return m_draftRefusal; }
    /// That of the model that is being loaded, else that of the one that is there.
    [[nodiscard]] QString wantedPath() const;

    [[nodiscard]] static bool isSameFile(const QString& a, const QString& b);
    /// Where a file that was kept by its path lies now.
    [[nodiscard]] QString currentPath(const QString& path) const;
    /// Models move with the data folder that they lie in, from .../models/NAME to `library`; those
    /// that came with the program, in `installed`, move with that. A copy that was left behind is
    /// not asked for again.
    [[nodiscard]] static QString movedPath(const QString& path, const QString& library,
                                           const std::optional<std::filesystem::path>& installed);

  signals:
    void started();
    /// Nothing is loading any more: loadedPath() is what there is.
    void settled();
    /// `name`: of the model, as it was asked for.
    void failed(const QString& name, const hokku::Error& error);

  private:
    void start(const std::filesystem::path& path, const QString& draft);
    void settle();
    void letGoOfNext();

    struct Release {
        QString path;
        std::function<void()> then;
    };
    QString m_library;
    Settings& m_settings;
    qt::Generator& m_generator;
    QString m_loadingPath, m_loadingDraft;
    std::optional<DraftRefusal> m_draftRefusal;
    QVector<Release> m_releases;
};

}  // namespace hokku::desktop
