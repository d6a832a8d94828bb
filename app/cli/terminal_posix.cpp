// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "terminal.h"

namespace hokku::cli {

void prepare_streams() {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // likewise: a file that may not grow further
}

std::vector<std::string> utf8_arguments(int argc, char** argv) {
    return {argv, argv + argc};
}

bool is_terminal(Stream stream) {
    constexpr int kNumbers[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    return isatty(kNumbers[static_cast<size_t>(stream)]) != 0;
}

std::optional<size_t> read_stdin_bytes(char* buffer, size_t size) {
    ssize_t count = 0;
    do {
        count = read(STDIN_FILENO, buffer, size);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return std::nullopt;
    return static_cast<size_t>(count);
}

bool is_reader_gone(int error) {
    return error == EPIPE;
}

std::FILE* open_to_read(const std::filesystem::path& path) {
    return std::fopen(path.c_str(), "rb");
}

}  // namespace hokku::cli
