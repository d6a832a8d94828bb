// SPDX-License-Identifier: Apache-2.0
#include "constraint_flags.h"

#include <CLI/CLI.hpp>

#include "console.h"

namespace hokku::cli {

namespace {

/// The text itself where it reads like one, else the file of that name.
Result<std::string> text_or_file(const std::string& given, bool is_text) {
    if (is_text) return given;
    return read_input(given);
}

bool is_grammar(const std::string& given) {
    return given.find("::=") != std::string::npos;
}

bool is_json(const std::string& given) {
    const size_t first = given.find_first_not_of(" \t\r\n");
    return given == "true" || given == "false" ||
           (first != std::string::npos && given[first] == '{');
}

}  // namespace

void add_constraint_flags(CLI::App* command, ConstraintFlags& flags) {
    const auto add = [&](const char* name, auto& value, const char* type, const char* help) {
        command->add_option(name, value, help)
            ->type_name(type)
            ->allow_extra_args(false)
            ->group("Form of the answer");
    };
    add("--grammar", flags.grammar, "FILE|TEXT", "It follows a grammar in GBNF");
    add("--json-schema", flags.json_schema, "FILE|TEXT", "It is JSON that a schema allows");
    command->add_flag("--json-output", flags.json, "It is JSON")->group("Form of the answer");
    add("--regex", flags.regex, "PATTERN", "It matches a regular expression as a whole");
    add("--choice", flags.choices, "TEXT", "It is this text or another --choice");
    add("--require", flags.required, "WORD", "This word occurs in it; may be repeated");
    command
        ->add_flag("--require-any-case", flags.ignore_case,
                   "Upper and lower case count as the same in --require")
        ->group("Form of the answer");
}

void check_constraint_usage(const ConstraintFlags& flags) {
    if (flags.ignore_case && flags.required.empty())
        throw CLI::ValidationError("--require-any-case is for --require");
}

Result<std::vector<ConstraintSpec>> constraint_specs(const ConstraintFlags& flags) {
    std::vector<ConstraintSpec> specs;
    const auto add = [&](ConstraintKind kind, std::string text) {
        specs.push_back({.kind = kind, .text = std::move(text), .words = {}});
    };
    if (!flags.grammar.empty()) {
        Result<std::string> text = text_or_file(flags.grammar, is_grammar(flags.grammar));
        if (!text) return text.error();
        add(ConstraintKind::gbnf, std::move(*text));
    }
    if (!flags.json_schema.empty()) {
        Result<std::string> text = text_or_file(flags.json_schema, is_json(flags.json_schema));
        if (!text) return text.error();
        add(ConstraintKind::json_schema, std::move(*text));
    }
    if (flags.json) add(ConstraintKind::json, "");
    if (!flags.regex.empty()) add(ConstraintKind::regex, flags.regex);
    if (!flags.choices.empty())
        specs.push_back({.kind = ConstraintKind::choice, .text = {}, .words = flags.choices});
    if (!flags.required.empty())
        specs.push_back({.kind = ConstraintKind::required_words,
                         .text = {},
                         .words = flags.required,
                         .ignore_case = flags.ignore_case});
    return specs;
}

bool report_constraints(const GenerationResult& result) {
    if (result.meets_constraints) return true;
    write_message("the text ended before it had the form that was asked for (" +
                  std::string(stop_reason_name(result.reason)) + ")");
    return false;
}

}  // namespace hokku::cli
