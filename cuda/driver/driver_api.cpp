// SPDX-License-Identifier: Apache-2.0
#include "driver/driver_api.h"

namespace hokku::cuda {

Result<DriverApi> load_driver_api(const SymbolSource& library) {
    DriverApi api;
    const char* missing = nullptr;
    const auto load = [&](auto& member, const char* name) {
        void* symbol = library.find(name);
        if (symbol == nullptr && missing == nullptr) missing = name;
        member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(symbol);
    };
#define HOKKU_LOAD(member, name, parameters) load(api.member, name);
    HOKKU_DRIVER_FUNCTIONS(HOKKU_LOAD)
#undef HOKKU_LOAD
    if (missing != nullptr) {
        return Error{ErrorCode::unsupported, "the graphics driver lacks a function",
                     library.name() + ": " + missing, "a driver of CUDA 12.0 or later"};
    }
    return api;
}

Result<void> check_driver(const DriverApi& api, DriverResult result, const char* call,
                          const std::string& what) {
    if (result == DriverResult::success) return {};
    const char* name = nullptr;
    const char* text = nullptr;
    api.error_name(result, &name);
    api.error_text(result, &text);
    const std::string code = std::to_string(static_cast<int32_t>(result));
    Error error{ErrorCode::device, text != nullptr ? text : "the driver failed", call, ""};
    if (result == DriverResult::out_of_memory) error.code = ErrorCode::out_of_memory;
    error.where += ", " + (name != nullptr ? std::string(name) : "error " + code);
    if (!what.empty()) error.where += ", " + what;
    return error;
}

}  // namespace hokku::cuda
