// SPDX-License-Identifier: Apache-2.0
// The time of day where the user is.
#pragma once

#include <ctime>

namespace hokku {

/// Threads: re-entrant, unlike std::localtime.
void to_local_time(std::time_t seconds, std::tm& local);

}  // namespace hokku
