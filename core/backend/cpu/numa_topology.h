// SPDX-License-Identifier: Apache-2.0
// Which CPUs of a machine with several NUMA nodes are near which memory, and how lanes are spread
// over the nodes. On a machine with one node there is nothing to choose, and nothing is done.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace hokku::cpu {

struct NumaNode {
    uint32_t id = 0;
    std::vector<uint32_t> cpus;  ///< Those that may be used; at least one.
    uint32_t num_cores = 0;      ///< Physical, fast ones among them.
};

/// The nodes that have some of `cpus`, by sys/devices/system/node below `root`; empty unless they
/// are several and hold all of `cpus`. Memory without CPUs (CXL) is no such node: it is the slower
/// one, and the system uses it when the others are full.
std::vector<NumaNode> numa_nodes(const std::filesystem::path& root, std::span<const uint32_t> cpus);

/// Where each lane goes; nothing where there are no nodes to choose from.
struct LanePlaces {
    std::vector<std::vector<uint32_t>> cpus;  ///< On which it may run.
    std::vector<uint32_t> nodes;              ///< The number of its node.

    /// The nodes of lanes [first, first + count), each once.
    [[nodiscard]] std::vector<uint32_t> nodes_of(uint32_t first, uint32_t count) const;
};
/// Neighbours share a node, and each node has lanes in proportion to its cores.
LanePlaces place_lanes(std::span<const NumaNode> nodes, uint32_t num_lanes);

/// The nodes of this process; empty where there is but one.
std::vector<NumaNode> numa_nodes();
/// Their numbers.
std::vector<uint32_t> numa_node_ids(std::span<const NumaNode> nodes);

}  // namespace hokku::cpu
