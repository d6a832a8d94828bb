// SPDX-License-Identifier: Apache-2.0
// Which expressions of a grammar match the empty text.
#pragma once

#include <vector>

#include "constraint/grammar/expressions.h"

namespace hokku::constraint {

/// By ExprId.
std::vector<bool> find_nullable(const Expressions& expressions);

}  // namespace hokku::constraint
