// SPDX-License-Identifier: Apache-2.0
// What an answer must look like, as it is written on the command line.
#pragma once

#include <string>
#include <vector>

#include "hokku/constraint.h"
#include "hokku/engine.h"
#include "hokku/result.h"

namespace CLI {
class App;
}

namespace hokku::cli {

struct ConstraintFlags {
    std::string grammar, json_schema, regex;
    std::vector<std::string> choices, required;
    bool json = false, ignore_case = false;
};

void add_constraint_flags(CLI::App* command, ConstraintFlags& flags);

/// Throws what CLI11 reports as wrong usage.
void check_constraint_usage(const ConstraintFlags& flags);

/// With files read, and looked at before there is a model. Errors: those of reading them;
/// bad_argument for what was given with an option itself.
Result<std::vector<ConstraintSpec>> constraint_specs(const ConstraintFlags& flags);

/// Whether it failed as no text can have all the forms together, which is wrong usage. Where some
/// of the text is there, it is that which has led to it.
bool is_conflict(const GenerationResult& result, const GenerationRequest& request);

/// Says so on stderr when the text ended before it met the constraints; returns whether it did.
bool report_constraints(const GenerationResult& result);

}  // namespace hokku::cli
