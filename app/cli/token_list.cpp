// SPDX-License-Identifier: Apache-2.0
#include "token_list.h"

#include <charconv>
#include <optional>

#include "console.h"

namespace hokku::cli {

namespace {

constexpr std::string_view kSpaces = " \t\r\n", kSeparators = " \t\r\n,";

std::string_view trimmed(std::string_view text, std::string_view unwanted) {
    const size_t first = text.find_first_not_of(unwanted);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(unwanted) - first + 1);
}

Error not_an_id(std::string_view word) {
    return {ErrorCode::bad_argument, "not a token id",
            "\"" + std::string(word.substr(0, 40)) + "\"", "a list of ids such as 1,2,3 or @FILE"};
}

/// A whole number from 0 to the largest id.
std::optional<TokenId> read_id(std::string_view word) {
    TokenId id = 0;
    const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), id);
    const bool is_id = status == std::errc() && end == word.data() + word.size() && id >= 0;
    return is_id ? std::optional(id) : std::nullopt;
}

}  // namespace

Result<std::vector<TokenId>> parse_token_list(std::string_view text) {
    text = trimmed(text, kSpaces);
    if (text.starts_with('[') && text.ends_with(']') && text.size() >= 2) {
        text = text.substr(1, text.size() - 2);
    }
    std::vector<TokenId> ids;
    while (!(text = trimmed(text, kSpaces)).empty()) {
        const std::string_view word = text.substr(0, text.find_first_of(kSeparators));
        const std::optional<TokenId> id = read_id(word);
        if (!id) return not_an_id(word);
        ids.push_back(*id);
        text = trimmed(text.substr(word.size()), kSpaces);
        if (!text.starts_with(',')) continue;
        text.remove_prefix(1);
        if (trimmed(text, kSpaces).empty()) return not_an_id("");
    }
    return ids;
}

Result<std::vector<TokenId>> read_token_list(const std::string& text, const std::string& option) {
    if (text == "@") {
        return Error{ErrorCode::bad_argument, "the list of token ids has no file", option + " @",
                     "@FILE, or @- for stdin"};
    }
    std::string list = text;
    const bool is_file = text.starts_with('@');
    if (is_file) {
        Result<std::string> content = read_input(text.substr(1), option);
        if (!content) {
            Error error = content.error();
            error.where = option + " " + text;
            return error;
        }
        list = std::move(*content);
    }
    const std::string given = is_file ? option + " " + text : as_given(option, text);
    Result<std::vector<TokenId>> ids = parse_token_list(list);
    if (!ids) {
        Error error = ids.error();
        error.where = (is_file ? given : option) + ", " + error.where;
        return error;
    }
    if (ids->empty()) {
        return Error{ErrorCode::bad_argument, "the list of token ids is empty", given,
                     "at least one id"};
    }
    return ids;
}

Result<void> replace_token(const std::string& replacement, std::vector<TokenId>& ids) {
    const auto wrong = [&](std::string what, std::string expected) {
        return Error{ErrorCode::bad_argument, std::move(what), "--replace " + replacement,
                     std::move(expected)};
    };
    const std::string_view text = replacement;
    const size_t cut = text.find('=');
    if (cut == std::string_view::npos) return wrong("not a replacement", "INDEX=ID, as in 3=1879");
    const std::optional<TokenId> index = read_id(text.substr(0, cut));
    const std::optional<TokenId> id = read_id(text.substr(cut + 1));
    if (!index || !id) return wrong("not a replacement", "INDEX=ID, as in 3=1879");
    const auto place = static_cast<size_t>(*index);
    if (place >= ids.size())
        return wrong("there is no token " + std::to_string(place),
                     "an index below " + std::to_string(ids.size()));
    ids.resize(place);
    ids.push_back(*id);
    return {};
}

Result<void> check_ids(std::span<const TokenId> ids, uint32_t num_vocab, const char* option) {
    for (const TokenId id : ids) {
        if (static_cast<uint32_t>(id) >= num_vocab)
            return Error{ErrorCode::bad_argument, "there is no token " + std::to_string(id), option,
                         "ids below " + std::to_string(num_vocab)};
    }
    return {};
}

std::string format_token_list(std::span<const TokenId> ids) {
    std::string text;
    for (const TokenId id : ids) {
        if (!text.empty()) text += ',';
        text += std::to_string(id);
    }
    return text;
}

}  // namespace hokku::cli
