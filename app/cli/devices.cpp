// SPDX-License-Identifier: Apache-2.0
#include "hokku/devices.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "console.h"

namespace hokku::cli {

namespace {

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text.empty() ? "none" : text;
}

std::string gib(uint64_t bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1u << 30));
    return text;
}

int show_devices(bool as_json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const DeviceInfo& device : list_devices()) {
        if (as_json) {
            list.push_back({{"id", device.id},
                            {"name", device.name},
                            {"instructions", device.instructions},
                            {"kernels", device.kernels},
                            {"physical_cores", device.num_physical_cores},
                            {"logical_cpus", device.num_logical_cpus},
                            {"default_threads", device.default_threads},
                            {"total_memory_bytes", device.total_memory_bytes},
                            {"available_memory_bytes", device.available_memory_bytes}});
            continue;
        }
        write_result(device.id + ": " + device.name + "\n  instructions: " +
                     joined(device.instructions) + "\n  kernels: " + joined(device.kernels) +
                     "\n  cores: " + std::to_string(device.num_physical_cores) + " physical, " +
                     std::to_string(device.num_logical_cpus) +
                     " logical; threads by default: " + std::to_string(device.default_threads) +
                     "\n  memory: " + gib(device.available_memory_bytes) + " available of " +
                     gib(device.total_memory_bytes) + "\n");
    }
    const GpuList found = list_gpus();
    for (const GpuInfo& gpu : found.gpus) {
        if (as_json) {
            list.push_back({{"id", gpu.id},
                            {"name", gpu.name},
                            {"architecture", gpu.architecture},
                            {"driver", gpu.driver},
                            {"total_memory_bytes", gpu.total_memory_bytes}});
            continue;
        }
        write_result(gpu.id + ": " + gpu.name + "\n  architecture: " + gpu.architecture +
                     "\n  driver: " + gpu.driver + "\n  memory: " + gib(gpu.total_memory_bytes) +
                     "\n");
    }
    if (as_json) {
        write_json_line(list);
        if (!found.note.empty()) write_message("no GPU: " + found.note);
    } else if (!found.note.empty()) {
        write_result("no GPU: " + found.note + "\n");
    }
    return kDone;
}

}  // namespace

void add_devices(CLI::App& app, Action& chosen) {
    CLI::App* command = app.add_subcommand("devices", "Show what models can run on here");
    auto as_json = std::make_shared<bool>(false);
    command->add_flag("--json", *as_json, "Print a JSON array");
    command->callback(
        [&chosen, as_json] { chosen = [as_json] { return show_devices(*as_json); }; });
}

}  // namespace hokku::cli
