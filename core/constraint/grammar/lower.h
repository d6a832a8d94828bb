// SPDX-License-Identifier: Apache-2.0
// Turns expression trees into the positions of a grammar, without judging them.
#pragma once

#include "constraint/grammar/grammar.h"

namespace hokku::constraint {

/// Fills rules (but for their rank), positions, targets and edges of all rules below `root`.
///
/// Errors : limit_exceeded above kMaxPositions.
Result<Grammar> lower(const Expressions& expressions, RuleId root);

}  // namespace hokku::constraint
