// SPDX-License-Identifier: Apache-2.0
// Binds the tensors of a file to the slots that a declaration asks for, checking presence, shape
// and type of each by name. Nothing is copied.
#pragma once

#include "gguf/gguf_file.h"
#include "hokku/result.h"
#include "model/arch/declaration.h"
#include "model/weights.h"

namespace hokku {

/// Errors : bad_format: a tensor is missing, has another shape or type than the spec says (tensor,
///          found, expected). unsupported: a mixer or feature whose tensors this build does not
///          bind, or a tensor in the file that the architecture does not use (leaving it out would
///          give wrong text silently).
Result<Weights> bind_weights(const GgufFile& file, const arch::Declaration& declaration);

}  // namespace hokku
