// SPDX-License-Identifier: Apache-2.0
#include "text/reply/literal_values.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "text/reply/json_pieces.h"
#include "text/reply/reply_buffer.h"

namespace hokku::reply {
namespace {

/// Of Python.
bool is_identifier_byte(char c) {
    return is_name_byte(c) && c != '-' && c != '.';
}

/// A text and how much of it has been read. Every step says whether it found what it looks for.
class Source {
  public:
    explicit Source(std::string_view text) : text_(text) {}
    [[nodiscard]] bool is_at_end() const { return text_.empty(); }
    [[nodiscard]] char next() const { return text_.empty() ? '\0' : text_.front(); }
    [[nodiscard]] std::string_view rest() const { return text_; }
    void skip(size_t num_bytes) { text_.remove_prefix(num_bytes); }
    void skip_space() {
        while (!text_.empty() && is_space(text_.front())) text_.remove_prefix(1);
    }
    /// White space, and then this.
    bool take(std::string_view literal) {
        skip_space();
        if (literal.empty() || !text_.starts_with(literal)) return false;
        skip(literal.size());
        return true;
    }
    template <class Predicate>
    std::string_view take_while(Predicate&& is_wanted) {
        const auto end = std::find_if_not(text_.begin(), text_.end(), is_wanted);
        const auto found = text_.substr(0, static_cast<size_t>(end - text_.begin()));
        skip(found.size());
        return found;
    }

  private:
    std::string_view text_;
};

class PythonReader {
  public:
    explicit PythonReader(std::string_view text) : source_(text), num_bytes_(text.size()) {}

    bool read_value(std::string& out, size_t depth = 0) {
        source_.skip_space();
        const char c = source_.next();
        if (depth > kMaxJsonDepth) return false;
        if (c == '"' || c == '\'') {
            std::string text;
            if (!read_strings(text)) return false;
            append_json_string(out, text);
            return true;
        }
        if (c == '[') return read_list(out, ']', depth);
        if (c == '(') return read_list(out, ')', depth);
        if (c == '{') return read_dict(out, depth);
        return read_word(out);
    }
    bool is_at_end() {
        source_.skip_space();
        return source_.is_at_end();
    }

    bool read_calls(std::vector<LiteralCall>& calls) {
        const bool is_list = source_.take("[");
        for (;;) {
            source_.skip_space();
            if (is_list ? source_.take("]") : source_.is_at_end()) break;
            if (!read_call(calls.emplace_back())) return false;
            if (!source_.take(",") && !source_.take(";") && is_list)
                return source_.take("]") && is_at_end();
        }
        return is_at_end();
    }

  private:
    bool read_call(LiteralCall& call, bool is_printed = false) {
        source_.skip_space();
        if (!is_printed) call.begin = num_bytes_ - source_.rest().size();
        std::string_view name = source_.take_while(is_name_byte);
        if (name.empty() || !source_.take("(")) return false;
        if (name == "print" && !is_printed) return read_call(call, true) && source_.take(")");
        if (name.ends_with(".call")) name.remove_suffix(5);
        if (const size_t dot = name.rfind('.'); dot != std::string_view::npos)
            name.remove_prefix(dot + 1);
        call.name = name;
        call.arguments_json = "{";
        while (!source_.take(")")) {
            if (call.arguments_json.size() > 1) {
                if (!source_.take(",")) return false;
                if (source_.take(")")) break;
                call.arguments_json += ',';
            }
            source_.skip_space();
            const std::string_view key = source_.take_while(is_identifier_byte);
            if (key.empty() || !source_.take("=")) return false;
            append_json_string(call.arguments_json, key);
            call.arguments_json += ':';
            if (!read_value(call.arguments_json)) return false;
        }
        call.arguments_json += '}';
        return !call.name.empty();
    }

