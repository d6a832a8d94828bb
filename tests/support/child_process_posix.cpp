// SPDX-License-Identifier: Apache-2.0
#include "support/child_process.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>

namespace hokku::testing {

namespace {

/// A figure of /proc/self/status in kB, such as "VmRSS:"; 0 where there is none.
int64_t memory_kb(const char* name) {
    std::ifstream status("/proc/self/status");
    std::string word;
    int64_t number = 0;
    while (status >> word)
        if (word == name && status >> number) return number;
    return 0;
}

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// The peak counter starts anew from the present size.
void reset_peak() {
    std::ofstream("/proc/self/clear_refs") << "5";
}

void write_all(int file, const void* data, size_t size) {
    const char* bytes = static_cast<const char*>(data);
    while (size > 0) {
        const ssize_t written = write(file, bytes, size);
        if (written <= 0) return;
        bytes += written;
        size -= static_cast<size_t>(written);
    }
}

[[noreturn]] void run_child(const std::function<std::string()>& body, int to_parent,
                            unsigned limit_s) {
    alarm(limit_s);
    reset_peak();
    const int64_t before_kb = memory_kb("VmRSS:");
    std::string text = body();
    const int64_t extra_kb = memory_kb("VmHWM:") - before_kb;
    write_all(to_parent, &extra_kb, sizeof(extra_kb));
    write_all(to_parent, text.data(), text.size());
    close(to_parent);
    _exit(0);
}

}  // namespace

ChildReport run_in_child(const std::function<std::string()>& body, unsigned limit_s) {
    ChildReport report;
    int ends[2];
    if (pipe(ends) != 0) return report;
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        run_child(body, ends[1], limit_s);
    }
    close(ends[1]);
    std::string received;
    char buffer[4096];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof(buffer))) > 0;)
        received.append(buffer, static_cast<size_t>(got));
    close(ends[0]);
    int status = 0;
    rusage usage = {};
    wait4(child, &status, 0, &usage);
    report.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    report.is_clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    report.ending = WIFEXITED(status) ? "exit status " + std::to_string(WEXITSTATUS(status))
                                      : "signal " + std::to_string(WTERMSIG(status));
    if (received.size() >= sizeof(report.extra_kb)) {
        std::memcpy(&report.extra_kb, received.data(), sizeof(report.extra_kb));
        report.text = received.substr(sizeof(report.extra_kb));
    }
    return report;
}

bool measures_memory() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#else
    return true;
#endif
}

}  // namespace hokku::testing
