// SPDX-License-Identifier: Apache-2.0
#include "hokku/devices.h"

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/cpu_topology.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/thread_team.h"
#include "backend/plugin/gpu_plugin.h"
#include "engine/system_memory.h"

namespace hokku {

std::vector<DeviceInfo> list_devices() {
    DeviceInfo cpu;
    cpu.id = "cpu";
    cpu.name = cpu::cpu_name();
    if (cpu::cpu_features().avx2) cpu.instructions.emplace_back("avx2");
    if (cpu::cpu_features().avx_vnni) cpu.instructions.emplace_back("avx_vnni");
    if (cpu::cpu_features().avx512_vnni) cpu.instructions.emplace_back("avx512_vnni");
    if (cpu::cpu_features().amx_int8) cpu.instructions.emplace_back("amx_int8");
    if (cpu::cpu_features().amx_bf16) cpu.instructions.emplace_back("amx_bf16");
    if (cpu::cpu_features().neon_dot) cpu.instructions.emplace_back("neon_dot");
    if (cpu::cpu_features().neon_i8mm) cpu.instructions.emplace_back("neon_i8mm");
    for (const std::string_view name : cpu::kernel_names())
        if (cpu::find_kernels(name) != nullptr) cpu.kernels.emplace_back(name);
    cpu.num_logical_cpus = static_cast<uint32_t>(cpu::allowed_cpus().size());
    cpu.num_physical_cores = cpu::num_physical_cores();
    cpu.default_threads = cpu::default_num_threads();
    const SystemMemory memory = read_system_memory();
    cpu.total_memory_bytes = memory.total_bytes;
    cpu.available_memory_bytes = memory.available_bytes;
    return {cpu};
}

GpuList list_gpus() {
    GpuList list;
    const auto plugin = find_gpu_plugin();
    if (!plugin.ok()) {
        list.note = plugin.error().message();
        return list;
    }
    const auto devices = list_gpu_devices(**plugin);
    if (!devices.ok()) {
        list.note = devices.error().message();
        return list;
    }
    for (const GpuDevice& device : *devices) {
        list.gpus.push_back({.id = "cuda:" + std::to_string(list.gpus.size()),
                             .name = device.name,
                             .architecture = device.architecture,
                             .driver = device.driver_version,
                             .total_memory_bytes = device.total_bytes});
    }
    return list;
}

}  // namespace hokku
