// SPDX-License-Identifier: Apache-2.0
#include "console.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "commands.h"
#include "terminal.h"
#include "typed_names.h"

namespace hokku::cli {

namespace {

using Json = nlohmann::ordered_json;

/// stdout, and whether it has failed.
class Results {
  public:
    bool write(std::string_view text) {
        std::string visible;
        if (is_shown_) text = visible = visible_text(text);
        if (!is_lost_ && std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) lose();
        return !is_lost_;
    }
    bool flush() {
        if (!is_lost_ && std::fflush(stdout) != 0) lose();
        return !is_lost_;
    }

  private:
    void lose() {
        // A reader that has seen enough (head -1) is no failure worth words.
        const int reason = errno;
        if (std::exchange(is_lost_, true) || is_reader_gone(reason)) return;
        write_message(std::string("cannot write the result: ") + std::strerror(reason));
    }
    bool is_shown_ = is_terminal(Stream::out);
    bool is_lost_ = false;
};

/// stdin, read in pieces.
class Input {
  public:
    /// Moves the text up to `end` behind `text`, and on to what follows it. Returns false where
    /// there is no `end`: then all that was read has been moved.
    bool take_until(char end, std::string& text) {
        const size_t found = unread_.find(end, begin_);
        text.append(unread_, begin_, found - begin_);
        begin_ = found == std::string::npos ? unread_.size() : found + 1;
        return found != std::string::npos;
    }
    void take_all(std::string& text) {
        text.append(unread_, begin_);
        begin_ = unread_.size();
    }
    /// Needs  : all has been taken. Returns false at the end of input.
    Result<bool> read_more() {
        begin_ = 0;
        unread_.resize(size_t{1} << 16);
        const std::optional<size_t> count = read_stdin_bytes(unread_.data(), unread_.size());
        unread_.resize(count.value_or(0));
        if (count) return *count > 0;
        return Error{ErrorCode::io, std::string("cannot read: ") + std::strerror(errno), "stdin",
                     ""};
    }

  private:
    std::string unread_;  ///< From begin_ on not yet handed out.
    size_t begin_ = 0;
};

/// What the process has one of.
struct Console {
    Results results;
    Input input;
};

Console& console() {
    static Console owner;
    return owner;
}

/// Devices and pipes have no end of their own.
constexpr size_t kMaxInputBytes = size_t{256} << 20;

Error too_large(const std::string& name) {
    return {ErrorCode::limit_exceeded, "the input is too large", name,
            "at most " + std::to_string(kMaxInputBytes >> 20) + " MiB"};
}

/// The length of the character that text starts with: 0 where that is not valid UTF-8.
size_t character_length(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
    for (size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0u) != 0x80) return 0;
    }
    const bool is_overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
    const bool is_no_character =
        (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
    return is_overlong || is_no_character ? 0 : length;
}

/// The same, and 0 too for what a terminal does not show.
size_t visible_length(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const size_t length = character_length(text);
    const bool is_control =
        length == 1   ? (byte(0) < 0x20 || byte(0) == 0x7f) && byte(0) != '\n' && byte(0) != '\t'
        : length == 2 ? byte(0) == 0xc2 && byte(1) < 0xa0
                      : false;
    return is_control ? 0 : length;
}

/// Where a text stops being JSON, and why, in plain words.
std::string reason_of(const nlohmann::json::exception& error, std::string_view text) {
    const auto* place = dynamic_cast<const nlohmann::json::parse_error*>(&error);
    if (place == nullptr) return "a number is too large";
    const std::string_view said = error.what();
    std::string reason = place_of(text, place->byte);
    if (said.find("unexpected end of input") != std::string_view::npos) reason += ": it ends there";
    if (said.find("UTF-8") != std::string_view::npos) reason += ": it is not UTF-8";
    return reason;
}

Result<std::string> read_stream(std::FILE* file, const std::string& name) {
    std::string text;
    char buffer[1 << 16];
    size_t count = 0;
    while ((count = std::fread(buffer, 1, sizeof buffer, file)) > 0) {
        if (count > kMaxInputBytes - text.size()) return too_large(name);
        text.append(buffer, count);
    }
    if (std::ferror(file) != 0) {
        return Error{ErrorCode::io, std::string("cannot read: ") + std::strerror(errno), name, ""};
    }
    return text;
}

}  // namespace

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const size_t length = character_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string as_given(std::string_view option, std::string_view value) {
    return as_typed(std::string(option)) + " \"" + std::string(value) + "\"";
}

