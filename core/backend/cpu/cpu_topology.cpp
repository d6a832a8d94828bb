// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_topology.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <string>

namespace hokku::cpu {

namespace fs = std::filesystem;

std::optional<std::string> read_first_line(const fs::path& path) {
    std::ifstream file(path);
    std::string line;
    if (!file || !std::getline(file, line)) return std::nullopt;
    return line;
}

namespace {

template <class T>
std::optional<T> parse_number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<double> quota_v2(const fs::path& group) {
    const auto line = read_first_line(group / "cpu.max");
    if (!line) return std::nullopt;
    const size_t space = line->find(' ');
    if (space == std::string::npos) return std::nullopt;
    const auto quota = parse_number<uint64_t>(std::string_view(*line).substr(0, space));
    const auto period = parse_number<uint64_t>(std::string_view(*line).substr(space + 1));
    if (!quota || !period || *period == 0) return std::nullopt;
    return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<double> quota_v1(const fs::path& group) {
    const auto quota_line = read_first_line(group / "cpu.cfs_quota_us");
    const auto period_line = read_first_line(group / "cpu.cfs_period_us");
    if (!quota_line || !period_line) return std::nullopt;
    const auto quota = parse_number<int64_t>(*quota_line);
    const auto period = parse_number<int64_t>(*period_line);
    if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
    return static_cast<double>(*quota) / static_cast<double>(*period);
}

void keep_smaller(std::optional<double>& limit, std::optional<double> other) {
    if (other && (!limit || *other < *limit)) limit = other;
}

/// Smallest quota of the group at `path` below `mount` and of its parents. Inside a container the
/// path may name a group that is not mounted here; the mount itself is then the group.
template <class Quota>
void collect_quotas(std::optional<double>& limit, const fs::path& mount, fs::path path,
                    Quota quota) {
    path = path.relative_path();
    keep_smaller(limit, quota(mount));
    for (; !path.empty(); path = path.parent_path()) keep_smaller(limit, quota(mount / path));
}

}  // namespace

std::vector<uint32_t> parse_cpu_list(std::string_view text) {
    constexpr uint32_t kMaxCpus = 1u << 16;
    std::vector<uint32_t> cpus;
    while (!text.empty()) {
        const size_t comma = std::min(text.find(','), text.size());
        const std::string_view part = text.substr(0, comma);
        const size_t dash = part.find('-');
        const auto first = parse_number<uint32_t>(part.substr(0, dash));
        const auto last =
            dash == std::string_view::npos ? first : parse_number<uint32_t>(part.substr(dash + 1));
        if (!first || !last || *last < *first || *last >= kMaxCpus) return {};
        for (uint32_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return cpus;
}

std::vector<uint32_t> in_both(std::span<const uint32_t> cpus, std::span<const uint32_t> others) {
    std::vector<uint32_t> both;
    for (const uint32_t cpu : cpus)
        if (std::find(others.begin(), others.end(), cpu) != others.end()) both.push_back(cpu);
    return both;
}

uint32_t count_physical_cores(const fs::path& root, std::span<const uint32_t> cpus) {
    std::set<uint32_t> first_siblings;  // The lowest logical CPU names its core.
    for (const uint32_t cpu : cpus) {
        const fs::path topology =
            root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "topology";
        auto line = read_first_line(topology / "core_cpus_list");
        if (!line) line = read_first_line(topology / "thread_siblings_list");
        const std::vector<uint32_t> siblings = line ? parse_cpu_list(*line) : std::vector{cpu};
        first_siblings.insert(siblings.empty() ? cpu : siblings.front());
    }
    return static_cast<uint32_t>(first_siblings.size());
}

std::vector<uint32_t> fast_cpus(const fs::path& root, std::span<const uint32_t> cpus) {
    std::vector<uint32_t> fast;
    if (const auto line = read_first_line(root / "sys/devices/cpu_core/cpus")) {
        fast = in_both(cpus, parse_cpu_list(*line));
    } else {
        std::vector<uint32_t> capacities;
        for (const uint32_t cpu : cpus) {
            const auto capacity = read_first_line(root / "sys/devices/system/cpu" /
                                                  ("cpu" + std::to_string(cpu)) / "cpu_capacity");
            capacities.push_back(capacity ? parse_number<uint32_t>(*capacity).value_or(0) : 0);
        }
        const uint64_t best =
            cpus.empty() ? 0 : *std::max_element(capacities.begin(), capacities.end());
        for (size_t i = 0; i < cpus.size(); ++i)
            if (uint64_t{5} * capacities[i] >= 3 * best) fast.push_back(cpus[i]);
    }
    if (fast.empty()) fast.assign(cpus.begin(), cpus.end());
    return fast;
}

std::optional<double> cgroup_cpu_limit(const fs::path& root) {
    std::optional<double> limit;
    std::ifstream file(root / "proc/self/cgroup");
    const fs::path mount = root / "sys/fs/cgroup";
    for (std::string line; std::getline(file, line);) {  // "0::/path" or "4:cpu,cpuacct:/path"
        const size_t first = line.find(':');
        const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const fs::path path = line.substr(second + 1);
        if (controllers.empty()) {
            collect_quotas(limit, mount, path, quota_v2);
        } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
            collect_quotas(limit, mount / controllers, path, quota_v1);
            collect_quotas(limit, mount / "cpu", path, quota_v1);
        }
    }
    return limit;
}

}  // namespace hokku::cpu
