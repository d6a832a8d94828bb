// SPDX-License-Identifier: Apache-2.0
#include "text/reply/reply_format.h"

#include <algorithm>

#include "text/reply/reply_buffer.h"
#include "text/reply/reply_families.h"

namespace hokku::reply {
namespace {

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

bool fits(const CallFamily& family, const ReplyClues& clues) {
    const auto& known = family.architectures;
    if (!known.empty() && std::find(known.begin(), known.end(), clues.architecture) == known.end())
        return false;
    return std::all_of(family.markers.begin(), family.markers.end(), [&](std::string_view marker) {
        return contains(clues.template_source, marker);
    });
}

std::string quoted(const std::vector<std::string_view>& markers) {
    std::string list;
    for (const std::string_view marker : markers)
        list += (list.empty() ? "'" : ", '") + std::string(marker) + "'";
    return list;
}

/// Puts the sign before each control token in `marker`, the longest where several fit.
bool bind(std::string& marker, const Tokenizer& tokenizer) {
    std::string bound;
    for (size_t at = 0; at < marker.size();) {
        size_t length = marker.size() - at;
        for (; length > 1; --length) {
            const auto id = tokenizer.find_token(std::string_view(marker).substr(at, length));
            if (!id || tokenizer.kind(*id) != TokenKind::control) continue;
            bound += kControlSign;
            break;
        }
        bound.append(marker, at, length);
        at += length;
    }
    const bool has_token = bound.size() > marker.size();
    marker = std::move(bound);
    return has_token;
}

}  // namespace

ReplyFormatInfo ReplyFormat::info() const {
    const bool is_harmony = framing == Framing::harmony;
    return {name, evidence, is_harmony || !thoughts.empty(), is_harmony || !calls.empty()};
}

ReplyFormat find_reply_format(const ReplyClues& clues) {
    ReplyFormat format;
    if (clues.template_source.empty()) {
        format.evidence = "the model has no chat template";
        return format;
    }
    const auto& families = call_families();
    const auto family = std::find_if(families.begin(), families.end(),
                                     [&](const auto& candidate) { return fits(candidate, clues); });
    if (family != families.end()) {
        format.name = family->name;
        format.framing = family->framing;
        format.calls = family->calls;
        format.silent = family->silent;
        format.ends = family->ends;
        format.evidence = "chat template: " + quoted(family->markers);
        if (!family->architectures.empty())
            format.evidence += "; architecture " + std::string(clues.architecture);
    }
    if (format.framing == Framing::harmony) return format;
    for (const ThoughtFamily& thought : thought_families()) {
        if (!contains(clues.template_source, thought.marker)) continue;
        format.thoughts.push_back(thought.markers);
        format.evidence += format.evidence.empty() ? "chat template: " : "; thoughts: ";
        format.evidence += quoted({thought.marker});
        break;
    }
    if (family == families.end()) {
        format.name = format.thoughts.empty() ? "plain" : "thoughts";
        format.framing = format.thoughts.empty() ? Framing::plain : Framing::marked;
        if (format.thoughts.empty()) format.evidence = "no known marker in the chat template";
    }
    return format;
}

void leave_out_named(ReplyFormat& format, const std::vector<std::string_view>& texts) {
    std::string all;
    for (const std::string_view text : texts) {
        for (const char c : text)
            if (c != '\\') all += c;
        all += '\n';
    }
    const auto is_named = [&](const std::string& marker) {
        std::string_view plain = marker;
        const auto is_edge = [](char c) { return is_space(c) || c == kControlSign; };
        while (!plain.empty() && is_edge(plain.front())) plain.remove_prefix(1);
        while (!plain.empty() && is_space(plain.back())) plain.remove_suffix(1);
        const std::string text = without_control_signs(plain);
        return text.size() >= kLeastMarkerBytes && contains(all, text);
    };
    if (format.framing == Framing::harmony && is_named("<|channel|>")) format = ReplyFormat();
    std::erase_if(format.thoughts, [&](const ThoughtMarkers& thought) {
        return is_named(thought.open) || is_named(thought.close);
    });
    const bool has_calls = std::any_of(
        format.calls.begin(), format.calls.end(),
        [&](const CallFormat& call) { return is_named(call.open) || is_named(call.call_open); });
    if (has_calls) format.calls.clear();  // another syntax would read them
    std::erase_if(format.silent, is_named);
}

std::vector<std::string*> markers_of(ReplyFormat& format) {
    std::vector<std::string*> markers;
    const auto add = [&](std::initializer_list<std::string*> list) {
        for (std::string* marker : list) {
            if (!marker->empty()) markers.push_back(marker);
        }
    };
    for (ThoughtMarkers& thought : format.thoughts) add({&thought.open, &thought.close});
    for (CallFormat& call : format.calls) {
        add({&call.open, &call.close, &call.call_open, &call.call_close, &call.name_end,
             &call.id_open, &call.key_open, &call.key_end, &call.value_open, &call.value_close,
             &call.attributes_end, &call.quote});
    }
    for (std::string& marker : format.silent) add({&marker});
    return markers;
}

void bind_control_tokens(ReplyFormat& format, const Tokenizer& tokenizer) {
    for (std::string* marker : markers_of(format)) {
        if (bind(*marker, tokenizer)) format.has_control_tokens = true;
    }
    std::string channel = "<|channel|>";
    if (format.framing == Framing::harmony) format.has_control_tokens = bind(channel, tokenizer);
}

}  // namespace hokku::reply
