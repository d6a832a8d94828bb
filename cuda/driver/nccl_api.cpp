// SPDX-License-Identifier: Apache-2.0
#include "driver/nccl_api.h"

#include <type_traits>

namespace hokku::cuda {

Result<NcclApi> load_nccl_api(const SymbolSource& library) {
    NcclApi api;
    const char* missing = nullptr;
    const auto load = [&](auto& member, const char* name) {
        void* symbol = library.find(name);
        if (symbol == nullptr && missing == nullptr) missing = name;
        member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(symbol);
    };
#define HOKKU_LOAD(member, name, parameters) load(api.member, name);
    HOKKU_NCCL_FUNCTIONS(HOKKU_LOAD)
#undef HOKKU_LOAD
    if (missing != nullptr) {
        return Error{ErrorCode::unsupported, "the NCCL library lacks a function",
                     library.name() + ": " + missing, "NCCL 2"};
    }
    return api;
}

std::span<const char* const> nccl_library_names() {
#if defined(_WIN32)
    return {};
#else
    static constexpr const char* kNames[] = {"libnccl.so.2"};
    return kNames;
#endif
}

}  // namespace hokku::cuda
