// SPDX-License-Identifier: Apache-2.0
// KvType: in what form the keys and values of a context are kept in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hokku {

enum class KvType : uint8_t {
    f32,   ///< As computed.
    f16,   ///< Half of f32's memory.
    q8_0,  ///< 8 bits a value and a scale for each 32 values: 27 % of f32's memory.
    q4_0,  ///< 4 bits a value, the same: 14 %, at a loss that can be seen. CPU only.
};

/// "f32", "f16", "q8_0", "q4_0".
std::string_view kv_type_name(KvType type);
std::optional<KvType> find_kv_type(std::string_view name);

}  // namespace hokku
