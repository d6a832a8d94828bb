// SPDX-License-Identifier: Apache-2.0
// The constraints of a request as one, after a look at what can never hold together.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hokku/constraint.h"

namespace hokku {

/// The forms in words, for errors.
std::string names_of(const std::vector<ConstraintSpec>& specs);

/// Choices without another form are left out.
///
/// Needs  : at least one spec.
/// Errors : those of make_constraint(); bad_argument naming forms that contradict each other.
Result<std::unique_ptr<Constraint>> make_request_constraints(
    std::vector<ConstraintSpec> specs,
    const std::shared_ptr<const ConstraintVocabulary>& vocabulary);

}  // namespace hokku
