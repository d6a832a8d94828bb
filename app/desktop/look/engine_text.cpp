// SPDX-License-Identifier: Apache-2.0
#include "look/engine_text.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <algorithm>

namespace hokku::desktop {
namespace {

/// Only for the words below; lupdate finds them by the name.
struct Words {
    Q_DECLARE_TR_FUNCTIONS(hokku::desktop::EngineText)
};

QString kindOf(ErrorCode code) {
    switch (code) {
        case ErrorCode::io:
            return Words::tr("A file cannot be read or written");
        case ErrorCode::bad_format:
            return Words::tr("The file is damaged or of another kind");
        case ErrorCode::unsupported:
            return Words::tr("This version of Hokku cannot handle it");
        case ErrorCode::bad_argument:
            return Words::tr("A value is out of range");
        case ErrorCode::bad_template:
            return Words::tr("The chat template of the model does not work");
        case ErrorCode::limit_exceeded:
            return Words::tr("A limit would be exceeded");
        case ErrorCode::out_of_memory:
            return Words::tr("There is not enough memory");
        case ErrorCode::numeric:
            return Words::tr("The model computes values that are no numbers");
        case ErrorCode::cancelled:
            return Words::tr("It was cancelled");
        case ErrorCode::device:
            break;
    }
    return Words::tr("The device failed");
}

/// The sentences of the engine that people may meet, with %1, %2 for numbers.
constexpr const char* kSentences[] = {
    QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                      "the model has no chat template: it continues text only"),
    QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                      "the model is larger than the memory that is free: it will be slow"),
    QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                      "%1 threads were asked for; %2 are used, one for each CPU that this process "
                      "may use"),
    QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                      "the model was trained for %1 tokens; the context is that long"),
    QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                      "the context is only %1 tokens long: %2 MiB of memory are available"),
    QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                      "this model's key biases reach %1: a q8_0 context costs it accuracy, f16 "
                      "does not"),
    QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                      "the context cannot grow: the model goes up to %1 tokens (context): expected "
                      "%2 tokens, as it is"),
    QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                      "the context cannot grow: %1 MiB of memory are available (context): expected "
                      "%2 tokens, as it is"),
};

}  // namespace

QString errorText(const Error& error) {
    return QStringLiteral("%1 (%2)").arg(kindOf(error.code),
                                         QString::fromStdString(error.message()));
}

QString deviceText(const std::string& device) {
    static const QRegularExpression threads(QStringLiteral("(\\d+) threads?$"));
    const QString text = QString::fromStdString(device);
    const QRegularExpressionMatch match = threads.match(text);
    if (!match.hasMatch()) return text;
    return text.left(match.capturedStart()) +
           Words::tr("%n threads", "of a processor", match.captured(1).toInt());
}

QString warningText(const std::string& text) {
    // Numbers that stand alone become places, so that a sentence is known whatever they are.
    static const QRegularExpression number(QStringLiteral("(?<![\\w.])\\d+(?![\\w.])"));
    const QString original = QString::fromStdString(text);
    QString pattern;
    QStringList numbers;
    qsizetype end = 0;
    for (auto match = number.globalMatch(original); match.hasNext();) {
        const QRegularExpressionMatch found = match.next();
        numbers.append(found.captured());
        pattern += original.mid(end, found.capturedStart() - end) +
                   QStringLiteral("%%1").arg(numbers.size());
        end = found.capturedEnd();
    }
    pattern += original.mid(end);
    const QByteArray sentence = pattern.toUtf8();
    const auto* known = std::find(std::begin(kSentences), std::end(kSentences), sentence);
    if (known == std::end(kSentences)) return Words::tr("A remark on the model: %1").arg(original);
    QString translated = Words::tr(*known);
    for (const QString& value : numbers) translated = translated.arg(value);
    return translated;
}

}  // namespace hokku::desktop
