// SPDX-License-Identifier: Apache-2.0
#include "settings/language.h"

#include <QCoreApplication>
#include <QEvent>
#include <QLibraryInfo>
#include <QLocale>
#include <QTranslator>
#include <mutex>
#include <shared_mutex>
#include <vector>

/// Resources of a static library are there only once they are asked for, outside any namespace.
static void loadTranslations() {
    Q_INIT_RESOURCE(translations);
}

namespace hokku::desktop {
namespace {

QString languageOf(const QLocale& locale) {
    return locale.name().section(QLatin1Char('_'), 0, 0);
}

/// The first language of the system that the app speaks.
QString systemLanguage() {
    for (const QString& name : QLocale::system().uiLanguages()) {
        const QString code = languageOf(QLocale(name));
        if (code == QLatin1String("de") || code == QLatin1String("en")) return code;
    }
    return QStringLiteral("en");
}

}  // namespace

/// The translations of a language as one, so that a change of language is one event.
class Language::Texts final : public QTranslator {
  public:
    void read(const QString& code) {
        const QString own = QStringLiteral(":/translations");
        std::vector<std::unique_ptr<QTranslator>> parts;
        const auto add = [&](const QString& name, const QString& folder) {
            auto part = std::make_unique<QTranslator>();
            if (part->load(QStringLiteral("%1_%2").arg(name, code), folder))
                parts.push_back(std::move(part));
        };
        add(QStringLiteral("hokku"), own);
        // Qt's own words: those that people see lie in the app, the rest in Qt, if anywhere.
        add(QStringLiteral("qt"), own);
        add(QStringLiteral("qtbase"), QLibraryInfo::path(QLibraryInfo::TranslationsPath));
        const std::unique_lock lock(m_mutex);
        m_parts = std::move(parts);
    }
    QString translate(const char* context, const char* source, const char* comment,
                      int n) const override {
        const std::shared_lock lock(m_mutex);
        for (const auto& part : m_parts) {
            const QString text = part->translate(context, source, comment, n);
            if (!text.isNull()) return text;
        }
        return {};
    }
    [[nodiscard]] bool isEmpty() const override { return false; }

  private:
    mutable std::shared_mutex m_mutex;
    std::vector<std::unique_ptr<QTranslator>> m_parts;
};

Language::Language() : m_texts(std::make_unique<Texts>()) {
    loadTranslations();
    m_texts->read(systemLanguage());
    QCoreApplication::installTranslator(m_texts.get());
}

Language::~Language() {
    QCoreApplication::removeTranslator(m_texts.get());
}

void Language::apply(const QString& code) {
    // A country's own numbers and dates: those of the system where it speaks that language.
    const bool isSystems = code.isEmpty() || languageOf(QLocale::system()) == code;
    QLocale::setDefault(isSystems ? QLocale::system() : QLocale(code));
    m_texts->read(code.isEmpty() ? systemLanguage() : code);
    QEvent event(QEvent::LanguageChange);
    QCoreApplication::sendEvent(QCoreApplication::instance(), &event);
}

}  // namespace hokku::desktop
