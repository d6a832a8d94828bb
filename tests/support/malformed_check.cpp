// SPDX-License-Identifier: Apache-2.0
#include "support/malformed_check.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "support/catch.h"
#include "support/time_limits.h"

namespace hokku::testing {

namespace {

constexpr int64_t kMaxExtraKb = 64 * 1024;
constexpr double kMaxSeconds = 1.0;

bool names_a_cause(const std::string& message, const MalformedFile& file) {
    return std::any_of(file.causes.begin(), file.causes.end(), [&](const std::string& cause) {
        return message.find(cause) != std::string::npos;
    });
}

}  // namespace

std::function<ChildReport(const std::filesystem::path&)> in_child(
    std::function<std::string(const std::filesystem::path&)> message_of) {
    return [message_of = std::move(message_of)](const std::filesystem::path& path) {
        return run_in_child([&] { return message_of(path); });
    };
}

void check_malformed_files(const MalformedTrial& trial) {
    int64_t most_kb = 0;
    double most_seconds = 0;
    size_t num_files = 0, num_cut = 0;
    for (const MalformedFile& file : malformed_files()) {
        if (!trial.is_wanted(file.refused_by)) continue;
        if (file.id.starts_with("A9-cut-at-") && num_cut++ % trial.cut_step != 0) continue;
        ++num_files;
        const ScratchFolder folder;
        const std::filesystem::path path = file.make(folder);
        // Sanitizers make a process several times slower to start and to run.
        const double max_seconds = kMaxSeconds * kTimeFactor;
        ChildReport report = trial.attempt(path);
        // Once more: on a busy machine memory is slower.
        if (report.cpu_seconds > max_seconds) report = trial.attempt(path);
        INFO(file.id << ": " << report.ending << ", message: " << report.text);
        CHECK(report.is_clean);
        CHECK(names_a_cause(report.text, file));
        // The error of a set may name another of its files.
        CHECK((report.text.find(path.filename().string()) != std::string::npos ||
               report.text.find(file.id) != std::string::npos));
        CHECK(report.text.size() < 1000);
        // What stands in the file must not reach a terminal as it is.
        CHECK(report.text == to_printable(report.text, 1000));
        CHECK(report.cpu_seconds <= max_seconds);
        if (measures_memory()) CHECK(report.extra_kb <= kMaxExtraKb);
        most_kb = std::max(most_kb, report.extra_kb);
        most_seconds = std::max(most_seconds, report.cpu_seconds);
    }
    CHECK(num_files >= trial.min_num_files);
    WARN(num_files << " files, at most " << most_kb << " kB and " << most_seconds << " s each");
}

}  // namespace hokku::testing
