// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an Error. The return type of everything that can fail for reasons outside
// the program.
#pragma once

#include <cassert>
#include <optional>
#include <utility>
#include <variant>

#include "hokku/error.h"

namespace hokku {

template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    [[nodiscard]] bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    /// The value. Needs ok().
    [[nodiscard]] T& value() & { return checked(); }
    [[nodiscard]] const T& value() const& { return const_cast<Result*>(this)->checked(); }
    [[nodiscard]] T&& value() && { return std::move(checked()); }
    T& operator*() & { return checked(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(checked()); }
    T* operator->() { return &checked(); }
    const T* operator->() const { return &value(); }

    /// The error. Needs !ok().
    [[nodiscard]] const Error& error() const& {
        assert(!ok() && "error() of a result that holds a value");
        return *std::get_if<1>(&state_);
    }
    [[nodiscard]] Error&& error() && {
        assert(!ok() && "error() of a result that holds a value");
        return std::move(*std::get_if<1>(&state_));
    }

  private:
    T& checked() {
        assert(ok() && "value() of a result that holds an error");
        return *std::get_if<0>(&state_);
    }
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    [[nodiscard]] bool ok() const { return !error_.has_value(); }
    explicit operator bool() const { return ok(); }
    [[nodiscard]] const Error& error() const& {
        assert(!ok() && "error() of a result without error");
        return *error_;
    }
    [[nodiscard]] Error&& error() && {
        assert(!ok() && "error() of a result without error");
        return std::move(*error_);
    }

  private:
    std::optional<Error> error_;
};

}  // namespace hokku
