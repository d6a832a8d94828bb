// SPDX-License-Identifier: Apache-2.0
#include "text/template/ast.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/template/unicode.h"

namespace hokku::jinja {

NameId Program::intern(std::string_view name) {
    const auto [it, is_new] =
        name_ids.try_emplace(std::string(name), static_cast<NameId>(names.size()));
    if (is_new) names.emplace_back(name);
    return it->second;
}

Value Program::literal(std::string text) {
    auto object = std::make_unique<String>(Text(std::move(text)));
    Value out(object.get());
    literals.push_back(std::move(object));
    return out;
}

std::string Program::place(uint32_t offset) const {
    const std::string_view before =
        std::string_view(normalised).substr(0, std::min<size_t>(offset, normalised.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const size_t last_break = before.rfind('\n');
    const size_t start = last_break == std::string_view::npos ? 0 : last_break + 1;
    return fmt::format("line {}, column {}", line, 1 + count_chars(before.substr(start)));
}

}  // namespace hokku::jinja
