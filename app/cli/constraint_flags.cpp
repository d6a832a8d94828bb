// SPDX-License-Identifier: Apache-2.0
#include "constraint_flags.h"

#include <CLI/CLI.hpp>
#include <string_view>

#include "console.h"

namespace hokku::cli {

namespace {

/// What is wrong with a form: of one that was given with the option wrong usage, else of its file.
Error in_place(Error error, const std::string& place, bool is_file) {
    // What the text is, is known from its place.
    for (const std::string_view name : {"grammar", "pattern", "schema"}) {
        if (!error.where.starts_with(name)) continue;
        error.where.erase(0, name.size());
        if (error.where.starts_with(", ")) error.where.erase(0, 2);
        break;
    }
    error.where = error.where.empty() ? place : place + ", " + error.where;
    if (!is_file) error.code = ErrorCode::bad_argument;
    return error;
}

/// The text itself where it reads like one, else the file of that name.
Result<ConstraintSpec> text_or_file(ConstraintKind kind, const std::string& given, bool is_text,
                                    const std::string& option, const char* beginning) {
    ConstraintSpec spec{.kind = kind, .text = given, .words = {}, .name = option};
    if (!is_text) {
        Result<std::string> text = read_input(given, option);
        if (!text) {
            Error error = text.error();
            if (error.code == ErrorCode::io)
                error.expected = option + " FILE, or a text with " + beginning;
            return error;
        }
        spec.text = std::move(*text);
    }
    if (Result<void> checked = check_constraint(spec); !checked)
        return in_place(checked.error(), is_text ? option : given, !is_text);
    return spec;
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
    if (!flags.grammar.empty()) {
        Result<ConstraintSpec> spec =
            text_or_file(ConstraintKind::gbnf, flags.grammar, is_grammar(flags.grammar),
                         "--grammar", "\"root ::=\"");
        if (!spec) return spec.error();
        specs.push_back(std::move(*spec));
    }
    if (!flags.json_schema.empty()) {
        Result<ConstraintSpec> spec =
            text_or_file(ConstraintKind::json_schema, flags.json_schema, is_json(flags.json_schema),
                         "--json-schema", "\"{\" in front");
        if (!spec) return spec.error();
        specs.push_back(std::move(*spec));
    }
    if (flags.json)
        specs.push_back(
            {.kind = ConstraintKind::json, .text = "", .words = {}, .name = "--json-output"});
    const size_t num_checked = specs.size();
    if (!flags.regex.empty())
        specs.push_back(
            {.kind = ConstraintKind::regex, .text = flags.regex, .words = {}, .name = "--regex"});
    if (!flags.choices.empty())
        specs.push_back({.kind = ConstraintKind::choice,
                         .text = {},
                         .words = flags.choices,
                         .name = "--choice"});
    if (!flags.required.empty())
        specs.push_back({.kind = ConstraintKind::required_words,
                         .text = {},
                         .words = flags.required,
                         .ignore_case = flags.ignore_case,
                         .name = "--require"});
    for (size_t i = num_checked; i < specs.size(); ++i) {
        const Result<void> checked = check_constraint(specs[i]);
        if (checked) continue;
        return in_place(checked.error(), specs[i].name, false);
    }
    return specs;
}

bool is_conflict(const GenerationResult& result, const GenerationRequest& request) {
    return result.error && result.error->code == ErrorCode::bad_argument && result.text.empty() &&
           request.constraints.size() > 1;
}

bool report_constraints(const GenerationResult& result) {
    if (result.meets_constraints) return true;
    write_message("the text ended before it had the form that was asked for (" +
                  std::string(stop_reason_name(result.reason)) + ")");
    return false;
}

}  // namespace hokku::cli
