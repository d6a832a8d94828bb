// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "base/environment.h"
#include "base/windows_text.h"

namespace hokku {

std::optional<std::filesystem::path> environment_path(const char* name) {
    const wchar_t* value = _wgetenv(utf16_from_utf8(name).c_str());
    if (value == nullptr || *value == L'\0') return std::nullopt;
    return std::filesystem::path(value);
}

}  // namespace hokku
