// SPDX-License-Identifier: Apache-2.0
#include "hokku/kv_type.h"

namespace hokku {

std::string_view kv_type_name(KvType type) {
    switch (type) {
        case KvType::f32:
            return "f32";
        case KvType::f16:
            return "f16";
        case KvType::q8_0:
            return "q8_0";
        case KvType::q4_0:
            return "q4_0";
    }
    return "unknown";
}

std::optional<KvType> find_kv_type(std::string_view name) {
    for (const KvType type : {KvType::f32, KvType::f16, KvType::q8_0, KvType::q4_0})
        if (kv_type_name(type) == name) return type;
    return std::nullopt;
}

}  // namespace hokku