    bool read_list(std::string& out, char close, size_t depth) {
        source_.skip(1);
        out += '[';
        const std::string_view end(&close, 1);
        for (bool is_first = true; !source_.take(end); is_first = false) {
            if (!is_first) {
                if (!source_.take(",")) return false;
                if (source_.take(end)) break;
                out += ',';
            }
            if (!read_value(out, depth + 1)) return false;
        }
        out += ']';
        return true;
    }

    bool read_dict(std::string& out, size_t depth) {
        source_.skip(1);
        out += '{';
        for (bool is_first = true; !source_.take("}"); is_first = false) {
            if (!is_first) {
                if (!source_.take(",")) return false;
                if (source_.take("}")) break;
                out += ',';
            }
            source_.skip_space();
            std::string key;
            if ((source_.next() != '"' && source_.next() != '\'') || !read_strings(key))
                return false;
            append_json_string(out, key);
            if (!source_.take(":")) return false;
            out += ':';
            if (!read_value(out, depth + 1)) return false;
        }
        out += '}';
        return true;
    }

    bool read_word(std::string& out) {
        const std::string_view word =
            source_.take_while([](char c) { return is_name_byte(c) || c == '+'; });
        if (word == "True" || word == "true") {
            out += "true";
        } else if (word == "False" || word == "false") {
            out += "false";
        } else if (word == "None" || word == "null") {
            out += "null";
        } else {
            if (!is_json(word)) return false;
            out += word;
        }
        return true;
    }

    /// One string or several in a row, which Python joins.
    bool read_strings(std::string& text) {
        do {
            const char c = source_.next();
            const std::string long_quote(3, c);
            const bool is_long = source_.rest().starts_with(long_quote);
            source_.skip(is_long ? 3 : 1);
            if (!read_to_quote(text, is_long ? std::string_view(long_quote)
                                             : std::string_view(long_quote).substr(0, 1)))
                return false;
            source_.skip_space();
        } while (source_.next() == '"' || source_.next() == '\'');
        return true;
    }
    bool read_to_quote(std::string& text, std::string_view quote) {
        while (!source_.is_at_end()) {
            if (source_.rest().starts_with(quote)) {
                source_.skip(quote.size());
                return true;
            }
            const char c = source_.next();
            source_.skip(1);
            if (c != '\\') {
                if (c != kControlSign) text += c;
            } else if (!read_escape(text)) {
                return false;
            }
        }
        return false;
    }
    bool read_escape(std::string& text) {
        if (source_.is_at_end()) return false;
        const char c = source_.next();
        source_.skip(1);
        constexpr std::string_view kNames = "ntrbfv0a\\'\"", kBytes("\n\t\r\b\f\v\0\a\\'\"", 11);
        if (c == 'x') return read_code(text, 2);
        if (c == 'u') return read_code(text, 4);
        if (c == 'U') return read_code(text, 8);
        if (c == '\n') return true;  // a line that goes on
        const size_t found = kNames.find(c);
        if (found < kBytes.size()) {
            text += kBytes[found];
        } else {  // not an escape: Python keeps both
            text += '\\';
            text += c;
        }
        return true;
    }
    bool read_code(std::string& text, size_t num_digits) {
        uint32_t code = 0;
        if (!read_hex(num_digits, code)) return false;
        constexpr uint32_t kHigh = 0xD800, kLow = 0xDC00;
        if (code >= kHigh && code < kLow && source_.rest().starts_with("\\u")) {
            const std::string_view before = source_.rest();
            source_.skip(2);
            uint32_t low = 0;
            if (read_hex(4, low) && low >= kLow && low < kLow + 0x400) {
                code = 0x10000 + ((code - kHigh) << 10) + (low - kLow);
            } else {
                source_ = Source(before);
            }
        }
        append_utf8(text, static_cast<char32_t>(code));
        return true;
    }
    bool read_hex(size_t num_digits, uint32_t& code) {
        const std::string_view digits = source_.rest().substr(0, num_digits);
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        if (digits.size() < num_digits || read.ptr != digits.data() + digits.size()) return false;
        source_.skip(num_digits);
        return true;
    }

