// SPDX-License-Identifier: Apache-2.0
#include "typed_names.h"

#include <CLI/CLI.hpp>
#include <map>

namespace hokku::cli {

namespace {

/// From every name of an option to the one that was typed.
std::map<std::string, std::string>& typed_names() {
    static std::map<std::string, std::string> names;
    return names;
}

/// "-n", "-n5", "--max-tokens", "--max-tokens=5".
bool is_given_by(const std::string& argument, const std::string& name) {
    if (argument == name) return true;
    const bool is_long = name.starts_with("--");
    return is_long ? argument.starts_with(name + "=")
                   : argument.starts_with(name) && !argument.starts_with("--");
}

}  // namespace

void note_typed_names(const CLI::App& command, const std::vector<std::string>& arguments) {
    for (const CLI::Option* option : command.get_options()) {
        std::vector<std::string> names;
        for (const std::string& name : option->get_snames()) names.push_back("-" + name);
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        for (const std::string& argument : arguments) {
            if (argument == "--") break;
            for (const std::string& typed : names) {
                if (!is_given_by(argument, typed)) continue;
                for (const std::string& name : names) typed_names()[name] = typed;
            }
        }
    }
}

std::string as_typed(const std::string& name) {
    const auto found = typed_names().find(name);
    return found == typed_names().end() ? name : found->second;
}

}  // namespace hokku::cli
