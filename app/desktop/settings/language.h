// SPDX-License-Identifier: Apache-2.0
// Language: in which language the app speaks; it can change while the app runs.
#pragma once

#include <QString>
#include <memory>

namespace hokku::desktop {

/// One for the app, made after the QApplication. Widgets hear of a change by LanguageChange.
///
/// Threads: the UI thread; texts may be translated on any.
class Language {
  public:
    /// Speaks the system's language, as far as there is a translation, else English.
    Language();
    ~Language();
    Language(const Language&) = delete;
    Language& operator=(const Language&) = delete;

    /// "en", "de"; empty: the system's. Sets the default locale, for numbers and dates, too.
    void apply(const QString& code);

  private:
    class Texts;
    std::unique_ptr<Texts> m_texts;
};

}  // namespace hokku::desktop
