// SPDX-License-Identifier: Apache-2.0
#include "settings/settings.h"

#include <QFile>
#include <QSettings>
#include <algorithm>
#include <limits>

namespace hokku::desktop {
namespace {

constexpr int kLeastFontPercent = 80, kMostFontPercent = 200;
constexpr int kMostNumber = std::numeric_limits<int>::max();

QString nameOf(ThemeChoice choice) {
    switch (choice) {
        case ThemeChoice::light:
            return QStringLiteral("light");
        case ThemeChoice::dark:
            return QStringLiteral("dark");
        case ThemeChoice::system:
            break;
    }
    return QStringLiteral("system");
}

/// The new name of a file that is damaged; empty: it is not, or cannot be renamed.
QString putAside(const QString& path) {
    if (QSettings(path, QSettings::IniFormat).status() != QSettings::FormatError) return {};
    const QString aside = path + QStringLiteral(".damaged");
    QFile::remove(aside);
    return QFile::rename(path, aside) ? aside : QString();
}

}  // namespace

struct Settings::Private {
    explicit Private(const QString& path)
        : damagedFile(putAside(path)), file(path, QSettings::IniFormat) {
        const QSettings before(damagedFile, QSettings::IniFormat);
        if (damagedFile.isEmpty()) return;
        for (const QString& key : before.allKeys()) file.setValue(key, before.value(key));
        file.sync();
    }
    /// Stores and says whether that was a change.
    bool set(const QString& key, const QVariant& value) {
        if (file.value(key) == value) return false;
        file.setValue(key, value);
        file.sync();
        return true;
    }
    /// Of a key that is absent or is no number: `fallback`. QVariant::toInt() would wrap.
    [[nodiscard]] int number(const QString& key, int fallback, int least, int most) const {
        bool isNumber = false;
        const qlonglong found = file.value(key).toLongLong(&isNumber);
        return isNumber ? static_cast<int>(std::clamp<qlonglong>(found, least, most)) : fallback;
    }
    QString damagedFile;
    QSettings file;
};

Settings::Settings(const QString& path, QObject* parent)
    : QObject(parent), m_private(std::make_unique<Private>(path)) {}
Settings::~Settings() = default;

QString Settings::damagedFile() const {
    return m_private->damagedFile;
}

ThemeChoice Settings::theme() const {
    const QString name = value(QStringLiteral("theme")).toString();
    if (name == QLatin1String("light")) return ThemeChoice::light;
    if (name == QLatin1String("dark")) return ThemeChoice::dark;
    return ThemeChoice::system;
}

void Settings::setTheme(ThemeChoice choice) {
    if (m_private->set(QStringLiteral("theme"), nameOf(choice))) emit themeChanged();
}

int Settings::fontPercent() const {
    return m_private->number(QStringLiteral("font_percent"), 100, kLeastFontPercent,
                             kMostFontPercent);
}

void Settings::setFontPercent(int percent) {
    const int bounded = qBound(kLeastFontPercent, percent, kMostFontPercent);
    if (m_private->set(QStringLiteral("font_percent"), bounded)) emit themeChanged();
}

QString Settings::language() const {
    return value(QStringLiteral("language")).toString();
}

void Settings::setLanguage(const QString& code) {
    if (m_private->set(QStringLiteral("language"), code)) emit languageChanged();
}

int Settings::numThreads() const {
    return m_private->number(QStringLiteral("threads"), 0, 0, kMostNumber);
}

void Settings::setNumThreads(int count) {
    if (m_private->set(QStringLiteral("threads"), count)) emit engineChanged();
}

int Settings::contextTokens() const {
    return m_private->number(QStringLiteral("context_tokens"), 0, 0, kMostNumber);
}

void Settings::setContextTokens(int tokens) {
    if (m_private->set(QStringLiteral("context_tokens"), tokens)) emit engineChanged();
}

QString Settings::kvType() const {
    return value(QStringLiteral("kv_type")).toString();
}

void Settings::setKvType(const QString& type) {
    if (m_private->set(QStringLiteral("kv_type"), type)) emit engineChanged();
}

QString Settings::draftModel() const {
    return value(QStringLiteral("draft_model")).toString();
}

void Settings::setDraftModel(const QString& path) {
    if (draftModel() == path) return;
    m_private->set(QStringLiteral("draft_model"), path);
    emit engineChanged();
}

bool Settings::useMapping() const {
    return value(QStringLiteral("use_mapping"), true).toBool();
}

void Settings::setUseMapping(bool use) {
    if (m_private->set(QStringLiteral("use_mapping"), use)) emit engineChanged();
}

QString Settings::modelPath() const {
    return value(QStringLiteral("model")).toString();
}

void Settings::setModelPath(const QString& path) {
    if (m_private->set(QStringLiteral("model"), path)) emit changed();
}

Overflow Settings::overflow() const {
    const std::string name = value(QStringLiteral("overflow")).toString().toStdString();
    for (const Overflow overflow : {Overflow::drop_oldest, Overflow::summarise, Overflow::grow})
        if (name == overflow_name(overflow)) return overflow;
    return Overflow::stop;
}

void Settings::setOverflow(Overflow overflow) {
    const std::string_view name = overflow_name(overflow);
    const QString text = QString::fromLatin1(name.data(), static_cast<qsizetype>(name.size()));
    if (m_private->set(QStringLiteral("overflow"), text)) emit changed();
}

bool Settings::notifyWhenDone() const {
    return value(QStringLiteral("notify"), true).toBool();
}

void Settings::setNotifyWhenDone(bool notify) {
    if (m_private->set(QStringLiteral("notify"), notify)) emit changed();
}

bool Settings::trayIcon() const {
    return value(QStringLiteral("tray"), false).toBool();
}

void Settings::setTrayIcon(bool isWanted) {
    if (m_private->set(QStringLiteral("tray"), isWanted)) emit changed();
}

QVariant Settings::value(const QString& key, const QVariant& fallback) const {
    return m_private->file.value(key, fallback);
}

void Settings::setValue(const QString& key, const QVariant& value) {
    m_private->set(key, value);
}

}  // namespace hokku::desktop
