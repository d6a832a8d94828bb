// SPDX-License-Identifier: Apache-2.0
#include "engine/system_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace hokku {

namespace fs = std::filesystem;

namespace {

std::optional<uint64_t> read_number(const fs::path& path) {
    std::ifstream file(path);
    uint64_t number = 0;
    if (!(file >> number)) return std::nullopt;  // "max" is no number: no limit
    return number;
}

/// A line such as "MemAvailable:   123 kB", in bytes.
uint64_t meminfo_bytes(const fs::path& path, const std::string& name) {
    std::ifstream file(path);
    std::string word;
    while (file >> word) {
        uint64_t kib = 0;
        if (word == name && file >> kib) return kib * 1024;
        file.ignore(256, '\n');
    }
    return 0;
}

struct Usage {
    uint64_t limit = UINT64_MAX, used = 0;
};

/// The files of a group that can be dropped from memory count as free.
uint64_t reclaimable_bytes(const fs::path& group) {
    std::ifstream file(group / "memory.stat");
    std::string name;
    uint64_t value = 0, inactive = 0, active = 0;
    while (file >> name >> value) {
        if (name == "inactive_file" || name == "total_inactive_file") inactive = value;
        if (name == "active_file" || name == "total_active_file") active = value;
    }
    return inactive + active;
}

void limit_by_group(SystemMemory& memory, const fs::path& group, const char* limit_file,
                    const char* used_file) {
    const auto limit = read_number(group / limit_file);
    if (!limit || *limit >= memory.total_bytes) return;
    const uint64_t used = read_number(group / used_file).value_or(0);
    const uint64_t held = used - std::min(used, reclaimable_bytes(group));
    memory.total_bytes = *limit;
    memory.available_bytes = std::min(memory.available_bytes, *limit - std::min(*limit, held));
}

/// The group at `path` below `mount` and its parents. In a container the path may name a group
/// that is not mounted here; the mount itself is then the group.
void limit_by_groups(SystemMemory& memory, const fs::path& mount, fs::path path,
                     const char* limit_file, const char* used_file) {
    limit_by_group(memory, mount, limit_file, used_file);
    for (path = path.relative_path(); !path.empty(); path = path.parent_path())
        limit_by_group(memory, mount / path, limit_file, used_file);
}

}  // namespace

SystemMemory read_linux_memory(const fs::path& root) {
    SystemMemory memory;
    memory.total_bytes = meminfo_bytes(root / "proc/meminfo", "MemTotal:");
    memory.available_bytes = meminfo_bytes(root / "proc/meminfo", "MemAvailable:");
    std::ifstream file(root / "proc/self/cgroup");
    const fs::path mount = root / "sys/fs/cgroup";
    for (std::string line; std::getline(file, line);) {  // "0::/path" or "4:memory:/path"
        const size_t first = line.find(':');
        const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        std::string controllers = ",";
        controllers.append(line, first + 1, second - first - 1).push_back(',');
        const fs::path path = line.substr(second + 1);
        if (controllers == ",,") {
            limit_by_groups(memory, mount, path, "memory.max", "memory.current");
        } else if (controllers.find(",memory,") != std::string::npos) {
            limit_by_groups(memory, mount / "memory", path, "memory.limit_in_bytes",
                            "memory.usage_in_bytes");
        }
    }
    return memory;
}

}  // namespace hokku
