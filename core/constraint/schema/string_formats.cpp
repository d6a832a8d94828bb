// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "constraint/schema/schema_compiler.h"

namespace hokku::constraint {

namespace {

/// Narrower than their standards where those allow forms that nobody writes.
/// Source: JSON Schema validation, section 7.3; RFC 3339, 3986, 5321, 1123, 4291, 4122.
std::map<std::string, std::string, std::less<>> make_patterns() {
    // Years 0001 to 9999; a 29th of February only in leap years.
    const std::string year = "(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})";
    const std::string leap_year =
        "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)";
    const std::string date = "(" + year +
                             "-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|"
                             "(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|" +
                             leap_year + "-02-29)";
    const std::string clock = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?";
    const std::string zone = "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])";
    const std::string label = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
    const std::string host = label + "(\\." + label + "){0,3}";
    const std::string octet = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
    const std::string ipv4 = octet + "(\\." + octet + "){3}";
    const std::string group = "[0-9a-fA-F]{1,4}";
    const std::string url_chars = "([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-F]{2})";
    const std::string uri_tail =
        "(/" + url_chars + "*)*(\\?(" + url_chars + "|[/?])*)?(#(" + url_chars + "|[/?])*)?";
    return {
        {"date", date},
        {"time", clock + zone},
        {"date-time", date + "T" + clock + zone},
        {"duration",
         "P([0-9]{1,4}W|[0-9]{1,4}Y([0-9]{1,4}M([0-9]{1,4}D)?)?|[0-9]{1,4}M([0-9]{1,4}D)?|"
         "[0-9]{1,4}D(T[0-9]{1,4}H)?|T([0-9]{1,4}H([0-9]{1,4}M([0-9]{1,4}S)?)?|"
         "[0-9]{1,4}M([0-9]{1,4}S)?|[0-9]{1,4}S))"},
        {"uuid", "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"},
        {"email",
         "[A-Za-z0-9_+-]{1,30}(\\.[A-Za-z0-9_+-]{1,30})?@" + label + "(\\." + label + "){1,3}"},
        {"hostname", host},
        {"ipv4", ipv4},
        {"ipv6", "(" + group + ":){7}" + group + "|(" + group + ":){1,6}:" + group + "|::(" +
                     group + ":){0,5}" + group + "|::"},
        {"uri", "[a-z][a-z0-9+.-]{0,15}://" + host + "(:[1-9][0-9]{0,4})?" + uri_tail},
        {"uri-reference", "([a-z][a-z0-9+.-]{0,15}://" + host + "(:[1-9][0-9]{0,4})?)?" + uri_tail},
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
}

const std::map<std::string, std::string, std::less<>>& patterns() {
    static const auto kPatterns = make_patterns();
    return kPatterns;
}

}  // namespace

std::optional<std::string> format_pattern(std::string_view format) {
    const auto found = patterns().find(format);
    if (found == patterns().end()) return std::nullopt;
    return found->second;
}

std::string known_formats() {
    std::string names;
    for (const auto& [name, pattern] : patterns()) names += (names.empty() ? "" : ", ") + name;
    return names;
}

}  // namespace hokku::constraint
