// SPDX-License-Identifier: Apache-2.0
// Settings: what a person has chosen for the whole app, kept in an INI file of the app's folder.
#pragma once

#include <QObject>
#include <QString>
#include <QVariant>
#include <memory>

#include "hokku/engine.h"
#include "look/theme.h"

namespace hokku::desktop {

/// Threads: the UI thread.
class Settings : public QObject {
    Q_OBJECT

  public:
    /// `path` of the INI file; it is made when something is set. A damaged one, which Qt would not
    /// write any more, is put aside and begun anew.
    explicit Settings(const QString& path, QObject* parent = nullptr);
    ~Settings() override;

    /// Where the file is kept that could not be read to its end; what could be is in use. Empty:
    /// there was none.
    [[nodiscard]] QString damagedFile() const;

    [[nodiscard]] ThemeChoice theme() const;
    void setTheme(ThemeChoice choice);
    [[nodiscard]] int fontPercent() const;  ///< 80 to 200.
    void setFontPercent(int percent);
    [[nodiscard]] QString language() const;  ///< "en", "de"; empty: the system's.
    void setLanguage(const QString& code);
    [[nodiscard]] int numThreads() const;  ///< 0: chosen by the engine.
    void setNumThreads(int count);
    [[nodiscard]] int contextTokens() const;  ///< 0: chosen by the engine.
    void setContextTokens(int tokens);
    [[nodiscard]] QString kvType() const;  ///< Name of a KvType; empty: chosen by the engine.
    void setKvType(const QString& type);
    /// A file that guesses ahead for the model; empty: none.
    [[nodiscard]] QString draftModel() const;
    void setDraftModel(const QString& path);
    [[nodiscard]] bool useMapping() const;
    void setUseMapping(bool use);
    [[nodiscard]] QString modelPath()
        const;  ///< The model for new chats; empty: the starter model.
    void setModelPath(const QString& path);
    /// What happens when a conversation no longer fits its context; stop asks the person then.
    [[nodiscard]] Overflow overflow() const;
    void setOverflow(Overflow overflow);
    [[nodiscard]] bool notifyWhenDone() const;
    void setNotifyWhenDone(bool notify);
    /// The app stays in the tray when its window is closed.
    [[nodiscard]] bool trayIcon() const;
    void setTrayIcon(bool isWanted);
    [[nodiscard]] QVariant value(const QString& key, const QVariant& fallback = {}) const;
    void setValue(const QString& key, const QVariant& value);  ///< Geometry and the like.

  signals:
    void themeChanged();
    void languageChanged();
    /// Threads, context, KV type, draft model or mapping: a model must be loaded anew.
    void engineChanged();
    void changed();

  private:
    struct Private;
    std::unique_ptr<Private> m_private;
};

}  // namespace hokku::desktop
