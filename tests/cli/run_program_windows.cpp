// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <psapi.h>

#include <stdexcept>

#include "base/windows_text.h"
#include "run_program.h"
#include "support/system.h"
#include "support/windows_times.h"

namespace hokku::testing {

namespace {

/// An inheritable handle, closed at the end.
struct Handle {
    HANDLE handle = INVALID_HANDLE_VALUE;
    Handle() = default;
    explicit Handle(HANDLE opened) : handle(opened) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() {
        if (handle != INVALID_HANDLE_VALUE) CloseHandle(handle);
    }
};

SECURITY_ATTRIBUTES inheritable() {
    return {sizeof(SECURITY_ATTRIBUTES), nullptr, TRUE};
}

HANDLE open_stream(const std::filesystem::path& path, DWORD access) {
    SECURITY_ATTRIBUTES attributes = inheritable();
    const HANDLE handle = CreateFileW(path.c_str(), access, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                      &attributes, OPEN_EXISTING, 0, nullptr);
    if (handle == INVALID_HANDLE_VALUE) throw std::runtime_error("CreateFile " + path.string());
    return handle;
}

/// A pipe's writing end whose reader is gone.
HANDLE closed_pipe() {
    SECURITY_ATTRIBUTES attributes = inheritable();
    HANDLE reader = nullptr, writer = nullptr;
    if (CreatePipe(&reader, &writer, &attributes, 0) == 0) throw std::runtime_error("CreatePipe");
    CloseHandle(reader);
    return writer;
}

/// Source: Microsoft, "Parsing C++ command-line arguments": backslashes count only before quotes.
std::string quoted(const std::string& argument) {
    std::string text = "\"";
    size_t num_backslashes = 0;
    for (const char c : argument) {
        num_backslashes = c == '\\' ? num_backslashes + 1 : num_backslashes;
        if (c == '"') text.append(num_backslashes + 1, '\\');
        if (c != '\\') num_backslashes = 0;
        text.push_back(c);
    }
    return text.append(num_backslashes, '\\') + "\"";
}

ProgramEnd wait_for_end(HANDLE process) {
    constexpr DWORD kLimitMs = 60'000;
    constexpr UINT kAsBySigalrm = 128 + 14;
    if (WaitForSingleObject(process, kLimitMs) != WAIT_OBJECT_0) {
        TerminateProcess(process, kAsBySigalrm);
        WaitForSingleObject(process, INFINITE);
    }
    DWORD code = 0;
    GetExitCodeProcess(process, &code);
    PROCESS_MEMORY_COUNTERS counters = {};
    GetProcessMemoryInfo(process, &counters, sizeof counters);
    return {.status = static_cast<int>(code),
            .peak_kb = static_cast<int64_t>(counters.PeakWorkingSetSize / 1024),
            .cpu_seconds = processor_seconds(process)};
}

}  // namespace

std::string program_suffix() {
    return ".exe";
}

ProgramEnd run_program(const ProgramStart& start) {
    const Handle in(open_stream(start.in, GENERIC_READ)),
        out(start.closed_out ? closed_pipe() : open_stream(start.out, GENERIC_WRITE)),
        err(open_stream(start.err, GENERIC_WRITE));
    STARTUPINFOW startup = {};
    startup.cb = sizeof startup;
    startup.dwFlags = STARTF_USESTDHANDLES;
    startup.hStdInput = in.handle;
    startup.hStdOutput = out.handle;
    startup.hStdError = err.handle;
    const std::wstring& program = start.program.native();
    std::string line = quoted(utf8_from_utf16(program));
    for (const std::string& argument : start.arguments) line += " " + quoted(argument);
    std::wstring wide_line = utf16_from_utf8(line);
    if (!start.home.empty()) set_environment("HOKKU_HOME", start.home);
    PROCESS_INFORMATION process = {};
    const BOOL is_started = CreateProcessW(program.c_str(), wide_line.data(), nullptr, nullptr,
                                           TRUE, 0, nullptr, nullptr, &startup, &process);
    if (!start.home.empty()) unset_environment("HOKKU_HOME");
    if (is_started == 0) throw std::runtime_error("CreateProcess");
    const Handle handle(process.hProcess), thread(process.hThread);
    return wait_for_end(handle.handle);
}

}  // namespace hokku::testing
