// SPDX-License-Identifier: Apache-2.0
// Calls what the user gave; what it throws must not cross the inference thread.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "hokku/result.h"

namespace hokku {

/// Errors : bad_argument when the callback throws.
template <class Callback, class... Arguments>
Result<void> call_user(const Callback& callback, Arguments&&... arguments) {
    if (!callback) return {};
    std::string thrown;
    try {
        callback(std::forward<Arguments>(arguments)...);
        return {};
    } catch (const std::exception& exception) {
        thrown = exception.what();
    } catch (...) {
        thrown = "not a std::exception";
    }
    return Error{ErrorCode::bad_argument, "a callback threw an exception: " + thrown, "events",
                 "callbacks that do not throw"};
}

}  // namespace hokku
