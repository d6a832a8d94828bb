// SPDX-License-Identifier: Apache-2.0
#include "chat/markdown_parser.h"

#include <md4c.h>

#include <QStringList>
#include <QUrl>
#include <functional>

#include "chat/markdown_entities.h"
#include "chat/markdown_lines.h"
#include "chat/markdown_links.h"
#include "chat/markdown_math.h"

namespace hokku::desktop {
namespace {

constexpr QChar kLineSeparator(0x2028);
/// A line of plain text longer than this is laid out as several blocks.
constexpr qsizetype kLongPlainLine = 4000;

QString fromMd(const MD_CHAR* text, MD_SIZE size) {
    return QString::fromUtf8(text, static_cast<qsizetype>(size));
}

Qt::Alignment alignmentOf(MD_ALIGN align) {
    if (align == MD_ALIGN_CENTER) return Qt::AlignHCenter;
    if (align == MD_ALIGN_RIGHT) return Qt::AlignRight;
    return Qt::AlignLeft;
}

/// Collects what md4c reports.
class BlockBuilder {
  public:
    BlockBuilder(const MarkdownChunk& chunk, bool isCutInCode, MarkdownContext& context,
                 QStringList formulas, const QByteArray& source)
        : m_chunk(chunk),
          m_isCutInCode(isCutInCode),
          m_context(context),
          m_formulas(std::move(formulas)),
          m_source(source) {}

    QVector<RichBlock> blocks;
    void finish();

    void enterBlock(MD_BLOCKTYPE type, void* detail);
    void leaveBlock(MD_BLOCKTYPE type);
    void enterSpan(MD_SPANTYPE type, void* detail);
    void leaveSpan(MD_SPANTYPE type);
    void text(MD_TEXTTYPE type, const char* part, qsizetype size);

  private:
    struct List {
        unsigned next = 0;  ///< 0: bullets.
        QChar delimiter;
    };
    struct Link {
        QString target;
        bool isImage = false;
    };

    void begin(RichBlock::Kind kind);
    void placeMarker();
    void restoreTabs(const char* text);
    void leaveCode();
    void endTarget(const Link& link);
    [[nodiscard]] RichText& target();
    [[nodiscard]] QString withFormulas(const QString& text) const;
    [[nodiscard]] QString attribute(const MD_ATTRIBUTE& attribute) const;
    void append(const QString& text, quint8 style = 0);
    [[nodiscard]] QString link() const;

