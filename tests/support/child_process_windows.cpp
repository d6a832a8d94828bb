// SPDX-License-Identifier: Apache-2.0
// Windows cannot fork: the piece runs in this process. A crash or a hang then ends the whole test,
// and its memory is not told apart from that of others.
#include "support/child_process.h"
#include "support/windows_times.h"

namespace hokku::testing {

ChildReport run_in_child(const std::function<std::string()>& body, unsigned /*limit_s*/) {
    ChildReport report;
    const double start = processor_seconds(GetCurrentProcess());
    report.text = body();
    report.cpu_seconds = processor_seconds(GetCurrentProcess()) - start;
    report.is_clean = true;
    report.ending = "returned";
    return report;
}

bool measures_memory() {
    return false;
}

}  // namespace hokku::testing
