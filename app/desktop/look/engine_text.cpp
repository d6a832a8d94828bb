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

/// A part of what the engine says of files that people try and of memory, and that in words for
/// people; %1 is what the engine has in quotes.
struct KnownError {
    ErrorCode code;
    const char* sign;
    const char* words;
};
constexpr const char* kNotWhole =
    QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                      "The file is not whole: it ends too early, as after a download that broke "
                      "off");
constexpr KnownError kKnownErrors[] = {
    {ErrorCode::bad_format, "the file does not start with GGUF",
     QT_TRANSLATE_NOOP("hokku::desktop::EngineText", "It is not a model file (GGUF)")},
    {ErrorCode::bad_format, "this is a web page",
     QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                       "It is a web page, not a model: the download got something else")},
    {ErrorCode::bad_format, "this is a Git LFS pointer",
     QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                       "It only stands for a model (Git LFS), and must be downloaded itself")},
    {ErrorCode::bad_format, "this is a GGML file",
     QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                       "Its format (GGML) is too old; GGUF took its place")},
    {ErrorCode::bad_format, "the file ends within", kNotWhole},
    {ErrorCode::bad_format, "end past the file", kNotWhole},
    {ErrorCode::bad_format, "past the end of the file", kNotWhole},
    {ErrorCode::unsupported, "the architecture \"",
     QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                       "This version of Hokku does not know models of the kind “%1”")},
    {ErrorCode::unsupported, "the draft model does not fit the model",
     QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                       "It has other tokens than the model; both must be of the same family")},
    {ErrorCode::io, "there is no such file",
     QT_TRANSLATE_NOOP("hokku::desktop::EngineText", "The file is no longer there")},
    {ErrorCode::io, "the file is empty",
     QT_TRANSLATE_NOOP("hokku::desktop::EngineText", "The file is empty")},
    {ErrorCode::io, "the file cannot be opened: Permission denied",
     QT_TRANSLATE_NOOP("hokku::desktop::EngineText", "You are not allowed to read the file")},
    {ErrorCode::limit_exceeded, "the KV cache of",
     QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                       "There is not enough memory for so long a context; a shorter one may fit "
                       "(Settings, Context)")},
    {ErrorCode::out_of_memory, "",
     QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                       "There is not enough memory for it: close other programs, or take a smaller "
                       "model or a shorter context")},
};

/// Empty: the error is not a known one.
QString knownErrorText(const Error& error) {
    // Names the models that there are.
    if (error.what.find("no such model") != std::string::npos) return {};
    for (const KnownError& known : kKnownErrors) {
        if (error.code != known.code || error.what.find(known.sign) == std::string::npos) continue;
        const QString quoted = QString::fromStdString(error.what).section(QLatin1Char('"'), 1, 1);
        const QString words = Words::tr(known.words);
        return words.contains(QLatin1String("%1")) ? words.arg(quoted) : words;
    }
    return {};
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
                      "this model's key biases reach %1: a q4_0 context costs it much of its "
                      "accuracy, f16 does not"),
    QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                      "the context cannot grow: the model goes up to %1 tokens"),
    QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                      "the context cannot grow: %1 MiB of memory are available"),
    QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                      "the draft model guesses only in the first %1 tokens, as long as its context "
                      "is; that of the model has %2"),
};

}  // namespace

QString errorText(const Error& error) {
    if (const QString known = knownErrorText(error); !known.isEmpty()) return known;
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

QString deviceNoteText(const std::string& note) {
    static constexpr std::pair<const char*, const char*> kReasons[] = {
        {"GPUs are switched off",
         QT_TRANSLATE_NOOP("hokku::desktop::EngineText", "GPUs are switched off (HOKKU_CUDA)")},
        {"the plug-in for NVIDIA GPUs is not installed",
         QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                           "the part of Hokku for NVIDIA GPUs is not installed")},
        {"the plug-in for GPUs is of another version",
         QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                           "the part of Hokku for GPUs is of another version")},
        {"GPUs do not keep a context of type q4_0",
         QT_TRANSLATE_NOOP("hokku::desktop::EngineText",
                           "GPUs cannot keep the conversation in 4 bits")}};
    QString reason = QString::fromStdString(note);
    for (const auto& [sign, words] : kReasons)
        if (note.find(sign) != std::string::npos) reason = Words::tr(words);
    return Words::tr("Not on a GPU: %1").arg(reason);
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