    const MarkdownChunk& m_chunk;
    bool m_isCutInCode;
    MarkdownContext& m_context;
    QStringList m_formulas;
    const QByteArray& m_source;
    QVector<List> m_lists;
    QString m_containers, m_marker;
    bool m_isTight = false;  ///< The next block follows without a gap: a further item.
    QVector<int> m_styles;   ///< How often each style is open, by its bit.
    QVector<Link> m_links;
    QString m_code, m_language;
    bool m_isBlockOpen = false, m_isInCode = false, m_isInCell = false, m_hasCode = false;
};

RichText& BlockBuilder::target() {
    if (m_isInCell) return blocks.last().rows.last().last();
    // Text outside of any block: an item of a tight list.
    if (!m_isBlockOpen) begin(RichBlock::Kind::text);
    return blocks.last().content;
}

QString BlockBuilder::link() const {
    for (const Link& link : m_links)
        if (!link.isImage && isAllowedLink(link.target)) return link.target;
    return {};
}

void BlockBuilder::append(const QString& text, quint8 style) {
    for (int bit = 0; bit < m_styles.size(); ++bit)
        if (m_styles[bit] > 0) style = static_cast<quint8>(style | (1 << bit));
    target().append(text, style, link());
}

QString BlockBuilder::withFormulas(const QString& text) const {
    QString result;
    for (qsizetype i = 0; i < text.size(); ++i) {
        const qsizetype end = text[i] == kFormulaBegin ? text.indexOf(kFormulaEnd, i) : -1;
        if (end < 0) {
            result += text[i];
            continue;
        }
        result += m_formulas.value(text.mid(i + 1, end - i - 1).toInt());
        i = end;
    }
    return result;
}

QString BlockBuilder::attribute(const MD_ATTRIBUTE& attribute) const {
    QString result;
    for (int i = 0; attribute.text != nullptr && attribute.substr_offsets[i] < attribute.size;
         ++i) {
        const MD_OFFSET begin = attribute.substr_offsets[i];
        const QString part =
            fromMd(attribute.text + begin, attribute.substr_offsets[i + 1] - begin);
        result += attribute.substr_types[i] == MD_TEXT_ENTITY ? decodeEntity(part) : part;
    }
    return withFormulas(result);
}

void BlockBuilder::begin(RichBlock::Kind kind) {
    RichBlock block{.kind = kind,
                    .join = m_isTight ? BlockJoin::line : BlockJoin::paragraph,
                    .containers = m_containers,
                    .marker = std::exchange(m_marker, {}),
                    .language = {},
                    .content = {},
                    .rows = {},
                    .alignments = {}};
    blocks.append(block);
    m_isTight = false;
    m_isBlockOpen = true;
}

/// Code, tables and lists that an item begins with: its marker gets a line of its own.
void BlockBuilder::placeMarker() {
    if (m_marker.isEmpty()) return;
    begin(RichBlock::Kind::text);
    m_isTight = true;
}

void BlockBuilder::enterBlock(MD_BLOCKTYPE type, void* detail) {
    m_isBlockOpen = false;
    switch (type) {
        case MD_BLOCK_QUOTE:
            placeMarker();
            m_containers += QLatin1Char('q');
            break;
        case MD_BLOCK_UL:
            placeMarker();
            m_isTight = m_isTight || !m_lists.isEmpty();
            m_lists.append(List{});
            m_containers += QLatin1Char('b');
            break;
        case MD_BLOCK_OL: {
            placeMarker();
            m_isTight = m_isTight || !m_lists.isEmpty();
            const auto* list = static_cast<MD_BLOCK_OL_DETAIL*>(detail);
            unsigned start = list->start;
            if (m_lists.isEmpty() && blocks.isEmpty() && m_chunk.start == ChunkStart::list &&
                m_context.nextNumber > 0)
                start = m_context.nextNumber;
            m_lists.append(List{start + 1, QLatin1Char(list->mark_delimiter)});
            m_containers += QLatin1Char('n');
            break;
        }
        case MD_BLOCK_LI: {
            placeMarker();
            const auto* item = static_cast<MD_BLOCK_LI_DETAIL*>(detail);
            List& list = m_lists.last();
            // next is one ahead, for a list may begin with 0.
            m_marker = list.next == 0 ? QString(QChar(m_lists.size() % 2 == 1 ? 0x2022 : 0x25E6))
                                      : QString::number(list.next++ - 1) + list.delimiter;
            if (item->is_task) m_marker = QChar(item->task_mark == ' ' ? 0x2610 : 0x2611);
            break;
        }
        case MD_BLOCK_HR:
            begin(RichBlock::Kind::rule);
            break;
        case MD_BLOCK_H:
            begin(RichBlock::Kind::heading);
            blocks.last().headingLevel =
                static_cast<int>(static_cast<MD_BLOCK_H_DETAIL*>(detail)->level);
            break;
        case MD_BLOCK_CODE:
            placeMarker();
            m_language = attribute(static_cast<MD_BLOCK_CODE_DETAIL*>(detail)->lang);
            m_code.clear();
            m_isInCode = true;
            break;
        case MD_BLOCK_TABLE:
            placeMarker();
            begin(RichBlock::Kind::table);
            break;
        case MD_BLOCK_TR:
            blocks.last().rows.append(QVector<RichText>());
            break;
        case MD_BLOCK_TH:
        case MD_BLOCK_TD:
            if (blocks.last().rows.size() == 1)
                blocks.last().alignments.append(
                    alignmentOf(static_cast<MD_BLOCK_TD_DETAIL*>(detail)->align));
            blocks.last().rows.last().append(RichText());
            m_isInCell = true;
            break;
        case MD_BLOCK_P:
            begin(RichBlock::Kind::text);
            break;
        default:
            break;
    }
}

void BlockBuilder::leaveBlock(MD_BLOCKTYPE type) {
    switch (type) {
        case MD_BLOCK_QUOTE:
            m_containers.chop(1);
            break;
        case MD_BLOCK_UL:
        case MD_BLOCK_OL:
            m_containers.chop(1);
            if (m_lists.size() == 1)
                m_context.nextNumber = m_lists.last().next == 0 ? 0 : m_lists.last().next - 1;
            m_lists.removeLast();
            m_isTight = !m_lists.isEmpty();
            break;
        case MD_BLOCK_LI:
            placeMarker();
            m_isTight = true;
            break;
        case MD_BLOCK_CODE:
            leaveCode();
            break;
        case MD_BLOCK_TH:
        case MD_BLOCK_TD:
            m_isInCell = false;
            return;
        case MD_BLOCK_TR:
        case MD_BLOCK_THEAD:
        case MD_BLOCK_TBODY:
            return;
        default:
            break;
    }
    m_isBlockOpen = false;
}

/// The parser turns the tabs in front of a line of code into spaces; a Makefile needs them.
/// `text`: of the line, in the source, if it is of that.
void BlockBuilder::restoreTabs(const char* text) {
    const char *begin = m_source.constData(), *end = begin + m_source.size();
    const std::less<> isBefore;
    const qsizetype spaces = m_code.size() - (m_code.lastIndexOf(QLatin1Char('\n')) + 1);
    if (!m_isInCode || spaces == 0 || isBefore(text, begin) || !isBefore(text, end)) return;
    if (!QStringView(m_code).last(spaces).trimmed().isEmpty()) return;
    const char* line = text;
    while (line != begin && line[-1] != '\n') --line;
    QVector<int> columns{0};  // At which each byte begins.
    for (const char* byte = line; byte != text; ++byte)
        columns.append(columns.last() + (*byte == '\t' ? 4 - columns.last() % 4 : 1));
    const qsizetype first = columns.indexOf(columns.last() - static_cast<int>(spaces));
    const QByteArray written = QByteArray(line, text - line).mid(first);
    if (first < 0 || !written.contains('\t') || !written.trimmed().isEmpty()) return;
    m_code.chop(spaces);
    m_code += QString::fromLatin1(written);
}

void BlockBuilder::leaveCode() {
    m_isInCode = false;
    if (m_code.endsWith(QLatin1Char('\n'))) m_code.chop(1);
    const bool isContinued = m_chunk.isInCode && !m_hasCode;
    m_hasCode = true;
    if (isContinued && m_code.isEmpty()) return;
    if (!isContinued) m_context.highlighter = CodeHighlighter(m_language);
    const QStringList lines = m_code.split(QLatin1Char('\n'));
    for (qsizetype i = 0; i < lines.size(); ++i) {
        begin(RichBlock::Kind::code);
        RichBlock& block = blocks.last();
        block.language = m_language;
        block.isFirst = i == 0 && !isContinued;
        block.isLast = i + 1 == lines.size();
        if (!block.isFirst) block.join = BlockJoin::line;
        if (i == 0 && isContinued && m_chunk.start == ChunkStart::word)
            block.join = BlockJoin::none;
        const QVector<CodeSpan> spans = m_context.highlighter.line(lines[i]);
        block.content.text = lines[i];
        qsizetype position = 0;
        const auto add = [&](qsizetype end, CodeToken token) {
            if (end > position) block.content.runs.append({position, end - position, 0, token, {}});
            position = end;
        };
        for (const CodeSpan& span : spans) {
            add(span.begin, CodeToken::text);
            add(span.begin + span.size, span.token);
        }
        add(lines[i].size(), CodeToken::text);
    }
}

void BlockBuilder::enterSpan(MD_SPANTYPE type, void* detail) {
    const auto open = [this](int bit) {
        while (m_styles.size() <= bit) m_styles.append(0);
        ++m_styles[bit];
    };
    switch (type) {
        case MD_SPAN_STRONG:
            return open(0);
        case MD_SPAN_EM:
            return open(1);
        case MD_SPAN_DEL:
            return open(2);
        case MD_SPAN_CODE:
            return open(3);
        case MD_SPAN_A:
            m_links.append({attribute(static_cast<MD_SPAN_A_DETAIL*>(detail)->href), false});
            return;
        case MD_SPAN_IMG:
            open(1);
            m_links.append({attribute(static_cast<MD_SPAN_IMG_DETAIL*>(detail)->src), true});
            return;
        default:
            return;
    }
}

void BlockBuilder::leaveSpan(MD_SPANTYPE type) {
    switch (type) {
        case MD_SPAN_STRONG:
            --m_styles[0];
            return;
        case MD_SPAN_EM:
            --m_styles[1];
            return;
        case MD_SPAN_DEL:
            --m_styles[2];
            return;
        case MD_SPAN_CODE:
            --m_styles[3];
            return;
        case MD_SPAN_IMG:
            --m_styles[1];
            [[fallthrough]];
        case MD_SPAN_A:
            endTarget(m_links.takeLast());
            return;
        default:
            return;
    }
}

/// An image shows its address, as a link where it may be opened; a link that may not be opened
/// shows where it would go.
void BlockBuilder::endTarget(const Link& link) {
    const bool isAllowed = isAllowedLink(link.target);
    if (!link.isImage && (isAllowed || link.target.startsWith(QLatin1Char('#')))) return;
    if (link.target.isEmpty()) return;
    const bool isAfterText = !target().text.isEmpty() && !target().text.back().isSpace();
    append(isAfterText ? QStringLiteral(" (") : QStringLiteral("("), kFaint);
    if (isAllowed) m_links.append({link.target, false});
    append(link.target, kFaint);
    if (isAllowed) m_links.removeLast();
    append(QStringLiteral(")"), kFaint);
}

void BlockBuilder::text(MD_TEXTTYPE type, const char* part, qsizetype size) {
    const QString text = fromMd(part, static_cast<MD_SIZE>(size));
    if (m_isInCode) {
        restoreTabs(part);
        m_code += withFormulas(text);
        return;
    }
    switch (type) {
        case MD_TEXT_BR:
        case MD_TEXT_SOFTBR:
            // Lines stay lines: a poem is one.
            return append(m_isInCell ? QStringLiteral(" ") : QString(kLineSeparator));
        case MD_TEXT_ENTITY:
            return append(decodeEntity(text));
        case MD_TEXT_NULLCHAR:
            return append(QString(QChar(0xFFFD)));
        default:
            break;
    }
    for (qsizetype i = 0; i < text.size();) {
        const qsizetype begin = text.indexOf(kFormulaBegin, i);
        const qsizetype end = begin < 0 ? -1 : text.indexOf(kFormulaEnd, begin);
        if (end < 0) return append(text.mid(i));
        if (begin > i) append(text.mid(i, begin - i));
        QString formula = withFormulas(text.mid(begin, end + 1 - begin));
        append(formula.replace(QLatin1Char('\n'), kLineSeparator), kFormula);
        i = end + 1;
    }
}

void BlockBuilder::finish() {
    if (blocks.isEmpty()) return;
    RichBlock& first = blocks.first();
    switch (m_chunk.start) {
        case ChunkStart::paragraph:
        case ChunkStart::list:
        case ChunkStart::table:
            first.join = BlockJoin::line;
            break;
        case ChunkStart::sentence:
            first.join = BlockJoin::space;
            break;
        case ChunkStart::word:
            first.join = BlockJoin::none;
            break;
        case ChunkStart::code:
            first.join = BlockJoin::line;
            break;
        case ChunkStart::fresh:
            break;
    }
    if (m_chunk.start == ChunkStart::table && first.kind == RichBlock::Kind::table &&
        !first.rows.isEmpty()) {
        first.rows.removeFirst();
        first.isHeadless = true;
    }
    if (m_isCutInCode && blocks.last().kind == RichBlock::Kind::code) blocks.last().isLast = false;
}

BlockBuilder& builderOf(void* data) {
    return *static_cast<BlockBuilder*>(data);
}

}  // namespace

void RichText::append(const QString& more, quint8 style, const QString& link) {
    if (more.isEmpty()) return;
    if (!runs.isEmpty() && runs.last().style == style && runs.last().link == link) {
        runs.last().size += more.size();
    } else {
        runs.append({text.size(), more.size(), style, CodeToken::text, link});
    }
    text += more;
}

QVector<RichBlock> parseMarkdown(const MarkdownChunk& chunk, const QString& text, bool isCutInCode,
                                 MarkdownContext& context, const QString& links) {
    QStringList formulas;
    const QByteArray utf8 = (links + shieldMarkdown(chunk.prefix + text, formulas)).toUtf8();
    BlockBuilder builder(chunk, isCutInCode, context, formulas, utf8);
    MD_PARSER parser{};
    parser.flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS |
                   MD_FLAG_PERMISSIVEAUTOLINKS | MD_FLAG_NOHTML | MD_FLAG_NOINDENTEDCODEBLOCKS;
    parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* data) {
        builderOf(data).enterBlock(type, detail);
        return 0;
    };
    parser.leave_block = [](MD_BLOCKTYPE type, void*, void* data) {
        builderOf(data).leaveBlock(type);
        return 0;
    };
    parser.enter_span = [](MD_SPANTYPE type, void* detail, void* data) {
        builderOf(data).enterSpan(type, detail);
        return 0;
    };
    parser.leave_span = [](MD_SPANTYPE type, void*, void* data) {
        builderOf(data).leaveSpan(type);
        return 0;
    };
    parser.text = [](MD_TEXTTYPE type, const MD_CHAR* part, MD_SIZE size, void* data) {
        builderOf(data).text(type, part, size);
        return 0;
    };
    const int status =
        md_parse(utf8.constData(), static_cast<MD_SIZE>(utf8.size()), &parser, &builder);
    builder.finish();
    const bool isContinuedCode = chunk.isInCode && status == 0;
    if (status == 0 && (!builder.blocks.isEmpty() || isContinuedCode || text.trimmed().isEmpty()))
        return builder.blocks;
    const QVector<RichBlock> definitions = definitionBlocks(text);
    return definitions.isEmpty() ? plainBlocks(text) : definitions;
}

QVector<RichBlock> plainBlocks(const QString& text, quint8 style) {
    QVector<RichBlock> blocks;
    const QStringList lines = text.split(QLatin1Char('\n'));
    for (const QString& line : lines) {
        BlockJoin join = blocks.isEmpty() ? BlockJoin::paragraph : BlockJoin::line;
        for (qsizetype begin = 0; begin == 0 || begin < line.size();) {
            qsizetype size = kLongPlainLine;
            if (begin + size < line.size() && line[begin + size].isLowSurrogate()) --size;
            RichBlock block;
            block.join = join;
            block.content.append(withoutSpecialCharacters(line.mid(begin, size)), style);
            blocks.append(block);
            join = BlockJoin::none;
            begin += size;
        }
    }
    return blocks;
}

bool isAllowedLink(const QString& target) {
    const QUrl url(target, QUrl::StrictMode);
    const QString scheme = url.scheme().toLower();
    if (scheme == QLatin1String("mailto")) return url.isValid() && !url.path().isEmpty();
    return (scheme == QLatin1String("http") || scheme == QLatin1String("https")) && url.isValid() &&
           !url.host().isEmpty();
}

}  // namespace hokku::desktop
