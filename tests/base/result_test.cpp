// SPDX-License-Identifier: Apache-2.0
#include "hokku/result.h"

#include <string>

#include "base/try.h"
#include "support/catch.h"

using hokku::Error;
using hokku::ErrorCode;
using hokku::Result;

namespace {

Result<int> half_of(int number) {
    if (number % 2 != 0)
        return Error{ErrorCode::bad_argument, "the number is odd", "number", "an even number"};
    return number / 2;
}

Result<std::string> quarter_of(int number) {
    HOKKU_TRY(int half, half_of(number));
    HOKKU_TRY(int quarter, half_of(half));
    return std::to_string(quarter);
}

}  // namespace

TEST_CASE("Result: a failure passes through HOKKU_TRY with all its parts", "[base][quick]") {
    REQUIRE(quarter_of(12).value() == "3");
    const Result<std::string> failed = quarter_of(6);
    REQUIRE_FALSE(failed.ok());
    CHECK(failed.error().code == ErrorCode::bad_argument);
    CHECK(failed.error().message() == "the number is odd (number): expected an even number");
}
