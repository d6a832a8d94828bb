// SPDX-License-Identifier: Apache-2.0
// The kernel tables that this machine can run, for tests that compare them with a reference.
#pragma once

#include <vector>

#include "backend/cpu/kernels.h"

namespace hokku::testing {

inline std::vector<const cpu::KernelTable*> available_tables() {
    std::vector<const cpu::KernelTable*> tables;
    for (const std::string_view name : cpu::kernel_names()) {
        if (const cpu::KernelTable* table = cpu::find_kernels(name)) tables.push_back(table);
    }
    return tables;
}

}  // namespace hokku::testing
