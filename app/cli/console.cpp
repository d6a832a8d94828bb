// SPDX-License-Identifier: Apache-2.0
#include "console.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>

#include "commands.h"

namespace hokku::cli {

namespace {

using Json = nlohmann::ordered_json;

bool is_output_lost = false;

void lose_output() {
    // A reader that has seen enough (head -1) is no failure worth words.
    if (!is_output_lost && errno != EPIPE) {
        write_message(std::string("cannot write the result: ") + std::strerror(errno));
    }
    is_output_lost = true;
}

Result<std::string> read_stream(std::FILE* file, const std::string& name) {
    std::string text;
    char buffer[1 << 16];
    size_t count = 0;
    while ((count = std::fread(buffer, 1, sizeof buffer, file)) > 0) text.append(buffer, count);
    if (std::ferror(file) != 0) {
        return Error{ErrorCode::io, std::string("cannot read: ") + std::strerror(errno), name, ""};
    }
    return text;
}

}  // namespace

bool write_result(std::string_view text) {
    if (!is_output_lost && std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
        lose_output();
    }
    return !is_output_lost;
}

bool flush_results() {
    if (!is_output_lost && std::fflush(stdout) != 0) lose_output();
    return !is_output_lost;
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

void write_message(std::string_view text) {
    // Messages quote files and arguments: no control codes for the terminal out of these.
    std::string line = "hokku: ";
    for (const char c : text) {
        const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
        line += is_control && c != '\n' && c != '\t' ? '?' : c;
    }
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stderr);
}

int fail(const Error& error) {
    const char* origin = error.code == ErrorCode::bad_template ? "chat template: " : "";
    write_message(origin + error.message());
    return kFailed;
}

int fail_arguments(const Error& error) {
    write_message(error.message());
    return error.code == ErrorCode::bad_argument ? kWrongUsage : kFailed;
}

Result<std::string> read_stdin() {
    return read_stream(stdin, "stdin");
}

Result<std::string> read_file(const std::filesystem::path& path) {
    if (path == "-") return read_stdin();
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        return Error{ErrorCode::io, "cannot read a folder", path.string(), "a file"};
    }
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) {
        return Error{ErrorCode::io, std::string("cannot open: ") + std::strerror(errno),
                     path.string(), "a readable file"};
    }
    Result<std::string> text = read_stream(file, path.string());
    std::fclose(file);
    return text;
}

Result<void> for_each_stdin_line(
    const std::function<Result<void>(std::string_view line, size_t number)>& handle) {
    char* buffer = nullptr;
    size_t capacity = 0;
    Result<void> result;
    for (size_t number = 1; result.ok(); ++number) {
        const ssize_t length = getline(&buffer, &capacity, stdin);
        if (length < 0) break;
        std::string_view line(buffer, static_cast<size_t>(length));
        if (line.ends_with('\n')) line.remove_suffix(1);
        result = handle(line, number);
        // Line by line, so that a program can talk to this one through pipes.
        if (!flush_results()) break;
    }
    std::free(buffer);
    return result;
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
        return Error{ErrorCode::bad_format, std::string("not valid JSON: ") + error.what(), where,
                     "one JSON value"};
    }
}

}  // namespace hokku::cli
