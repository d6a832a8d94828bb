// SPDX-License-Identifier: Apache-2.0
// What the files of built-in methods share.
#pragma once

#include <span>

#include "text/template/builtin.h"

namespace hokku::jinja {

/// The methods of str, sorted by name.
std::span<const Builtin> string_methods();

/// str.isupper() and str.islower(); also the tests "upper" and "lower".
template <bool wants_upper>
Value is_cased_text(Runtime& runtime, const Value& self, Arguments& arguments);

/// dict.update(mapping or pairs, **named); false after a failure.
bool update_dict(Runtime& runtime, Dict& dict, Arguments& arguments);

}  // namespace hokku::jinja
