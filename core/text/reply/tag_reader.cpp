// SPDX-License-Identifier: Apache-2.0
// Calls as an element with an element for each argument, whose values stand without quotes.
// Sources: Qwen3-Coder (<function=NAME><parameter=KEY>), Seed-OSS, MiniMax M2 (<invoke name="NAME">
// <parameter name="KEY">), DeepSeek V3.2 (DSML, with string="true"), GLM 4.5 (<tool_call>NAME
// <arg_key>KEY</arg_key><arg_value>), MiniCPM5, Hunyuan 3, Kimi K3; each as its chat template
// writes and describes it.
#include <algorithm>

#include "text/reply/call_reader.h"
#include "text/reply/json_pieces.h"
#include "text/reply/literal_values.h"

namespace hokku::reply {
namespace {

/// What a value is by the attributes beside its key (DeepSeek, Kimi K3).
ParameterType type_of_attributes(std::string_view attributes) {
    const auto has = [&](std::string_view text) {
        return attributes.find(text) != std::string_view::npos;
    };
    if (has("string=\"true\"") || has("type=\"string\"")) return ParameterType::string;
    return has("string=\"false\"") || has("type=\"") ? ParameterType::other
                                                     : ParameterType::unknown;
}

/// JSON of a value. Templates write what is not a string as JSON, some by Python's str().
std::string value_as_json(std::string_view text, ParameterType type) {
    const std::string_view bare = trimmed(text);
    const bool is_known = type != ParameterType::unknown;
    if (type != ParameterType::string) {
        // A quoted text is one whose quotes are meant, unless it is known to be JSON.
        const bool is_plain = !is_known && bare.starts_with('"');
        if (!is_plain && is_json(bare)) return std::string(bare);
        if (is_known || bare.starts_with('[') || bare.starts_with('{')) {
            if (auto json = python_value_as_json(bare)) return *std::move(json);
        }
    }
    std::string json;
    append_json_string(json, without_control_signs(text));
    return json;
}

class TagReader final : public StagedReader {
  public:
    using StagedReader::StagedReader;

    Fit begins(const ReplyBuffer& in, size_t place) const override {
        place = in.skip_space(place);
        if (!format_.call_open.empty()) return in.fits(place, format_.call_open);
        const size_t begin = place, most = place + kLongestName;
        while (place < in.size() && place < most && is_name_byte(in.at(place))) ++place;
        if (place == begin) return place < in.size() ? Fit::no : in.fits(place, "name");
        if (!format_.name_end.empty()) return in.fits(place, format_.name_end);
        // GLM: a word, and then an argument or the end.
        place = in.skip_space(place);
        const Fit argument = in.fits(place, format_.key_open);
        const Fit end = in.fits(place, format_.call_close);
        if (argument == Fit::yes || end == Fit::yes) return Fit::yes;
        return argument == Fit::maybe || end == Fit::maybe ? Fit::maybe : Fit::no;
    }

  private:
    enum class Stage { between, name, in_call, key, value };

    void reset() override {
        stage_ = format_.call_open.empty() && !is_resumed_ ? Stage::name : Stage::between;
        has_arguments_ = false;
    }
    Reading go_to(Stage stage) {
        stage_ = stage;
        return advance();
    }
    Reading read_stage(ReplyBuffer& in, CallBuilder& out) override {
        switch (stage_) {
            case Stage::between:
                return read_between(in, out);
            case Stage::name:
                return read_name(in, out);
            case Stage::in_call:
                return read_in_call(in, out);
            case Stage::key:
                return read_key(in);
            case Stage::value:
                return read_value(in, out);
        }
        return fail("an unknown stage");
    }

    Reading read_between(ReplyBuffer& in, CallBuilder& out) {
        const size_t place = in.skip_space(place_);
        const Fit next = fits_marker(in, place, format_.call_open),
                  end = fits_marker(in, place, format_.close);
        if (next == Fit::yes) {
            const size_t name_place = place + format_.call_open.size() - call_end_;
            if (has_ended_call()) finish_call(in, out, call_end_);
            place_ = name_place;
            return go_to(Stage::name);
        }
        if (end == Fit::yes) return close_block(in, out, place + format_.close.size());
        if (next == Fit::maybe || end == Fit::maybe) return Reading::more;
        if (place == in.size()) return close_block(in, out, place);
        return leave_block(in, out);
    }

    /// Text that ends with `marker`, and with the attributes behind it.
    struct Field {
        std::string_view text, attributes;
        size_t end = 0;
    };
    enum class Found { yes, no, not_yet };
    Found find_field(const ReplyBuffer& in, const std::string& marker, Field& field) const {
        const size_t most = place_ + kLongestName;
        const size_t text_end = in.unread().find(marker, place_);
        if (text_end == std::string_view::npos)
            return in.size() > most + marker.size() ? Found::no : Found::not_yet;
        size_t end = text_end + marker.size();
        field.text = in.unread().substr(place_, text_end - place_);
        if (!format_.attributes_end.empty()) {
            const size_t last = in.unread().find(format_.attributes_end, end);
            if (last == std::string_view::npos)
                return in.size() > most + kLongestName ? Found::no : Found::not_yet;
            field.attributes = in.unread().substr(end, last - end);
            end = last + format_.attributes_end.size();
        }
        field.end = end;
        return end > most + kLongestName ? Found::no : Found::yes;
    }

