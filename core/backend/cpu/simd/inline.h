// SPDX-License-Identifier: Apache-2.0
// Functions of the kernel files are inlined in every build: intrinsics need constant arguments and
// registers, and calls between them would be slow. A macro because attributes cannot be named.
#pragma once

#define HOKKU_INLINE inline __attribute__((always_inline))
#define HOKKU_LAMBDA __attribute__((always_inline))
