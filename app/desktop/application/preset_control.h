// SPDX-License-Identifier: Apache-2.0
// PresetControl: gives the open conversation the preset that it remembers, or that is chosen for
// it, and follows what is changed in that preset.
#pragma once

#include <QObject>

#include "chat/chat_session.h"
#include "chat/preset_button.h"
#include "settings/preset_library.h"

namespace hokku::desktop {

/// Threads: the UI thread. All that it is given must outlive it.
class PresetControl : public QObject {
    Q_OBJECT

  public:
    PresetControl(PresetLibrary& library, ChatSession& session, PresetButton& button,
                  QObject* parent = nullptr);

    /// After another conversation was opened.
    void applyToChat();
    /// What is in use.
    [[nodiscard]] const Preset& current() const;

  signals:
    /// By the person, for the open conversation.
    void chosen(const hokku::desktop::Preset& preset);
    /// The preset that the conversation remembers is no longer there.
    void missing(const QString& key, const QString& instead);

  private:
    void apply();
    void showChoices();

    PresetLibrary& m_library;
    ChatSession& m_session;
    PresetButton& m_button;
};

}  // namespace hokku::desktop
