// SPDX-License-Identifier: Apache-2.0
// hash64: a quick 64-bit checksum of bytes. It finds damage, not forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hokku {

/// Four lanes take 8 bytes in turn, each by a step that no two states leave alike: damage within
/// one such word always changes its lane. The result is part of file formats.
///
/// Cost   : reads each byte once, several bytes a cycle.
uint64_t hash64(std::span<const std::byte> bytes, uint64_t seed = 0);

}  // namespace hokku
