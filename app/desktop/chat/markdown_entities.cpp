// SPDX-License-Identifier: Apache-2.0
#include "chat/markdown_entities.h"

#include <QHash>

namespace hokku::desktop {

QString decodeEntity(const QString& entity) {
    if (entity.size() < 3) return entity;
    const QStringView name = QStringView(entity).mid(1, entity.size() - 2);
    if (name.startsWith(QLatin1Char('#'))) {
        const bool isHex = name.size() > 1 && name[1].toLower() == QLatin1Char('x');
        const char32_t code = isHex ? name.mid(2).toUInt(nullptr, 16) : name.mid(1).toUInt();
        const bool isCharacter =
            code >= 0x20 && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF) &&
            (code < 0xFDD0 || code > 0xFDEF) && code != 0xFFFC && code != 0x2028 && code != 0x2029;
        return QString::fromUcs4(isCharacter ? &code : U"\uFFFD", 1);
    }
    static const QHash<QString, char16_t> names = {
        {QStringLiteral("amp"), u'&'},       {QStringLiteral("lt"), u'<'},
        {QStringLiteral("gt"), u'>'},        {QStringLiteral("quot"), u'"'},
        {QStringLiteral("apos"), u'\''},     {QStringLiteral("nbsp"), u'\u00A0'},
        {QStringLiteral("ensp"), u'\u2002'}, {QStringLiteral("emsp"), u'\u2003'},
        {QStringLiteral("ndash"), u'–'},     {QStringLiteral("mdash"), u'—'},
        {QStringLiteral("hellip"), u'…'},    {QStringLiteral("bull"), u'•'},
        {QStringLiteral("middot"), u'·'},    {QStringLiteral("lsquo"), u'‘'},
        {QStringLiteral("rsquo"), u'’'},     {QStringLiteral("ldquo"), u'“'},
        {QStringLiteral("rdquo"), u'”'},     {QStringLiteral("laquo"), u'«'},
        {QStringLiteral("raquo"), u'»'},     {QStringLiteral("copy"), u'©'},
        {QStringLiteral("reg"), u'®'},       {QStringLiteral("trade"), u'™'},
        {QStringLiteral("deg"), u'°'},       {QStringLiteral("plusmn"), u'±'},
        {QStringLiteral("times"), u'×'},     {QStringLiteral("divide"), u'÷'},
        {QStringLiteral("frac12"), u'½'},    {QStringLiteral("larr"), u'←'},
        {QStringLiteral("rarr"), u'→'},      {QStringLiteral("uarr"), u'↑'},
        {QStringLiteral("darr"), u'↓'},      {QStringLiteral("harr"), u'↔'},
        {QStringLiteral("le"), u'≤'},        {QStringLiteral("ge"), u'≥'},
        {QStringLiteral("ne"), u'≠'},        {QStringLiteral("infin"), u'∞'},
        {QStringLiteral("euro"), u'€'},      {QStringLiteral("pound"), u'£'},
        {QStringLiteral("sect"), u'§'},      {QStringLiteral("para"), u'¶'},
        {QStringLiteral("check"), u'✓'},     {QStringLiteral("star"), u'☆'},
    };
    const char16_t code = names.value(name.toString(), 0);
    return code == 0 ? entity : QString(QChar(code));
}

}  // namespace hokku::desktop
