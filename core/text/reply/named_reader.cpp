// SPDX-License-Identifier: Apache-2.0
// Calls as a name and a JSON object behind it.
// Sources: DeepSeek V3 and R1 (type<sep>NAME, the object in a fence) and V3.1 (NAME<sep>{..});
// Kimi K2 (functions.NAME:0); Mistral from 2025 on (NAME[ARGS]{..}, NAME[CALL_ID]ID[ARGS]{..});
// Llama 3.1 and Functionary v3.1 (<function=NAME>{..}</function>); each as its chat template
// writes.
#include "text/reply/call_reader.h"
#include "text/reply/json_pieces.h"

namespace hokku::reply {
namespace {

constexpr std::string_view kFence = "```";

/// Some put a number behind it (functions.NAME:0).
bool is_name_character(char c) {
    return is_name_byte(c) || c == ':';
}

class NamedReader final : public StagedReader {
  public:
    using StagedReader::StagedReader;

    Fit begins(const ReplyBuffer& in, size_t place) const override {
        if (!format_.call_open.empty()) return in.fits(in.skip_space(place), format_.call_open);
        // A word, and then what ends a name.
        const size_t begin = place = in.skip_space(place);
        while (place < in.size() && is_name_character(in.at(place))) ++place;
        if (place - begin > kLongestName) return Fit::no;
        if (place == begin) return place < in.size() ? Fit::no : in.fits(place, "name");
        const std::string_view name = in.unread().substr(begin, place - begin);
        if (format_.only_known_tools && place < in.size() && !tools_.has(name)) return Fit::no;
        if (format_.only_known_tools && !tools_.has_prefix(name)) return Fit::no;
        const Fit ends = in.fits(place, format_.name_end);
        if (ends != Fit::no || format_.id_open.empty()) return ends;
        return in.fits(place, format_.id_open);
    }

  private:
    enum class Stage { between, name, arguments, end };

    void reset() override {
        stage_ = format_.call_open.empty() && !is_resumed_ ? Stage::name : Stage::between;
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
            case Stage::arguments:
                return read_arguments(in, out);
            case Stage::end:
                return read_end(in);
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
        const bool is_open = place == in.size() && !in.is_closed();
        const bool may_go_on = !format_.call_open.empty() || !format_.close.empty();
        if (next == Fit::maybe || end == Fit::maybe || (is_open && may_go_on)) return Reading::more;
        return leave_block(in, out);
    }

    Reading read_name(ReplyBuffer& in, CallBuilder& out) {
        constexpr std::string_view kNoArguments = "no arguments follow its name";
        const size_t found = in.unread().find(format_.name_end, place_);
        if (found == std::string_view::npos) {
            const bool is_too_far = in.size() > place_ + kLongestName + format_.name_end.size();
            return is_too_far ? fail(kNoArguments) : wait(in);
        }
        if (found > place_ + kLongestName) return fail(kNoArguments);
        std::string_view name = in.unread().substr(place_, found - place_), id;
        size_t place = in.skip_space(found + format_.name_end.size());
        if (place == in.size()) return wait(in);
        if (format_.has_kind && is_name_character(in.at(place))) {
            // The kind of the call came first, and now its name on a line.
            const size_t line_end = in.unread().find('\n', place);
            if (line_end == std::string_view::npos || line_end > place + kLongestName)
                return in.size() > place + kLongestName ? fail(kNoArguments) : wait(in);
            name = in.unread().substr(place, line_end - place);
            place = line_end;
        }
        if (!format_.id_open.empty()) {
            const size_t id_at = name.find(format_.id_open);
            if (id_at != std::string_view::npos) {
                id = name.substr(id_at + format_.id_open.size());
                name = name.substr(0, id_at);
            }
        }
        out.set_name(name, id);
        place_ = place;
        begin_ = 0;
        brackets_.reset();
        return go_to(Stage::arguments);
    }

    Reading read_arguments(ReplyBuffer& in, CallBuilder& out) {
        if (begin_ == 0) {
            const size_t place = skip_fence(in, in.skip_space(place_));
            if (place == in.size() || place == kUndecided) return wait(in);
            if (in.at(place) != '{') return fail("its arguments are not a JSON object");
            begin_ = place_ = place;
        }
        const size_t sent = place_;
        auto step = BracketScanner::Step::more;
        while (step == BracketScanner::Step::more && place_ < in.size()) {
            step = brackets_.push(in.at(place_));
            if (step != BracketScanner::Step::broken) ++place_;
        }
        out.add_arguments(in.unread().substr(sent, place_ - sent));
        if (step == BracketScanner::Step::broken) return fail("its arguments are not valid JSON");
        if (step == BracketScanner::Step::more) return wait(in);
        end_call(place_);
        return go_to(Stage::end);
    }

    /// The end of a fence and of the call; a model may leave them out.
    Reading read_end(ReplyBuffer& in) {
        size_t place = in.skip_space(place_);
        const Fit fence = in.fits(place, kFence);
        if (fence == Fit::maybe) return Reading::more;
        if (fence == Fit::yes) place = in.skip_space(place + kFence.size());
        if (!format_.call_close.empty()) {
            const Fit close = in.fits(place, format_.call_close);
            if (close == Fit::maybe) return Reading::more;
            if (close == Fit::yes) place_ = place + format_.call_close.size();
        } else if (fence == Fit::yes) {
            place_ = place;
        }
        end_call(place_);
        return go_to(Stage::between);
    }

    static constexpr size_t kUndecided = std::string_view::npos;
    /// Behind "```json"; `place` itself where there is no fence.
    static size_t skip_fence(const ReplyBuffer& in, size_t place) {
        const Fit fence = in.fits(place, kFence);
        if (fence == Fit::maybe) return kUndecided;
        if (fence == Fit::no) return place;
        place += kFence.size();
        while (place < in.size() && in.at(place) >= 'a' && in.at(place) <= 'z') ++place;
        return in.skip_space(place);
    }

    Stage stage_ = Stage::between;
    size_t begin_ = 0;  ///< Of the arguments; 0 before.
    BracketScanner brackets_;
};

}  // namespace

std::unique_ptr<CallReader> make_named_reader(const CallFormat& format, const ToolList& tools) {
    return std::make_unique<NamedReader>(format, tools);
}

}  // namespace hokku::reply
