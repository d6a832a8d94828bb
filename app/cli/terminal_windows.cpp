// SPDX-License-Identifier: Apache-2.0
// windows.h comes before shellapi.h, which rests on it.
#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <shellapi.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "terminal.h"

namespace hokku::cli {

namespace {

UINT g_output_code_page = 0;  ///< The terminal's own, given back at the end.

HANDLE handle_of(Stream stream) {
    constexpr DWORD kNames[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
    return GetStdHandle(kNames[static_cast<size_t>(stream)]);
}

/// Colours and the like.
void allow_escape_sequences(Stream stream) {
    DWORD mode = 0;
    if (GetConsoleMode(handle_of(stream), &mode) != 0)
        SetConsoleMode(handle_of(stream), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

std::string to_utf8(const wchar_t* text, int length) {
    if (length == 0) return {};
    // Surrogates by themselves become U+FFFD.
    const int size = WideCharToMultiByte(CP_UTF8, 0, text, length, nullptr, 0, nullptr, nullptr);
    std::string utf8(static_cast<size_t>(size), '\0');
    WideCharToMultiByte(CP_UTF8, 0, text, length, utf8.data(), size, nullptr, nullptr);
    return utf8;
}

/// A console gives UTF-16; its own conversion to UTF-8 loses what is not ASCII. Ctrl-Z at the start
/// of a line ends the input, as in every program of this system.
std::optional<size_t> read_console(char* buffer, size_t size) {
    static std::string pending;  // What did not fit yet.
    static wchar_t high_surrogate = 0;
    while (pending.empty()) {  // Half a character by itself is not the end.
        wchar_t wide[1024];
        DWORD count = 0;
        if (high_surrogate != 0) wide[count++] = high_surrogate;
        DWORD got = 0;
        if (ReadConsoleW(handle_of(Stream::in), wide + count,
                         static_cast<DWORD>(std::size(wide)) - count, &got, nullptr) == 0) {
            errno = EIO;
            return std::nullopt;
        }
        constexpr wchar_t kCtrlZ = 26;
        if (got == 0 || wide[count] == kCtrlZ) return 0;
        count += got;
        high_surrogate = 0;
        if (wide[count - 1] >= 0xD800 && wide[count - 1] < 0xDC00) high_surrogate = wide[--count];
        pending = to_utf8(wide, static_cast<int>(count));
    }
    const size_t count = std::min(size, pending.size());
    std::memcpy(buffer, pending.data(), count);
    pending.erase(0, count);
    return count;
}

}  // namespace

void prepare_streams() {
    for (std::FILE* file : {stdin, stdout, stderr}) _setmode(_fileno(file), _O_BINARY);
    if (is_terminal(Stream::out) || is_terminal(Stream::err)) {
        g_output_code_page = GetConsoleOutputCP();
        SetConsoleOutputCP(CP_UTF8);
        std::atexit([] { SetConsoleOutputCP(g_output_code_page); });
    }
    allow_escape_sequences(Stream::out);
    allow_escape_sequences(Stream::err);
    // Otherwise each byte of a character would go to the terminal by itself.
    std::setvbuf(stdout, nullptr, _IOFBF, 1 << 16);
}

std::vector<std::string> utf8_arguments(int argc, char** argv) {
    std::vector<std::string> arguments;
    int count = 0;
    // As typed: argv has lost what the system's code page does not know, and expands * and ?.
    if (wchar_t** wide = CommandLineToArgvW(GetCommandLineW(), &count)) {
        for (int i = 0; i < count; ++i)
            arguments.push_back(to_utf8(wide[i], static_cast<int>(std::wcslen(wide[i]))));
        LocalFree(wide);
        return arguments;
    }
    return {argv, argv + argc};
}

bool is_terminal(Stream stream) {
    DWORD mode = 0;
    return GetConsoleMode(handle_of(stream), &mode) != 0;
}

std::optional<size_t> read_stdin_bytes(char* buffer, size_t size) {
    if (is_terminal(Stream::in)) return read_console(buffer, size);
    const int count = _read(0, buffer, static_cast<unsigned>(std::min(size, size_t{1} << 30)));
    if (count < 0) return std::nullopt;
    return static_cast<size_t>(count);
}

bool is_reader_gone(int error) {
    // The C library has no number for ERROR_NO_DATA, a pipe that is being closed.
    return error == EPIPE || error == EINVAL;
}

std::FILE* open_to_read(const std::filesystem::path& path) {
    return _wfopen(path.c_str(), L"rb");
}

}  // namespace hokku::cli
