// SPDX-License-Identifier: Apache-2.0
// The kernel tables that this machine can run, for tests that compare them with a reference.
#pragma once

#include <algorithm>
#include <vector>

#include "backend/cpu/attention_kernels.h"
#include "backend/cpu/kernels.h"

namespace hokku::testing {

inline std::vector<const cpu::KernelTable*> available_tables() {
    std::vector<const cpu::KernelTable*> tables;
    for (const std::string_view name : cpu::kernel_names()) {
        if (const cpu::KernelTable* table = cpu::find_kernels(name)) tables.push_back(table);
    }
    return tables;
}

/// One table of all that share their attention.
inline std::vector<const cpu::KernelTable*> tables_by_attention() {
    std::vector<const cpu::KernelTable*> tables;
    for (const cpu::KernelTable* table : available_tables()) {
        const auto is_same = [table](const cpu::KernelTable* other) {
            return other->attention->run_tile == table->attention->run_tile;
        };
        if (std::none_of(tables.begin(), tables.end(), is_same)) tables.push_back(table);
    }
    return tables;
}

}  // namespace hokku::testing
