// SPDX-License-Identifier: Apache-2.0
// Read bandwidth: how fast this machine can read the weights where they lie, which bounds how fast
// any engine can decode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hokku {

/// The best of several passes over all the parts by `num_threads` threads, in 1e9 bytes a second;
/// 0 for no bytes.
///
/// Threads: starts and joins its own.
/// Cost   : about half a second; the first pass brings the file into memory.
double measure_read_bandwidth(std::span<const std::span<const std::byte>> parts,
                              uint32_t num_threads);

}  // namespace hokku
