// SPDX-License-Identifier: Apache-2.0
// Early return of errors: the two macros of the project.
//   HOKKU_TRY(auto file, GgufFile::open(path));   // declares file, or returns the error
//   HOKKU_CHECK(validate(file));                  // returns the error of a Result<void>
#pragma once

#include <utility>

#include "hokku/result.h"

#define HOKKU_TRY_JOIN2(a, b) a##b
#define HOKKU_TRY_JOIN(a, b) HOKKU_TRY_JOIN2(a, b)
#define HOKKU_TRY_IMPL(result, declaration, expression) \
    auto result = (expression);                         \
    if (!result.ok()) return std::move(result).error(); \
    declaration = std::move(result).value()
#define HOKKU_TRY(declaration, expression) \
    HOKKU_TRY_IMPL(HOKKU_TRY_JOIN(hokku_try_, __LINE__), declaration, expression)
#define HOKKU_CHECK(expression)                                 \
    do {                                                        \
        if (auto hokku_check = (expression); !hokku_check.ok()) \
            return std::move(hokku_check).error();              \
    } while (false)
