// SPDX-License-Identifier: Apache-2.0
// The error of work that was asked to stop.
#pragma once

#include "hokku/error.h"

namespace hokku {

inline Error cancelled() {
    return {ErrorCode::cancelled, "cancelled", "", ""};
}

}  // namespace hokku
