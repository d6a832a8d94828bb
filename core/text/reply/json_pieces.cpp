// SPDX-License-Identifier: Apache-2.0
#include "text/reply/json_pieces.h"

#include <nlohmann/json.hpp>

#include "text/reply/reply_buffer.h"

namespace hokku::reply {

namespace {

bool is_shallow(std::string_view json) {
    size_t depth = 0;
    bool is_in_string = false;
    for (size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (is_in_string && c == '\\') {
            ++i;
        } else if (c == '"') {
            is_in_string = !is_in_string;
        } else if (!is_in_string && (c == '{' || c == '[')) {
            if (++depth > kMaxJsonDepth) return false;
        } else if (!is_in_string && (c == '}' || c == ']') && depth > 0) {
            --depth;
        }
    }
    return true;
}

}  // namespace

bool is_json(std::string_view text) {
    return is_shallow(text) && nlohmann::json::accept(text.begin(), text.end());
}

std::optional<std::string> decode_json_string(std::string_view text) {
    if (!text.starts_with('"')) return std::nullopt;
    const auto value = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
    if (!value.is_string()) return std::nullopt;
    return value.get<std::string>();
}

void append_json_string(std::string& out, std::string_view text) {
    using Json = nlohmann::json;
    out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

BracketScanner::Step BracketScanner::push(char c) {
    if (c == kControlSign) return Step::broken;
    if (is_in_string_) {
        if (is_escaped_) {
            is_escaped_ = false;
        } else if (c == '\\') {
            is_escaped_ = true;
        } else if (c == '"') {
            is_in_string_ = false;
        }
        return Step::more;
    }
    constexpr std::string_view kOther = "+-.,:\"{}[] \n\r\t";
    const bool is_letter_or_digit =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter_or_digit && kOther.find(c) == std::string_view::npos) return Step::broken;
    if (c == '"') is_in_string_ = true;
    if (c == '{') brackets_.push_back('}');
    if (c == '[') brackets_.push_back(']');
    if (brackets_.empty() || brackets_.size() > kMaxJsonDepth) return Step::broken;
    if (c == '}' || c == ']') {
        if (brackets_.back() != c) return Step::broken;
        brackets_.pop_back();
        if (brackets_.empty()) return Step::done;
    }
    return Step::more;
}

void BracketScanner::reset() {
    brackets_.clear();
    is_in_string_ = is_escaped_ = false;
}

}  // namespace hokku::reply
