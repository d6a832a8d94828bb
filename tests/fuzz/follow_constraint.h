// SPDX-License-Identifier: Apache-2.0
// Walks along a constraint at random, for fuzz targets.
#pragma once

#include <functional>
#include <string_view>

#include "hokku/constraint.h"

namespace hokku::testing {

/// Makes the constraint and, if that works, follows allowed tokens. `check_whole` sees each text on
/// the way that may end there.
void follow_constraint(const ConstraintSpec& spec,
                       const std::function<void(std::string_view text)>& check_whole = {});

}  // namespace hokku::testing