    Source source_;
    size_t num_bytes_;  ///< Of the whole text.
};

class GemmaReader {
  public:
    GemmaReader(std::string_view text, std::string_view quote) : source_(text), quote_(quote) {}

    bool read_object(std::string& out, size_t depth = 0) {
        if (depth > kMaxJsonDepth || !source_.take("{")) return false;
        out += '{';
        for (bool is_first = true; !source_.take("}"); is_first = false) {
            if (!is_first) {
                if (!source_.take(",")) return false;
                out += ',';
            }
            if (!read_key(out) || !source_.take(":")) return false;
            out += ':';
            if (!read_value(out, depth + 1)) return false;
        }
        out += '}';
        return true;
    }
    bool is_at_end() {
        source_.skip_space();
        return source_.is_at_end();
    }

  private:
    bool read_quoted(std::string& out) {
        const size_t end = source_.rest().find(quote_);
        if (end == std::string_view::npos) return false;
        append_json_string(out, without_control_signs(source_.rest().substr(0, end)));
        source_.skip(end + quote_.size());
        return true;
    }
    bool read_key(std::string& out) {
        if (source_.take(quote_)) return read_quoted(out);
        if (source_.next() == '"') return read_json_string(out);
        const std::string_view key =
            source_.take_while([](char c) { return c != ':' && c != ',' && c != '}' && c != '{'; });
        if (key.empty()) return false;
        append_json_string(out, without_control_signs(key));
        return true;
    }
    bool read_json_string(std::string& out) {
        BracketScanner scanner;  // follows escapes; the bracket is only to begin with
        scanner.push('[');
        size_t length = 0;
        do {
            if (length == source_.rest().size()) return false;
            scanner.push(source_.rest()[length++]);
        } while (scanner.is_in_string());
        const auto text = decode_json_string(source_.rest().substr(0, length));
        if (!text) return false;
        append_json_string(out, *text);
        source_.skip(length);
        return true;
    }
    bool read_list(std::string& out, size_t depth) {
        source_.skip(1);
        out += '[';
        for (bool is_first = true; !source_.take("]"); is_first = false) {
            if (!is_first) {
                if (!source_.take(",")) return false;
                out += ',';
            }
            if (!read_value(out, depth + 1)) return false;
        }
        out += ']';
        return true;
    }
    bool read_value(std::string& out, size_t depth) {
        if (depth > kMaxJsonDepth) return false;
        if (source_.take(quote_)) return read_quoted(out);
        if (source_.next() == '{') return read_object(out, depth);
        if (source_.next() == '[') return read_list(out, depth);
        if (source_.next() == '"') return read_json_string(out);
        std::string_view word = source_.take_while(
            [](char c) { return c != ',' && c != '}' && c != ']' && c != '{' && c != '['; });
        while (!word.empty() && is_space(word.back())) word.remove_suffix(1);
        if (word.empty()) return false;
        if (word == "None") word = "null";
        if (is_json(word)) {
            out += word;
        } else {
            append_json_string(out, without_control_signs(word));
        }
        return true;
    }

    Source source_;
    std::string_view quote_;
};

}  // namespace

std::optional<std::string> python_value_as_json(std::string_view text) {
    PythonReader reader(text);
    std::string json;
    if (!reader.read_value(json) || !reader.is_at_end()) return std::nullopt;
    return json;
}

std::optional<std::vector<LiteralCall>> python_calls(std::string_view text) {
    PythonReader reader(text);
    std::vector<LiteralCall> calls;
    if (!reader.read_calls(calls) || calls.empty()) return std::nullopt;
    return calls;
}

std::optional<std::string> gemma_object_as_json(std::string_view text, std::string_view quote) {
    GemmaReader reader(text, quote);
    std::string json;
    if (!reader.read_object(json) || !reader.is_at_end()) return std::nullopt;
    return json;
}

}  // namespace hokku::reply
