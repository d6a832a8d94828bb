// SPDX-License-Identifier: Apache-2.0
// What the engine says, in the words of people and in their language.
#pragma once

#include <QString>
#include <string>

#include "hokku/error.h"

namespace hokku::desktop {

/// What is wrong, in plain words; the engine's own (English) account is added where those do not
/// say enough.
QString errorText(const Error& error);
/// A warning of a model, translated where its words are known.
QString warningText(const std::string& text);
/// "CPU avx512, 2 threads".
QString deviceText(const std::string& device);
/// Why the model is not on a GPU.
QString deviceNoteText(const std::string& note);

}  // namespace hokku::desktop
