// SPDX-License-Identifier: Apache-2.0
// KV blocks that leave a backend and come back, held against the CPU's.
#pragma once

#include <cstdint>
#include <vector>

#include "support/catch.h"
#include "support/forward_checks.h"
#include "support/model_runner.h"

namespace hokku::testing {

/// Both have stored the same tokens, so many, in block 2, as float32. It leaves in the CPU's
/// layout, and what the CPU has stored goes on from another block of a pool that has grown: with
/// the logits that the CPU has.
inline void check_moved_block(Backend& backend, ModelRunner& cpu, uint32_t num_tokens,
                              double limit) {
    REQUIRE(backend.kv_block_bytes() == cpu.backend().kv_block_bytes());
    std::vector<std::byte> block(backend.kv_block_bytes()), on_cpu(block.size());
    backend.read_block(2, num_tokens, block);
    cpu.backend().read_block(2, num_tokens, on_cpu);
    const auto* a = reinterpret_cast<const float*>(block.data());
    const auto* b = reinterpret_cast<const float*>(on_cpu.data());
    CHECK(relative_error({a, a + block.size() / 4}, {b, b + block.size() / 4}) < limit);
    REQUIRE(backend.grow_kv(7).ok());
    backend.write_block(5, on_cpu);
    backend.copy_block(5, 6);
    const uint32_t table = 6, row = 0;
    const int32_t token = 9;
    const StepSequence moved{0, 1, num_tokens, {&table, 1}};
    const Step step{.tokens = {&token, 1}, .sequences = {&moved, 1}, .logit_rows = {&row, 1}};
    const auto next = value_of(cpu.append({&token, 1}));
    CHECK(relative_error(value_of(backend.run(step)), next) < limit);
}

}  // namespace hokku::testing
