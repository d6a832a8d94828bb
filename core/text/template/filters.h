// SPDX-License-Identifier: Apache-2.0
// The tables of built-in filters, by concern. Each is sorted by name.
#pragma once

#include <span>

#include "text/template/builtin.h"

namespace hokku::jinja {

std::span<const Builtin> text_filters();
std::span<const Builtin> number_filters();
std::span<const Builtin> sequence_filters();
/// Filters that give a lazy sequence: map, select, batch, ...
std::span<const Builtin> lazy_filters();

}  // namespace hokku::jinja
