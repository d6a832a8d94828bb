// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include "engine/system_memory.h"

namespace hokku {

SystemMemory read_system_memory() {
    return read_linux_memory("/");
}

uint64_t peak_process_memory() {
    rusage usage{};
    if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
    return static_cast<uint64_t>(usage.ru_maxrss) * 1024;  // KiB on Linux
}

}  // namespace hokku
