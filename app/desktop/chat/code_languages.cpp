// SPDX-License-Identifier: Apache-2.0
#include "chat/code_languages.h"

#include <QVector>

namespace hokku::desktop {
namespace {

QSet<QString> words(const char* text) {
    const QStringList list = QString::fromLatin1(text).split(QLatin1Char(' '), Qt::SkipEmptyParts);
    return {list.begin(), list.end()};
}

QStringList names(const char* text) {
    return QString::fromLatin1(text).split(QLatin1Char(' '), Qt::SkipEmptyParts);
}

QSet<QString> curlyKeywords() {
    return words(
        "abstract as async await break case catch class concept const consteval constexpr "
        "constinit continue co_await co_return co_yield debugger decltype default defer delete do "
        "dyn else enum explicit export extends extern final finally fn for foreach friend from "
        "func function get go goto guard if impl implements import in inline instanceof interface "
        "internal is let loop match mod module mut mutable namespace new noexcept operator out "
        "override package private protected pub public readonly record ref requires return sealed "
        "select set sizeof static static_assert struct super switch synchronized template this "
        "throw throws trait try type typedef typename typeof union unsafe use using val var "
        "virtual volatile when where while with yield");
}

QSet<QString> curlyTypes() {
    return words(
        "auto bool boolean byte char char8_t char16_t char32_t double error f32 f64 false float "
        "i8 i16 i32 i64 int int8_t int16_t int32_t int64_t long never nil None null nullptr number "
        "object Ok Err Option Result rune Self self short signed size_t Some str string String "
        "true u8 u16 u32 u64 uint uint8_t uint16_t uint32_t uint64_t undefined unknown unsigned "
        "usize isize void any Vec");
}

CodeHighlighter::Language curly(const char* name, const char* aliases) {
    return {.name = QString::fromLatin1(name),
            .aliases = names(aliases),
            .keywords = curlyKeywords(),
            .types = curlyTypes(),
            .lineComments = {QStringLiteral("//")},
            .blockComments = {QStringLiteral("/*"), QStringLiteral("*/")},
            .quotes = QStringLiteral("\""),
            .hasCharacters = true};
}

CodeHighlighter::Language cLike(const char* name, const char* aliases) {
    CodeHighlighter::Language language = curly(name, aliases);
    language.hasDirectives = true;
    return language;
}

CodeHighlighter::Language script(const char* name, const char* aliases) {
    CodeHighlighter::Language language = curly(name, aliases);
    language.quotes = QStringLiteral("\"'");
    language.hasCharacters = false;
    language.longQuotes = {QStringLiteral("`")};
    return language;
}

CodeHighlighter::Language python() {
    return {.name = QStringLiteral("Python"),
            .aliases = names("python py python3 py3 ipython"),
            .keywords = words(
                "and as assert async await break case class continue def del elif else except "
                "finally for from global if import in is lambda match nonlocal not or pass raise "
                "return try while with yield"),
            .types = words("False None True bool bytes dict float int list object self cls set str "
                           "tuple type"),
            .lineComments = {QStringLiteral("#")},
            .quotes = QStringLiteral("\"'"),
            .longQuotes = {QStringLiteral("\"\"\""), QStringLiteral("'''")}};
}

CodeHighlighter::Language shell() {
    return {.name = QStringLiteral("Shell"),
            .aliases = names("shell sh bash zsh fish console terminal shellsession"),
            .keywords = words(
                "case do done elif else esac exit export fi for function if in local read return "
                "select set shift source then trap unset until while"),
            .types = words("alias cat cd chmod chown cp curl cut echo eval exec false find grep "
                           "kill ls make mkdir mv printf pwd rm sed sort sudo tail tar test touch "
                           "true wc xargs"),
            .lineComments = {QStringLiteral("#")},
            .quotes = QStringLiteral("\"'"),
            .hasVariables = true};
}

CodeHighlighter::Language sql() {
    return {.name = QStringLiteral("SQL"),
            .aliases = names("sql sqlite postgresql postgres mysql plsql tsql"),
            .keywords = words(
                "add all alter and as asc begin between by case check column commit constraint "
                "create cross database default delete desc distinct drop else end exists explain "
                "foreign from full group having if in index inner insert into is join key left "
                "like limit not offset on or order outer over partition primary references right "
                "rollback select set table then transaction trigger union unique update using "
                "values view when where with"),
            .types = words("avg bigint blob boolean char count date decimal double float int "
                           "integer max min null numeric real sum text time timestamp varchar "
                           "true false"),
            .lineComments = {QStringLiteral("--")},
            .blockComments = {QStringLiteral("/*"), QStringLiteral("*/")},
            .quotes = QStringLiteral("'\""),
            .ignoresCase = true};
}

CodeHighlighter::Language json() {
    return {.name = QStringLiteral("JSON"),
            .aliases = names("json jsonc json5 jsonl"),
            .keywords = {},
            .types = words("true false null"),
            .lineComments = {QStringLiteral("//")},
            .blockComments = {QStringLiteral("/*"), QStringLiteral("*/")},
            .quotes = QStringLiteral("\""),
            .hasKeys = true};
}

CodeHighlighter::Language settings(const char* name, const char* aliases) {
    return {.name = QString::fromLatin1(name),
            .aliases = names(aliases),
            .keywords = {},
            .types = words("true false null yes no on off"),
            .lineComments = {QStringLiteral("#")},
            .quotes = QStringLiteral("\"'"),
            .hasKeys = true};
}

CodeHighlighter::Language other(const char* name, const char* aliases, CodeGrammar grammar) {
    return {.name = QString::fromLatin1(name),
            .aliases = names(aliases),
            .grammar = grammar,
            .keywords = {},
            .types = {}};
}

QVector<CodeHighlighter::Language> makeLanguages() {
    return {cLike("C", "c h"),
            cLike("C++", "cpp c++ cc cxx hpp hxx cuda cu"),
            cLike("C#", "csharp cs c#"),
            curly("Java", "java"),
            curly("Kotlin", "kotlin kt"),
            curly("Rust", "rust rs"),
            curly("Swift", "swift"),
            script("PHP", "php"),
            script("CSS", "css scss less"),
            script("Go", "go golang"),
            script("JavaScript", "javascript js jsx mjs node"),
            script("TypeScript", "typescript ts tsx"),
            python(),
            shell(),
            sql(),
            json(),
            settings("YAML", "yaml yml"),
            settings("TOML", "toml ini cfg conf properties"),
            other("Markdown", "markdown md mdown", CodeGrammar::markdown),
            other("HTML", "html htm xhtml vue svelte", CodeGrammar::markup),
            other("XML", "xml svg plist", CodeGrammar::markup)};
}

}  // namespace

const CodeHighlighter::Language* findLanguage(const QString& name) {
    static const QVector<CodeHighlighter::Language> languages = makeLanguages();
    const QString key = name.toLower();
    for (const CodeHighlighter::Language& language : languages)
        if (language.aliases.contains(key)) return &language;
    return nullptr;
}

}  // namespace hokku::desktop
