// SPDX-License-Identifier: Apache-2.0
// AMX tiles are kilobytes that the system saves with a thread: a process asks for them first.
#pragma once

namespace hokku::cpu {

/// Whether this process may use tiles. Call it only where the CPU has them.
bool ask_for_amx_tiles();

}  // namespace hokku::cpu
