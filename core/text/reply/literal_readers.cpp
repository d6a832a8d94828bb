// SPDX-License-Identifier: Apache-2.0
// Calls in Gemma's and in Python's notation. They are read as a whole at the end of a block, but
// for the name of a Gemma call.
// Sources: FunctionGemma's documentation; the chat templates of Gemma 4 and LFM2; Llama 3.1's
// prompt format (<|python_tag|>); Google's guide to function calling with Gemma ([f(a=1)],
// ```tool_code).
#include <algorithm>

#include "text/reply/call_reader.h"
#include "text/reply/json_pieces.h"
#include "text/reply/literal_values.h"

namespace hokku::reply {
namespace {

constexpr size_t kLongestName = 256;
constexpr std::string_view kCutOff = "the reply ends within it";

/// The first place from `place` on that no name goes on at.
size_t name_end(const ReplyBuffer& in, size_t place) {
    const size_t most = std::min(in.size(), place + kLongestName);
    while (place < most && is_name_byte(in.at(place))) ++place;
    return place;
}

/// Looks for a marker in text that grows.
class MarkerSearch {
  public:
    void reset(size_t place) { from_ = place; }
    size_t find(const ReplyBuffer& in, std::string_view marker) {
        const size_t found = in.unread().find(marker, from_);
        if (found == std::string_view::npos && in.size() >= marker.size())
            from_ = std::max(from_, in.size() - marker.size() + 1);
        return found;
    }

  private:
    size_t from_ = 0;
};

class GemmaReader final : public CallReader {
  public:
    using CallReader::CallReader;

    Fit begins(const ReplyBuffer& in, size_t place) const override {
        place = in.skip_space(place);
        const Fit call = in.fits(place, kCall);
        if (call != Fit::yes) return call;
        place += kCall.size();
        const size_t end = name_end(in, place);
        if (end == place) return end < in.size() ? Fit::no : in.fits(end, "name");
        return in.fits(end, "{");
    }

    Reading read(ReplyBuffer& in, CallBuilder& out) override {
        if (is_resumed_) return finish_block(in, 0);  // one call a block
        if (!has_name_) {
            const size_t begin = in.skip_space(place_) + kCall.size();
            const size_t end = name_end(in, begin);
            out.set_name(in.unread().substr(begin, end - begin));
            has_name_ = true;
            place_ = end;
            search_.reset(end);
        }
        const size_t close = search_.find(in, format_.close);
        if (close == std::string_view::npos && !in.is_closed()) return Reading::more;
        const bool is_cut = close == std::string_view::npos;
        const size_t end = is_cut ? in.size() : close;
        const auto arguments =
            gemma_object_as_json(in.unread().substr(place_, end - place_), format_.quote);
        if (!arguments) return fail(is_cut ? kCutOff : "its arguments cannot be read");
        out.add_arguments(*arguments);
        finish_call(in, out, is_cut ? end : end + format_.close.size());
        return Reading::done;
    }

  private:
    void reset() override { has_name_ = false; }
    static constexpr std::string_view kCall = "call:";

    bool has_name_ = false;
    MarkerSearch search_;
};

class PythonReader final : public CallReader {
  public:
    using CallReader::CallReader;

    Fit begins(const ReplyBuffer& in, size_t place) const override {
        if (format_.ends_with_reply) return place < in.size() ? Fit::yes : in.fits(place, "code");
        place = in.skip_space(place);
        if (place == in.size()) return in.fits(place, "name");
        const bool is_list = in.at(place) == '[';
        if (is_list) place = in.skip_space(place + 1);
        const size_t end = name_end(in, place);
        if (end == place) return end < in.size() ? Fit::no : in.fits(end, "name");
        const std::string_view name = in.unread().substr(place, end - place);
        if (!format_.only_known_tools) return in.fits(end, "(");
        if (end == in.size()) return tools_.has_prefix(name) ? in.fits(end, "(") : Fit::no;
        return tools_.has(name) ? in.fits(end, "(") : Fit::no;
    }

    Reading read(ReplyBuffer& in, CallBuilder& out) override {
        if (is_resumed_) return finish_block(in, 0);
        size_t end = 0, after = 0;
        const bool is_cut = !find_end(in, end, after);
        if (is_cut) {
            if (!in.is_closed()) return Reading::more;
            end = after = in.size();
        }
        const std::string_view text = in.unread().substr(place_, end - place_);
        if (const auto calls = python_calls(text)) {
            // Each call has its part of the text: together they are all of it.
            for (size_t i = 0, begin = 0, next = 0; i < calls->size(); ++i, begin = next) {
                const LiteralCall& call = (*calls)[i];
                next = i + 1 < calls->size() ? place_ + (*calls)[i + 1].begin : after;
                out.set_name(call.name);
                out.add_arguments(call.arguments_json);
                out.finish(in.unread().substr(begin, next - begin));
            }
        } else if (format_.ends_with_reply) {
            // Llama's own name for what runs a program.
            std::string arguments = "{\"code\":";
            append_json_string(arguments, without_control_signs(text));
            out.set_name("code_interpreter");
            out.add_arguments(arguments + "}");
            out.finish(in.unread().substr(0, after));
        } else {
            return fail(is_cut ? kCutOff : "it is not a list of calls with named arguments");
        }
        in.read(after);
        return Reading::done;
    }

  private:
    void reset() override {
        scanned_ = place_;
        search_.reset(place_);
        depth_ = 0;
        quote_ = '\0';
        is_escaped_ = false;
    }
    /// The end of the calls, and the place behind their close marker.
    bool find_end(const ReplyBuffer& in, size_t& end, size_t& after) {
        if (format_.ends_with_reply) return false;
        if (!format_.close.empty()) {
            end = search_.find(in, format_.close);
            after = end + format_.close.size();
            return end != std::string_view::npos;
        }
        for (; scanned_ < in.size(); ++scanned_) {
            if (!closes(in.at(scanned_))) continue;
            end = after = scanned_ + 1;
            return true;
        }
        return false;
    }
    /// Whether this byte closes the last bracket.
    bool closes(char c) {
        if (quote_ != '\0') {
            if (!is_escaped_ && c == quote_) quote_ = '\0';
            is_escaped_ = !is_escaped_ && c == '\\';
            return false;
        }
        if (c == '"' || c == '\'') quote_ = c;
        if (c == '[' || c == '(' || c == '{') ++depth_;
        if (c != ']' && c != ')' && c != '}') return false;
        if (depth_ > 0) --depth_;
        return depth_ == 0;
    }
    size_t scanned_ = 0, depth_ = 0;
    char quote_ = '\0';
    bool is_escaped_ = false;
    MarkerSearch search_;
};

}  // namespace

std::unique_ptr<CallReader> make_gemma_reader(const CallFormat& format, const ToolList& tools) {
    return std::make_unique<GemmaReader>(format, tools);
}

std::unique_ptr<CallReader> make_python_reader(const CallFormat& format, const ToolList& tools) {
    return std::make_unique<PythonReader>(format, tools);
}

}  // namespace hokku::reply