std::string counted(uint64_t count, std::string_view noun) {
    return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string place_of(std::string_view text, size_t bytes_read) {
    const std::string_view before =
        text.substr(0, std::min(text.size(), std::max<size_t>(bytes_read, 1) - 1));
    const size_t line_start = before.rfind('\n') + 1;  // 0 where there is none
    const std::string column = "column " + std::to_string(before.size() - line_start + 1);
    if (text.find('\n') == std::string_view::npos) return column;
    return "line " + std::to_string(std::count(before.begin(), before.end(), '\n') + 1) + ", " +
           column;
}

std::string visible_text(std::string_view text) {
    std::string visible;
    while (!text.empty()) {
        const size_t length = visible_length(text);
        visible += length > 0 ? text.substr(0, length) : "?";
        text.remove_prefix(std::max<size_t>(length, 1));
    }
    return visible;
}

bool write_result(std::string_view text) {
    return console().results.write(text);
}

bool flush_results() {
    return console().results.flush();
}

bool write_json_line(const nlohmann::ordered_json& value) {
    std::string line = value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    // Many readers of lines (Python's splitlines) also break at these three characters.
    for (const auto& [character, escape] :
         {std::pair{"\xc2\x85", "\\u0085"}, std::pair{"\xe2\x80\xa8", "\\u2028"},
          std::pair{"\xe2\x80\xa9", "\\u2029"}}) {
        for (size_t at = 0; (at = line.find(character, at)) != std::string::npos;) {
            line.replace(at, std::strlen(character), escape);
        }
    }
    return write_result(line + "\n");
}

void write_note(std::string_view text) {
    flush_results();
    std::fwrite(text.data(), 1, text.size(), stderr);
}

void write_message(std::string_view text) {
    // Messages quote files and arguments: no control codes for the terminal out of these.
    write_note("hokku: " + visible_text(text) + "\n");
}

int fail(const Error& error) {
    const bool is_named = error.what.find("chat template") != std::string::npos;
    const char* origin =
        error.code == ErrorCode::bad_template && !is_named ? "chat template: " : "";
    write_message(origin + error.message());
    return kFailed;
}

int fail_arguments(const Error& error) {
    write_message(error.message());
    return error.code == ErrorCode::bad_argument ? kWrongUsage : kFailed;
}

Result<std::string> read_stdin() {
    std::string text;
    while (true) {
        console().input.take_all(text);
        if (text.size() > kMaxInputBytes) return too_large("stdin");
        Result<bool> is_there = console().input.read_more();
        if (!is_there) return is_there.error();
        if (!*is_there) return text;
    }
}

Result<std::string> read_input(const std::string& name, std::string_view option) {
    Result<std::string> text = name == "-" ? read_stdin() : read_file(path_from_utf8(name));
    if (text) return text;
    Error error = text.error();
    error.where = as_typed(std::string(option)) + " " + name;
    return error;
}

Result<std::string> read_file(const std::filesystem::path& path) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        return Error{ErrorCode::io, "cannot read a folder", path.string(), "a file"};
    }
    std::FILE* file = open_to_read(path);
    if (file == nullptr) {
        return Error{ErrorCode::io, std::string("cannot open: ") + std::strerror(errno),
                     path.string(), "a readable file"};
    }
    Result<std::string> text = read_stream(file, path.string());
    std::fclose(file);
    return text;
}

Result<bool> read_stdin_line(std::string& line) {
    line.clear();
    while (true) {
        const bool is_whole = console().input.take_until('\n', line);
        if (line.size() > kMaxInputBytes) return too_large("a line of stdin");
        if (is_whole) return true;
        Result<bool> is_there = console().input.read_more();
        if (!is_there) return is_there.error();
        if (!*is_there) return !line.empty();
    }
}

Result<void> for_each_stdin_line(
    const std::function<Result<void>(std::string_view line, size_t number)>& handle) {
    std::string line;
    for (size_t number = 1;; ++number) {
        Result<bool> is_there = read_stdin_line(line);
        if (!is_there) return is_there.error();
        if (!*is_there) return {};
        if (Result<void> handled = handle(line, number); !handled) return handled;
        // Line by line, so that a program can talk to this one through pipes.
        if (!flush_results()) return {};
    }
}

Result<nlohmann::ordered_json> parse_json(std::string_view text, const std::string& where) {
    // Deeper values than any chat has would overflow the stack of what walks them.
    constexpr int kMaxDepth = 200;
    bool is_too_deep = false;
    const auto check_depth = [&](int depth, Json::parse_event_t, const Json&) {
        is_too_deep = is_too_deep || depth > kMaxDepth;
        return !is_too_deep;  // Nothing is kept from there on.
    };
    try {
        Json value = Json::parse(text, check_depth);
        if (!is_too_deep) return value;
        return Error{ErrorCode::bad_format, "JSON is nested too deeply", where,
                     "at most " + std::to_string(kMaxDepth) + " levels"};
    } catch (const nlohmann::json::exception& error) {
        return Error{ErrorCode::bad_format, "not valid JSON: " + reason_of(error, text), where,
                     "one JSON value"};
    }
}

}  // namespace hokku::cli
