// SPDX-License-Identifier: Apache-2.0
#include "base/environment.h"
#include "hokku/chat_cache.h"
#include "hokku/library.h"

namespace hokku {

Result<std::filesystem::path> data_folder() {
    if (const auto home = environment_path("HOKKU_HOME")) return *home;
    if (const auto data = environment_path("XDG_DATA_HOME")) return *data / "hokku";
    if (const auto user = environment_path("HOME")) return *user / ".local" / "share" / "hokku";
    return Error{ErrorCode::io, "the user's data folder is unknown", "environment",
                 "HOKKU_HOME, XDG_DATA_HOME or HOME"};
}

Result<std::filesystem::path> cache_folder() {
    if (const auto home = environment_path("HOKKU_HOME")) return *home / "cache";
    if (const auto cache = environment_path("XDG_CACHE_HOME")) return *cache / "hokku";
    if (const auto user = environment_path("HOME")) return *user / ".cache" / "hokku";
    return Error{ErrorCode::io, "the user's cache folder is unknown", "environment",
                 "HOKKU_HOME, XDG_CACHE_HOME or HOME"};
}

}  // namespace hokku
