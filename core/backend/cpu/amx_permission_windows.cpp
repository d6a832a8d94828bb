// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/amx_permission.h"

namespace hokku::cpu {

// Desktop CPUs have no tiles so far.
bool ask_for_amx_tiles() {
    return false;
}

}  // namespace hokku::cpu
