// SPDX-License-Identifier: Apache-2.0
// Removes what can never be completed from a grammar, so that every position left leads to an end.
#pragma once

#include "constraint/grammar/grammar.h"

namespace hokku::constraint {

/// Positions from which no text leads to the end of their rule become dead, and edges and targets
/// to them vanish. Splits with one target are skipped.
void remove_unproductive(Grammar& grammar);

}  // namespace hokku::constraint
