// SPDX-License-Identifier: Apache-2.0
// After windows.h, on which psapi.h rests.
#include <windows.h>

#include <psapi.h>

#include "engine/system_memory.h"

namespace hokku {

SystemMemory read_system_memory() {
    MEMORYSTATUSEX status = {};
    status.dwLength = sizeof status;
    if (GlobalMemoryStatusEx(&status) == 0) return {};
    SystemMemory memory;
    memory.total_bytes = status.ullTotalPhys;
    memory.available_bytes = status.ullAvailPhys;  // With the files that are cached.
    return memory;
}

uint64_t peak_process_memory() {
    PROCESS_MEMORY_COUNTERS counters = {};
    if (GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters) == 0) return 0;
    return counters.PeakWorkingSetSize;
}

}  // namespace hokku
