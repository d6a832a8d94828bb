// SPDX-License-Identifier: Apache-2.0
#include "base/environment.h"
#include "hokku/chat_cache.h"
#include "hokku/library.h"

namespace hokku {

Result<std::filesystem::path> data_folder() {
    if (const auto home = environment_path("HOKKU_HOME")) return *home;
    // Not the roaming one: models are large and belong to this machine.
    if (const auto data = environment_path("LOCALAPPDATA")) return *data / "hokku";
    return Error{ErrorCode::io, "the user's data folder is unknown", "environment",
                 "HOKKU_HOME or LOCALAPPDATA"};
}

Result<std::filesystem::path> cache_folder() {
    if (const auto home = environment_path("HOKKU_HOME")) return *home / "cache";
    if (const auto data = environment_path("LOCALAPPDATA")) return *data / "hokku" / "cache";
    return Error{ErrorCode::io, "the user's cache folder is unknown", "environment",
                 "HOKKU_HOME or LOCALAPPDATA"};
}

}  // namespace hokku
