// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/numa_topology.h"

#include <string>

#include "backend/cpu/cpu_topology.h"

namespace hokku::cpu {

namespace fs = std::filesystem;

namespace {

/// The list in a file's first line; empty where there is none.
std::vector<uint32_t> read_list(const fs::path& path) {
    return parse_cpu_list(read_first_line(path).value_or(""));
}

}  // namespace

std::vector<NumaNode> numa_nodes(const fs::path& root, std::span<const uint32_t> cpus) {
    const fs::path folder = root / "sys/devices/system/node";
    const std::vector<uint32_t> ids = read_list(folder / "online");
    if (ids.size() < 2) return {};
    const std::vector<uint32_t> fast = fast_cpus(root, cpus);
    std::vector<NumaNode> nodes;
    size_t num_found = 0;
    for (const uint32_t id : ids) {
        NumaNode node;
        node.id = id;
        node.cpus = in_both(cpus, read_list(folder / ("node" + std::to_string(id)) / "cpulist"));
        if (node.cpus.empty()) continue;
        node.num_cores = count_physical_cores(root, in_both(node.cpus, fast));
        num_found += node.cpus.size();
        nodes.push_back(std::move(node));
    }
    // A CPU that is nowhere, or in two places: the files are damaged.
    if (nodes.size() < 2 || num_found != cpus.size()) return {};
    return nodes;
}

LanePlaces place_lanes(std::span<const NumaNode> nodes, uint32_t num_lanes) {
    uint64_t num_cores = 0, cores_before = 0;
    for (const NumaNode& node : nodes) num_cores += node.num_cores;
    LanePlaces places;
    for (const NumaNode& node : nodes) {
        cores_before += node.num_cores;
        const uint64_t end = num_cores > 0 ? num_lanes * cores_before / num_cores : 0;
        while (places.nodes.size() < end) {
            places.nodes.push_back(node.id);
            places.cpus.push_back(node.cpus);
        }
    }
    return places;
}

std::vector<uint32_t> LanePlaces::nodes_of(uint32_t first, uint32_t count) const {
    std::vector<uint32_t> used;
    for (size_t lane = first; lane < size_t{first} + count && lane < nodes.size(); ++lane)
        if (used.empty() || used.back() != nodes[lane]) used.push_back(nodes[lane]);
    return used;
}

std::vector<NumaNode> numa_nodes() {
    return numa_nodes("/", allowed_cpus());
}

std::vector<uint32_t> numa_node_ids(std::span<const NumaNode> nodes) {
    std::vector<uint32_t> ids;
    for (const NumaNode& node : nodes) ids.push_back(node.id);
    return ids;
}

}  // namespace hokku::cpu
