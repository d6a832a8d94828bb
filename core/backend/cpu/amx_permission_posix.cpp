// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/amx_permission.h"

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace hokku::cpu {

bool ask_for_amx_tiles() {
#ifdef __linux__
    // Source: Linux, Documentation/arch/x86/xstate.rst.
    constexpr long kRequestPermission = 0x1023, kTileData = 18;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
    return false;
#endif
}

}  // namespace hokku::cpu
