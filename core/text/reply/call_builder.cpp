// SPDX-License-Identifier: Apache-2.0
#include "text/reply/call_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/reply/json_pieces.h"
#include "text/reply/reply_buffer.h"

namespace hokku::reply {
namespace {

bool is_number(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string without_control_signs(std::string_view text) {
    std::string clean(text);
    clean.erase(std::remove(clean.begin(), clean.end(), kControlSign), clean.end());
    return clean;
}

void CallBuilder::set_name(std::string_view name, std::string_view id) {
    name = trimmed(name);
    constexpr std::string_view kNamespace = "functions.";
    if (name.starts_with(kNamespace)) {
        const size_t colon = name.rfind(':');
        if (id.empty() && colon != std::string_view::npos) id = name;
        name = name.substr(0, colon).substr(kNamespace.size());
    }
    if (name.empty()) return;
    call_.name = without_control_signs(name);
    id = trimmed(id);
    // A place in a list ("0", Command R) is none: it would come again in the next turn.
    call_.id = is_number(id) ? fmt::format("call{:05}", number_) : without_control_signs(id);
    sink_.on_call_begin(call_.id, call_.name);
    if (!call_.arguments_json.empty()) sink_.on_call_arguments(call_.arguments_json);
}

void CallBuilder::add_arguments(std::string_view json) {
    if (json.empty()) return;
    call_.arguments_json += json;
    if (has_name()) sink_.on_call_arguments(json);
}

std::string_view CallBuilder::find_problem() const {
    if (call_.name.empty()) return "the call names no tool";
    if (!is_json(call_.arguments_json)) return "the arguments are not valid JSON";
    if (!call_.arguments_json.starts_with('{')) return "the arguments are not a JSON object";
    return {};
}

void CallBuilder::finish(std::string_view source) {
    if (has_name() && call_.arguments_json.empty()) add_arguments("{}");
    call_.problem = find_problem();
    close(source);
}

void CallBuilder::fail(std::string_view problem, std::string_view source) {
    call_.problem = problem;
    close(source);
}

void CallBuilder::close(std::string_view source) {
    call_.text = without_control_signs(trimmed(source));
    if (call_.id.empty()) call_.id = fmt::format("call{:05}", number_);
    sink_.on_call(call_);
    call_ = {};
    ++number_;
}

}  // namespace hokku::reply
