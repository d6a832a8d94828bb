// SPDX-License-Identifier: Apache-2.0
#include "backend/backend.h"

#include <algorithm>

namespace hokku {

void Backend::read_block(uint32_t, uint32_t, std::span<std::byte> out) const {
    std::fill(out.begin(), out.end(), std::byte{0});
}

Result<void> Backend::grow_kv(uint32_t) {
    return Error{ErrorCode::unsupported, "this device cannot make its KV cache larger",
                 info().device, ""};
}

std::optional<uint64_t> Backend::growth_blocks(uint64_t) const {
    return std::nullopt;
}

void Backend::write_block(uint32_t, std::span<const std::byte>) {}

}  // namespace hokku