    Reading read_name(ReplyBuffer& in, CallBuilder& out) {
        if (format_.name_end.empty()) {
            const size_t begin = in.skip_space(place_);
            size_t end = begin;
            while (end < in.size() && is_name_byte(in.at(end))) ++end;
            if (end == in.size()) return wait(in);
            out.set_name(in.unread().substr(begin, end - begin));
            place_ = end;
            return go_to(Stage::in_call);
        }
        Field field;
        const Found found = find_field(in, format_.name_end, field);
        if (found == Found::no) return fail("its name does not end");
        if (found == Found::not_yet) return wait(in);
        out.set_name(field.text);
        place_ = field.end;
        return go_to(Stage::in_call);
    }

    Reading read_in_call(ReplyBuffer& in, CallBuilder& out) {
        const size_t place = in.skip_space(place_);
        const Fit key = in.fits(place, format_.key_open);
        if (key == Fit::yes) {
            place_ = place + format_.key_open.size();
            return go_to(Stage::key);
        }
        const Fit end = in.fits(place, format_.call_close);
        if (end == Fit::yes) return finish(out, place + format_.call_close.size());
        // Some models forget the end of the call before that of the block.
        const Fit block_end = fits_marker(in, place, format_.close);
        if (block_end == Fit::yes) return finish(out, place);
        if (key == Fit::maybe || end == Fit::maybe || block_end == Fit::maybe) return wait(in);
        return fail(in.size() == place ? "the reply ends within it"
                                       : "neither an argument nor its end follows");
    }
    Reading finish(CallBuilder& out, size_t place) {
        out.add_arguments(has_arguments_ ? "}" : "{}");
        end_call(place);
        has_arguments_ = false;
        return go_to(Stage::between);
    }

    Reading read_key(ReplyBuffer& in) {
        Field field;
        const Found found = find_field(in, format_.key_end, field);
        if (found == Found::no) return fail("the name of an argument does not end");
        if (found == Found::not_yet) return wait(in);
        size_t place = field.end;
        if (!format_.value_open.empty()) {
            place = in.skip_space(place);
            const Fit value = in.fits(place, format_.value_open);
            if (value == Fit::maybe) return Reading::more;
            if (value == Fit::no) return fail("an argument has no value");
            place += format_.value_open.size();
        }
        key_ = without_control_signs(field.text);
        attributes_ = field.attributes;
        place_ = search_from_ = place;
        is_in_cdata_ = false;
        return go_to(Stage::value);
    }

    /// A closing marker ends the value only where something follows that can: texts about such
    /// markers contain them.
    Reading read_value(ReplyBuffer& in, CallBuilder& out) {
        if (format_.has_cdata && search_from_ == place_ && !is_in_cdata_) {
            const Fit cdata = in.fits(place_, kCdataOpen);
            if (cdata == Fit::maybe) return Reading::more;
            is_in_cdata_ = cdata == Fit::yes;
        }
        const std::string_view close = format_.value_close;
        for (;;) {
            const std::string_view marker = is_in_cdata_ ? kCdataClose : close;
            const size_t found = in.unread().find(marker, search_from_);
            if (found == std::string_view::npos) {
                const size_t overlap = std::min(in.size() - place_, marker.size() - 1);
                search_from_ = std::max(search_from_, in.size() - overlap);
                return wait(in);
            }
            const size_t end = found + marker.size();
            const Fit next = is_in_cdata_ ? in.fits(end, close) : can_follow_value(in, end);
            if (next == Fit::maybe) {
                search_from_ = found;
                return wait(in);
            }
            if (next == Fit::yes) {
                const size_t after = is_in_cdata_ ? end + close.size() : end;
                return take_value(in, out, found, after);
            }
            search_from_ = found + 1;
        }
    }
    Fit can_follow_value(const ReplyBuffer& in, size_t place) const {
        place = in.skip_space(place);
        Fit best = place == in.size() && in.is_closed() ? Fit::yes : Fit::no;
        for (const std::string* marker : {&format_.key_open, &format_.call_close, &format_.close}) {
            const Fit next = fits_marker(in, place, *marker);
            if (next == Fit::yes || best == Fit::no) best = next;
        }
        return best;
    }
    Reading take_value(ReplyBuffer& in, CallBuilder& out, size_t end, size_t next_place) {
        std::string_view text = in.unread().substr(place_, end - place_);
        if (is_in_cdata_) text.remove_prefix(kCdataOpen.size());
        if (format_.has_lines && text.starts_with('\n')) text.remove_prefix(1);
        if (format_.has_lines && text.ends_with('\n')) text.remove_suffix(1);
        ParameterType type = type_of_attributes(attributes_);
        if (type == ParameterType::unknown) type = tools_.type_of(out.name(), key_);
        std::string json = has_arguments_ ? "," : "{";
        append_json_string(json, trimmed(key_));
        json += ':';
        json += value_as_json(text, type);
        out.add_arguments(json);
        has_arguments_ = true;
        place_ = next_place;
        return go_to(Stage::in_call);
    }

    static constexpr std::string_view kCdataOpen = "<![CDATA[", kCdataClose = "]]>";

    Stage stage_ = Stage::between;
    bool has_arguments_ = false, is_in_cdata_ = false;
    std::string key_, attributes_;
    size_t search_from_ = 0;  ///< Of the end of the value.
};

}  // namespace

std::unique_ptr<CallReader> make_tag_reader(const CallFormat& format, const ToolList& tools) {
    return std::make_unique<TagReader>(format, tools);
}

}  // namespace hokku::reply
