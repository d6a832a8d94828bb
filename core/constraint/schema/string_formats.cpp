// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "constraint/schema/schema_compiler.h"

namespace hokku::constraint {

namespace {

// Years 0001 to 9999; a 29th of February only in leap years.
const std::string kYear = "(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})";
const std::string kLeapYear =
    "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)";
const std::string kDate = "(" + kYear +
                          "-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|"
                          "(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|" +
                          kLeapYear + "-02-29)";
const std::string kClock = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?";
const std::string kZone = "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])";
const std::string kLabel = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const std::string kHost = kLabel + "(\\." + kLabel + "){0,3}";
const std::string kOctet = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const std::string kIpv4 = kOctet + "(\\." + kOctet + "){3}";
const std::string kGroup = "[0-9a-fA-F]{1,4}";
const std::string kUrlChars = "([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-F]{2})";
const std::string kUriTail =
    "(/" + kUrlChars + "*)*(\\?(" + kUrlChars + "|[/?])*)?(#(" + kUrlChars + "|[/?])*)?";

/// Narrower than their standards where those allow forms that nobody writes.
/// Source: JSON Schema validation, section 7.3; RFC 3339, 3986, 5321, 1123, 4291, 4122.
const std::map<std::string, std::string, std::less<>>& patterns() {
    static const std::map<std::string, std::string, std::less<>> kPatterns{
        {"date", kDate},
        {"time", kClock + kZone},
        {"date-time", kDate + "T" + kClock + kZone},
        {"duration",
         "P([0-9]{1,4}W|[0-9]{1,4}Y([0-9]{1,4}M([0-9]{1,4}D)?)?|[0-9]{1,4}M([0-9]{1,4}D)?|"
         "[0-9]{1,4}D(T[0-9]{1,4}H)?|T([0-9]{1,4}H([0-9]{1,4}M([0-9]{1,4}S)?)?|"
         "[0-9]{1,4}M([0-9]{1,4}S)?|[0-9]{1,4}S))"},
        {"uuid", "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"},
        {"email",
         "[A-Za-z0-9_+-]{1,30}(\\.[A-Za-z0-9_+-]{1,30})?@" + kLabel + "(\\." + kLabel + "){1,3}"},
        {"hostname", kHost},
        {"ipv4", kIpv4},
        {"ipv6", "(" + kGroup + ":){7}" + kGroup + "|(" + kGroup + ":){1,6}:" + kGroup + "|::(" +
                     kGroup + ":){0,5}" + kGroup + "|::"},
        {"uri", "[a-z][a-z0-9+.-]{0,15}://" + kHost + "(:[1-9][0-9]{0,4})?" + kUriTail},
        {"uri-reference",
         "([a-z][a-z0-9+.-]{0,15}://" + kHost + "(:[1-9][0-9]{0,4})?)?" + kUriTail},
        {"json-pointer", "(/([^/~]|~[01])*)*"},
        // Formats of numbers, and those that say what a string is for.
        {"int32", ""},
        {"int64", ""},
        {"float", ""},
        {"double", ""},
        {"password", ""},
        {"textarea", ""},
        {"multiline", ""},
    };
    return kPatterns;
}

}  // namespace

std::optional<std::string> format_pattern(std::string_view format) {
    const auto found = patterns().find(format);
    if (found == patterns().end()) return std::nullopt;
    return found->second;
}

}  // namespace hokku::constraint
