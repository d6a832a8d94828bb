// SPDX-License-Identifier: Apache-2.0
#include "conversations/exchange.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QHash>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStringDecoder>

namespace hokku::desktop {
namespace {

const QString kFormatName = QStringLiteral("hokku-chat");
constexpr int kFormatVersion = 1;
constexpr int kMostMessages = 100'000;

struct Words {
    Q_DECLARE_TR_FUNCTIONS(hokku::desktop::Exchange)
};

QVector<MessageRecord> activePath(const ChatRecord& chat, const QVector<MessageRecord>& messages) {
    QHash<MessageId, MessageRecord> byId;
    for (const MessageRecord& message : messages) byId.insert(message.id, message);
    QVector<MessageRecord> path;
    for (MessageId id = chat.activeLeaf; byId.contains(id); id = byId[id].parent)
        path.prepend(byId[id]);
    return path;
}

QString speaker(const QString& role) {
    if (role == QLatin1String("user")) return Words::tr("You");
    if (role == QLatin1String("assistant")) return Words::tr("Reply");
    return role;
}

QByteArray asText(const ChatRecord& chat, const QVector<MessageRecord>& messages, bool isMarkdown) {
    QString text = (isMarkdown ? QStringLiteral("# ") : QString()) + chat.displayTitle() +
                   QStringLiteral("\n");
    for (const MessageRecord& message : activePath(chat, messages)) {
        text += isMarkdown ? QStringLiteral("\n## %1\n\n").arg(speaker(message.role))
                           : QStringLiteral("\n%1:\n").arg(speaker(message.role));
        text += message.content.trimmed() + QLatin1Char('\n');
    }
    return text.toUtf8();
}

QByteArray asJson(const ChatRecord& chat, const QVector<MessageRecord>& messages) {
    QJsonArray list;
    for (const MessageRecord& message : messages) {
        list.append(QJsonObject{
            {QStringLiteral("id"), message.id},
            {QStringLiteral("parent"), message.parent},
            {QStringLiteral("role"), message.role},
            {QStringLiteral("content"), message.content},
            {QStringLiteral("thought"), message.thought},
            {QStringLiteral("created"), message.created.toString(Qt::ISODateWithMs)},
        });
    }
    const QJsonObject object{
        {QStringLiteral("format"), kFormatName},
        {QStringLiteral("version"), kFormatVersion},
        {QStringLiteral("title"), chat.displayTitle()},
        {QStringLiteral("system_prompt"), chat.systemPrompt},
        {QStringLiteral("active_leaf"), chat.activeLeaf},
        {QStringLiteral("messages"), list},
    };
    return QJsonDocument(object).toJson();
}

Error badFormat(const QString& fileName, const QString& what, const QString& expected) {
    return Error{ErrorCode::bad_format, what.toStdString(), fileName.toStdString(),
                 expected.toStdString()};
}

Result<ChatId> importText(ChatStore& store, const QByteArray& content, const QString& fileName) {
    const std::optional<QString> text = decodeText(content);
    if (!text)
        return badFormat(fileName, QStringLiteral("the file is not a text"),
                         QStringLiteral("UTF-8, or UTF-16 that says so at its beginning"));
    ChatRecord chat;
    chat.title = QFileInfo(fileName).completeBaseName();
    MessageRecord message;
    message.role = QStringLiteral("user");
    message.content = *text;
    return store.addChat(chat, {message});
}

Result<ChatId> importJson(ChatStore& store, const QJsonObject& object, const QString& fileName) {
    const QJsonValue version = object[QStringLiteral("version")];
    if (!version.isUndefined() && !(version.toDouble(kFormatVersion + 1) <= kFormatVersion))
        return badFormat(fileName, QStringLiteral("the file was written by a newer version"),
                         QStringLiteral("version %1").arg(kFormatVersion));
    if (!object[QStringLiteral("messages")].isArray())
        return badFormat(fileName, QStringLiteral("the file has no messages"),
                         QStringLiteral("\"messages\": [..]"));
    const QJsonArray list = object[QStringLiteral("messages")].toArray();
    if (list.size() > kMostMessages)
        return badFormat(fileName, QStringLiteral("the file has %1 messages").arg(list.size()),
                         QStringLiteral("at most %1").arg(kMostMessages));
    for (qsizetype i = 0; i < list.size(); ++i) {
        const QJsonObject entry = list[i].toObject();
        const QString role = entry[QStringLiteral("role")].toString();
        const bool isKnown = role == QLatin1String("user") || role == QLatin1String("assistant") ||
                             role == QLatin1String("system") || role == QLatin1String("tool");
        if (!isKnown || !entry[QStringLiteral("content")].isString())
            return badFormat(fileName, QStringLiteral("message %1 has no role or text").arg(i + 1),
                             QStringLiteral("user, assistant, system or tool, and a content"));
    }
    ChatRecord chat;
    chat.title = object[QStringLiteral("title")].toString();
    // An empty one is one of its own, too: the preset's does not take its place.
    const QJsonValue prompt = object[QStringLiteral("system_prompt")];
    if (prompt.isString()) chat.systemPrompt = QStringLiteral("") + prompt.toString();
    chat.activeLeaf = object[QStringLiteral("active_leaf")].toInteger();
    QVector<MessageRecord> messages;
    for (const QJsonValue& value : list) {
        const QJsonObject entry = value.toObject();
        MessageRecord message;
        message.id = entry[QStringLiteral("id")].toInteger();
        message.parent = entry[QStringLiteral("parent")].toInteger();
        message.role = entry[QStringLiteral("role")].toString();
        message.content = entry[QStringLiteral("content")].toString();
        message.thought = entry[QStringLiteral("thought")].toString();
        messages.append(message);
    }
    return store.addChat(chat, messages);
}

}  // namespace

QByteArray exportChat(const ChatRecord& chat, const QVector<MessageRecord>& messages,
                      ExportFormat format) {
    if (format == ExportFormat::json) return asJson(chat, messages);
    return asText(chat, messages, format == ExportFormat::markdown);
}

QString exportName(const ChatRecord& chat, ExportFormat format) {
    constexpr int kMostCharacters = 60;
    QString name;
    for (const QChar c : chat.displayTitle().left(kMostCharacters))
        name += c.isLetterOrNumber() || c == QLatin1Char('-') ? c : QLatin1Char(' ');
    name = name.simplified();
    if (name.isEmpty()) name = QStringLiteral("chat");
    switch (format) {
        case ExportFormat::markdown:
            return name + QStringLiteral(".md");
        case ExportFormat::text:
            return name + QStringLiteral(".txt");
        case ExportFormat::json:
            break;
    }
    return name + QStringLiteral(".json");
}

std::optional<QString> decodeText(const QByteArray& content) {
    const auto encoding = QStringConverter::encodingForData(content);
    QStringDecoder decoder(encoding.value_or(QStringConverter::Utf8),
                           QStringConverter::Flag::Stateless);
    const QString text = decoder.decode(content);
    if (decoder.hasError() || text.contains(QChar(0))) return std::nullopt;
    return text;
}

Result<ChatId> importChat(ChatStore& store, const QByteArray& content, const QString& fileName) {
    if (content.size() > kMostImportBytes)
        return badFormat(fileName, QStringLiteral("the file is too large"),
                         QStringLiteral("at most %1 bytes").arg(kMostImportBytes));
    if (!fileName.endsWith(QLatin1String(".json"), Qt::CaseInsensitive))
        return importText(store, content, fileName);
    QJsonParseError problem{};
    const QJsonDocument document = QJsonDocument::fromJson(content, &problem);
    if (problem.error != QJsonParseError::NoError)
        return badFormat(fileName, QStringLiteral("the file is not JSON: ") + problem.errorString(),
                         QStringLiteral("a chat that was exported as JSON"));
    const QJsonObject object = document.object();
    if (object[QStringLiteral("format")].toString() != kFormatName)
        return badFormat(fileName, QStringLiteral("the file is not a chat of Hokku"),
                         QStringLiteral("\"format\": \"%1\"").arg(kFormatName));
    return importJson(store, object, fileName);
}

}  // namespace hokku::desktop
