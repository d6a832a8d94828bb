// SPDX-License-Identifier: Apache-2.0
// Dates as text, in the C locale whatever the process uses.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace hokku::jinja {

/// strftime() in English; unknown conversions stay as they are.
std::string format_time(std::string_view pattern, const std::tm& time);
/// "2025-01-15T10:30:00", or with a space, or the date alone; nullopt for anything else.
std::optional<std::tm> parse_time(std::string_view text);
/// The present local time.
std::tm local_time();

}  // namespace hokku::jinja
