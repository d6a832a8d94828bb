// SPDX-License-Identifier: Apache-2.0
// What every command reads and writes: results on stdout, messages on stderr, whole files and
// lines in. Failing to write is noticed once, here: commands go on and the exit code tells.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "hokku/paths.h"
#include "hokku/result.h"

namespace hokku::cli {

/// Writes to stdout, on a terminal as visible_text(). Returns false once nobody reads any more (a
/// closed pipe, a full disk).
bool write_result(std::string_view text);
/// Hands everything written on; false as above.
bool flush_results();
/// One line of JSON; text that is not valid UTF-8 gets replacement characters.
bool write_json_line(const nlohmann::ordered_json& value);

/// As a terminal can show it: no control characters but line breaks and tabs, valid UTF-8.
std::string visible_text(std::string_view text);

/// On stderr as it is, after the results written so far.
void write_note(std::string_view text);
/// "hokku: TEXT" on stderr, likewise.
void write_message(std::string_view text);
/// The message of an error on stderr; returns the exit code for it.
int fail(const Error& error);
/// As fail, for what was given with the command: a bad_argument is wrong usage.
int fail_arguments(const Error& error);

Result<std::string> read_stdin();
/// The whole file.
Result<std::string> read_file(const std::filesystem::path& path);
/// The file of that name as given on the command line with `option`, which errors name; "-" is
/// stdin.
Result<std::string> read_input(const std::string& name, std::string_view option);
/// The next line of stdin without its end; false at the end of input.
Result<bool> read_stdin_line(std::string& line);
/// Calls handle(line, line_number from 1) for each line of stdin; stops when it fails or when
/// nobody reads the results any more.
Result<void> for_each_stdin_line(
    const std::function<Result<void>(std::string_view line, size_t number)>& handle);

bool is_utf8(std::string_view text);

/// `--option "value"`: where an error is that a value of the command line has.
std::string as_given(std::string_view option, std::string_view value);
/// "1 token", "2 tokens".
std::string counted(uint64_t count, std::string_view noun);

/// "line 2, column 5", both from 1, where reading stopped; "column 5" of a text of one line.
std::string place_of(std::string_view text, size_t bytes_read);

/// JSON from text given by a user; `where` names it in the error.
Result<nlohmann::ordered_json> parse_json(std::string_view text, const std::string& where);

}  // namespace hokku::cli
