// SPDX-License-Identifier: Apache-2.0
#include "support/malformed_files.h"

namespace hokku::testing {

namespace fs = std::filesystem;

void add_special_files(MalformedList& list) {
    list.add_made("F6-nul", "device", [](const ScratchFolder&) { return fs::path("NUL"); });
    list.add_made("F6-device-nul", "device",
                  [](const ScratchFolder&) { return fs::path(R"(\\.\NUL)"); });
    list.add_made("F6-device-pipe", "device",
                  [](const ScratchFolder&) { return fs::path(R"(\\.\pipe\hokku)"); });
}

}  // namespace hokku::testing
