// SPDX-License-Identifier: Apache-2.0
// The names by which options were given: messages call an option what its user called it, -n or
// --max-tokens.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace hokku::cli {

/// Looks which of the names of each option of `command` occur in the arguments.
/// Needs  : once, before the arguments are parsed.
void note_typed_names(const CLI::App& command, const std::vector<std::string>& arguments);

/// The name that was typed for the option of this name; itself where none was.
std::string as_typed(const std::string& name);

}  // namespace hokku::cli
