// SPDX-License-Identifier: Apache-2.0
// The rules that a rule can call before it has consumed anything: puts them in order, and finds
// left recursion, which no order exists for.
#pragma once

#include "constraint/grammar/grammar.h"

namespace hokku::constraint {

/// Sets the rank of every rule.
///
/// Errors : bad_format naming the rules on a ring of left calls, direct, indirect or behind rules
///          that match the empty text.
Result<void> rank_rules(Grammar& grammar);

}  // namespace hokku::constraint
