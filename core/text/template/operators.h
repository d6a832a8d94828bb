// SPDX-License-Identifier: Apache-2.0
// Arithmetic, containment and concatenation with Python's rules. Integers have 64 bits: a result
// beyond them is an error, never a wrong number.
#pragma once

#include <span>

#include "text/template/lexer.h"
#include "text/template/value.h"

namespace hokku::jinja {

class Runtime;

/// a op b for + - * / // % **.
Value apply_operator(Runtime& runtime, TokenType op, const Value& a, const Value& b);
/// -a or +a.
Value apply_sign(Runtime& runtime, char sign, const Value& a);
/// The str() of all joined: a ~ b.
Value concatenate(Runtime& runtime, std::span<const Value> values);
/// item in container.
bool contains(Runtime& runtime, const Value& container, const Value& item);

}  // namespace hokku::jinja
