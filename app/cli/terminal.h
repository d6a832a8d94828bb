// SPDX-License-Identifier: Apache-2.0
// What of arguments and standard streams differs from system to system. Text is UTF-8 everywhere.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hokku::cli {

/// Before anything is read or written: streams carry bytes as they are, terminals show UTF-8, and a
/// reader that has gone away is an error of writing, not the end of the process.
void prepare_streams();

/// The arguments with the program's name, in UTF-8.
std::vector<std::string> utf8_arguments(int argc, char** argv);

enum class Stream { in, out, err };
bool is_terminal(Stream stream);

/// Waits for bytes on stdin and reads at most `size` of them; 0 at the end, nullopt on an error
/// (errno).
std::optional<size_t> read_stdin_bytes(char* buffer, size_t size);

/// Whether a write failed with `error` (errno) because nobody reads any more.
bool is_reader_gone(int error);

/// Null on an error (errno).
std::FILE* open_to_read(const std::filesystem::path& path);

}  // namespace hokku::cli
