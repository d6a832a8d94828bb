// SPDX-License-Identifier: Apache-2.0
// The parser for text with markers in it.
#include "text/reply/marked_parser.h"

#include <algorithm>

namespace hokku::reply {
namespace {

bool ends_with_marker(std::string_view text, std::string_view marker) {
    const auto strip = [](std::string_view from) {
        while (!from.empty() && is_space(from.back())) from.remove_suffix(1);
        return from;
    };
    return !strip(marker).empty() && strip(text).ends_with(strip(marker));
}

bool is_control(std::string_view marker) {
    return marker.starts_with(kControlSign);
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

MarkedParser::MarkedParser(ReplyFormat format, ReplyOptions options, ReplySink& sink)
    : format_(std::move(format)),
      tools_(std::move(options.tools)),
      sink_(sink),
      builder_(sink, options.first_call_number) {
    if (tools_.empty()) format_.calls.clear();
    for (const CallFormat& call : format_.calls) readers_.push_back(make_call_reader(call, tools_));
    read_prompt(options);
    collect_markers();
    text_.reserve(1024);
    spaces_.reserve(256);
}

void MarkedParser::read_prompt(const ReplyOptions& options) {
    if (!options.is_continued) take_marker_of_prompt(options.prompt_end);
    if (format_.thoughts.empty()) return;
    const ThoughtMarkers& thought = format_.thoughts.front();
    // The prompt is text: there the markers have no signs.
    const std::string open = without_control_signs(thought.open);
    const std::string close = without_control_signs(thought.close);
    if (options.is_continued) {
        // All that is given is the message that goes on.
        const size_t opened = options.prompt_end.rfind(open);
        const size_t closed = options.prompt_end.rfind(close);
        const bool is_open = opened != std::string_view::npos &&
                             (closed == std::string_view::npos || closed < opened);
        where_ = is_open ? Where::thought : Where::answer;
        is_thought_over_ = !is_open;
        skips_space_ = false;
    } else if (ends_with_marker(options.prompt_end, open)) {
        where_ = Where::thought;
    } else if (ends_with_marker(options.prompt_end, close)) {
        where_ = Where::start;
        is_thought_over_ = true;
    }
}

/// A template may begin a marker for the model: the reply goes on with it.
void MarkedParser::take_marker_of_prompt(std::string_view prompt_end) {
    std::string_view longest;
    const auto try_marker = [&](const std::string& marker) {
        for (size_t bytes = marker.size(); bytes > longest.size(); --bytes) {
            const std::string_view start = std::string_view(marker).substr(0, bytes);
            // A part of a token is none, and words may be content.
            const bool is_whole = bytes == marker.size();
            if (bytes < kLeastMarkerBytes || (!is_whole && is_control(marker))) break;
            if (!is_whole && std::any_of(start.begin(), start.end(), is_letter)) continue;
            if (prompt_end.ends_with(without_control_signs(start))) longest = start;
        }
    };
    for (const CallFormat& call : format_.calls) try_marker(call.open);
    for (const std::string& marker : format_.silent) try_marker(marker);
    text_.append(longest);
}

/// Bytes that a marker may begin with, so that most text need not be looked at twice; and all
/// markers, to know the control tokens in them.
void MarkedParser::collect_markers() {
    const auto add = [&](const std::string& marker) {
        if (!marker.empty() && first_bytes_.find(marker[0]) == std::string::npos)
            first_bytes_ += marker[0];
    };
    for (const ThoughtMarkers& thought : format_.thoughts) {
        add(thought.close);
        if (is_control(thought.open)) add(thought.open);
    }
    for (const CallFormat& call : format_.calls) add(call.open);
    for (const std::string& marker : format_.silent) add(marker);
    for (const std::string* marker : markers_of(format_)) all_markers_ += *marker;
}

void MarkedParser::push(std::string_view text) {
    if (text.empty()) return;
    text_.append(text);
    advance();
}

void MarkedParser::push_control(std::string_view text) {
    std::string signed_text(1, kControlSign);
    signed_text += text;
    if (all_markers_.find(signed_text) == std::string::npos) return;
    text_.append(signed_text);
    advance();
}

void MarkedParser::finish() {
    if (text_.is_closed()) return;
    text_.close();
    advance();
    if (where_ != Where::thought && !skips_space_) say(spaces_);
    spaces_.clear();
}

std::string_view MarkedParser::closing_text() const {
    return format_.thoughts.empty() ? std::string_view() : format_.thoughts.front().closing_text;
}

bool MarkedParser::is_in_answer() const {
    return (where_ == Where::answer || where_ == Where::start) && !is_behind_call_marker();
}

/// All that has come is the marker of a call: what follows says whether it is one.
bool MarkedParser::is_behind_call_marker() const {
    if (has_answer_text_ || (where_ != Where::answer && where_ != Where::start)) return false;
    const size_t place = text_.skip_space(0);
    return std::any_of(format_.calls.begin(), format_.calls.end(), [&](const CallFormat& call) {
        return !call.open.empty() && !call.is_fence && text_.fits(place, call.open) == Fit::yes;
    });
}

/// Whether a marker with this text behind it can still be something else than text.
bool MarkedParser::may_begin_call(std::string_view text) const {
    ReplyBuffer all;
    all.append(text_.unread());
    all.append(text);
    const size_t place = all.skip_space(0);
    for (const std::string& marker : format_.silent)
        if (all.fits(place, marker) != Fit::no) return true;
    for (size_t i = 0; i < readers_.size(); ++i) {
        const std::string& open = format_.calls[i].open;
        Fit fit = open.empty() ? Fit::no : all.fits(place, open);
        if (fit == Fit::yes) fit = readers_[i]->begins(all, place + open.size());
        if (fit != Fit::no) return true;
    }
    return false;
}

std::vector<std::string_view> MarkedParser::openings(bool with_thoughts) const {
    std::vector<std::string_view> rests;
    const std::string_view here = text_.unread().substr(text_.skip_space(0));
    const auto add = [&](std::string_view marker) {
        if (marker.size() > here.size() && marker.starts_with(here))
            rests.push_back(marker.substr(here.size()));
    };
    if (with_thoughts && where_ == Where::start && !is_thought_over_ && !format_.thoughts.empty())
        add(format_.thoughts.front().open);
    if (has_answer_text_ || (where_ != Where::answer && where_ != Where::start)) return rests;
    // A fence is what much of the answer may begin with.
    for (const CallFormat& call : format_.calls)
        if (!call.open.empty() && !call.is_fence) add(call.open);
    return rests;
}

std::string MarkedParser::pending_answer() const {
    if (where_ != Where::answer && where_ != Where::start) return {};
    std::string unread = without_control_signs(text_.unread());
    if (skips_space_) {
        const auto is_text = [](char c) { return !is_space(c); };
        unread.erase(unread.begin(), std::find_if(unread.begin(), unread.end(), is_text));
        if (unread.empty()) return {};
    }
    return spaces_ + unread;
}

bool MarkedParser::reaches_answer(std::string_view text) const {
    if (is_behind_call_marker()) return !may_begin_call(text);
    if (is_in_answer() || is_control(text)) return false;
    // A view of the format's own text: "" beside it would make a string that ends here.
    std::string_view close;
    if (!format_.thoughts.empty()) close = format_.thoughts.front().close;
    if (where_ != Where::thought) close = reader_->format().close;
    if (close.empty() || is_control(close)) return false;
    // Only the end of what is unread can be a part of the marker.
    const std::string_view unread = text_.unread();
    std::string all(unread.substr(unread.size() - std::min(unread.size(), close.size() - 1)));
    all += text;
    const size_t found = all.find(close);
    return found != std::string::npos && !trimmed(all).ends_with(close);
}

void MarkedParser::advance() {
    bool goes_on = true;
    while (goes_on) {
        switch (where_) {
            case Where::start:
                goes_on = read_start();
                break;
            case Where::thought:
                goes_on = read_thought();
                break;
            case Where::answer:
                goes_on = read_answer();
                break;
            case Where::call:
                goes_on = read_call();
                break;
            case Where::broken_call:
                goes_on = read_broken_call();
                break;
        }
    }
}

// Nothing has been said yet: a thought may open here, or a call that has no marker.
bool MarkedParser::read_start() {
    const size_t place = text_.skip_space(0);
    if (place == text_.size() && !text_.is_closed()) return false;
    for (const std::string& marker : format_.silent) {
        const Fit fit = text_.fits(place, marker);
        if (fit == Fit::maybe) return false;
        if (fit == Fit::yes) {
            text_.read(place + marker.size());
            ++num_departures_;
            return true;
        }
    }
    if (!format_.thoughts.empty() && !is_thought_over_) {
        const std::string& open = format_.thoughts.front().open;
        const Fit fit = text_.fits(place, open);
        if (fit == Fit::maybe) return false;
        if (fit == Fit::yes) {
            begin_thought(place + open.size());
            return true;
        }
    }
    for (size_t i = 0; i < readers_.size(); ++i) {
        if (!format_.calls[i].open.empty()) continue;
        const Fit fit = readers_[i]->begins(text_, place);
        if (fit == Fit::maybe) return false;
        if (fit == Fit::yes) return begin_call(i, place);
    }
    where_ = Where::answer;
    skips_space_ = is_thought_over_;
    return true;
}

void MarkedParser::begin_thought(size_t num_bytes) {
    text_.read(num_bytes);
    spaces_.clear();
    is_thought_begun_ = false;
    where_ = Where::thought;
    ++num_departures_;
}

bool MarkedParser::read_thought() {
    const ThoughtMarkers& thought = format_.thoughts.front();
    if (!is_thought_begun_) {
        // The prompt and the model may both have opened it.
        const size_t place = text_.skip_space(0);
        const Fit fit = text_.fits(place, thought.open);
        if (fit == Fit::maybe || (place == text_.size() && !text_.is_closed())) return false;
        if (fit == Fit::yes) {
            text_.read(place + thought.open.size());
            return true;
        }
    }
    const std::string_view unread = text_.unread();
    for (size_t place = 0; place < unread.size(); ++place) {
        place = unread.find_first_of(first_bytes_, place);
        if (place == std::string_view::npos) break;
        const Fit close = text_.fits(place, thought.close);
        if (close == Fit::yes) return end_thought(place, thought.close.size());
        Fit call = Fit::no;
        for (const CallFormat& format : format_.calls) {
            if (!is_control(format.open) || call == Fit::yes) continue;
            const Fit fit = text_.fits(place, format.open);
            if (fit != Fit::no) call = fit;
        }
        if (call == Fit::yes) return end_thought(place, 0);
        if (close == Fit::maybe || call == Fit::maybe) {
            take(place);
            return false;
        }
    }
    take(unread.size());
    return false;
}

bool MarkedParser::end_thought(size_t place, size_t marker_bytes) {
    take(place);
    spaces_.clear();
    text_.read(marker_bytes);
    is_thought_over_ = true;
    // What may stand at the start of a reply may stand here too.
    where_ = Where::start;
    return true;
}

bool MarkedParser::read_answer() {
    for (size_t from = 0;;) {
        const size_t place = text_.unread().find_first_of(first_bytes_, from);
        if (place == std::string_view::npos) break;
        // The fences must know all that comes before.
        take(place);
        switch (read_marker()) {
            case Marker::taken:
                return true;
            case Marker::undecided:
                return false;
            case Marker::none:
                from = 1;
                break;
        }
    }
    take(text_.size());
    return false;
}

/// What stands at the beginning of the unread text.
MarkedParser::Marker MarkedParser::read_marker() {
    const bool is_control_token = text_.at(0) == kControlSign;
    const bool is_code = fences_.is_inside() && !is_control_token;
    bool is_undecided = false;
    for (const std::string& marker : format_.silent) {
        const Fit fit = text_.fits(0, marker);
        if (fit == Fit::yes) {
            text_.read(marker.size());
            ++num_departures_;
            return Marker::taken;
        }
        is_undecided = is_undecided || fit == Fit::maybe;
    }
    for (size_t i = 0; i < readers_.size() && !is_code; ++i) {
        const CallFormat& format = format_.calls[i];
        if (format.open.empty() || (format.is_fence && !fences_.is_at_line_start())) continue;
        Fit fit = text_.fits(0, format.open);
        if (fit == Fit::yes) fit = readers_[i]->begins(text_, format.open.size());
        if (fit == Fit::yes && !is_undecided) {
            begin_call(i, format.open.size());
            return Marker::taken;
        }
        is_undecided = is_undecided || fit == Fit::maybe;
    }
    if (is_control_token && !format_.thoughts.empty()) {
        // Said with a token of its own, a thought may come anywhere.
        const std::string& open = format_.thoughts.front().open;
        const Fit fit = text_.fits(0, open);
        if (fit == Fit::yes) {
            begin_thought(open.size());
            return Marker::taken;
        }
        is_undecided = is_undecided || fit == Fit::maybe;
    }
    if (!is_code && may_close_unopened()) {
        const std::string& close = format_.thoughts.front().close;
        Fit fit = text_.fits(0, close);
        // On a line of its own, or at the end of one: elsewhere it is a mention.
        if (fit == Fit::yes && !is_control_token && !fences_.is_at_line_start()) {
            const Fit line_end = text_.fits(close.size(), "\n");
            fit = line_end == Fit::no && text_.size() == close.size() ? Fit::yes : line_end;
        }
        if (fit == Fit::yes) {
            close_unopened_thought(close.size());
            return Marker::taken;
        }
        is_undecided = is_undecided || fit == Fit::maybe;
    }
    return is_undecided ? Marker::undecided : Marker::none;
}

bool MarkedParser::may_close_unopened() const {
    return !format_.thoughts.empty() && !is_thought_over_ && !has_calls_;
}

void MarkedParser::close_unopened_thought(size_t marker_bytes) {
    if (has_answer_text_) sink_.on_answer_was_thought();
    spaces_.clear();
    fences_.reset();
    text_.read(marker_bytes);
    has_answer_text_ = false;
    is_thought_over_ = true;
    where_ = Where::start;
    ++num_departures_;
}

bool MarkedParser::begin_call(size_t reader, size_t place) {
    // The white space before it is said if more of the answer follows.
    reader_ = readers_[reader].get();
    reader_->start(place);
    has_calls_ = true;
    where_ = Where::call;
    ++num_departures_;
    return true;
}

bool MarkedParser::read_call() {
    switch (reader_->read(text_, builder_)) {
        case Reading::more:
            return false;
        case Reading::done:
            where_ = Where::answer;
            skips_space_ = true;
            return true;
        case Reading::broken:
            // Not before the first byte, which is part of the open marker or of the call.
            search_from_ = 1;
            where_ = Where::broken_call;
            return true;
    }
    return false;
}

// A broken call ends with its first closing marker, before the next call where there is none, or
// with the reply.
bool MarkedParser::read_broken_call() {
    const CallFormat& format = reader_->format();
    const std::string_view unread = text_.unread();
    size_t end = std::string_view::npos, longest = 1;
    bool is_call_end = false;
    for (const std::string* marker : {&format.call_close, &format.close}) {
        if (marker->empty()) continue;
        longest = std::max(longest, marker->size());
        const size_t found = unread.find(*marker, search_from_);
        if (found == std::string_view::npos || found + marker->size() > end) continue;
        end = found + marker->size();
        is_call_end = marker == &format.call_close;
    }
    if (format.close.empty() && format.call_close.empty() && !format.open.empty()) {
        longest = format.open.size();
        end = unread.find(format.open, search_from_);
    }
    if (end == std::string_view::npos) {
        search_from_ = std::max(search_from_, unread.size() - std::min(unread.size(), longest - 1));
        if (!text_.is_closed()) return false;
        end = unread.size();
    }
    builder_.fail(reader_->problem(), unread.substr(0, end));
    text_.read(end);
    if (is_call_end && !format.close.empty()) {
        reader_->resume();
        where_ = Where::call;
    } else {
        where_ = Where::answer;
        skips_space_ = true;
    }
    return true;
}

/// Takes text out of the buffer and says it, but for white space at its end, which a marker may
/// follow.
void MarkedParser::take(size_t num_bytes) {
    std::string_view text = text_.unread().substr(0, num_bytes);
    if (where_ == Where::answer) fences_.push(text);
    if (skips_space_ || (where_ == Where::thought && !is_thought_begun_)) {
        while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    }
    size_t end = text.size();
    if (where_ == Where::thought || may_close_unopened() || !format_.calls.empty()) {
        while (end > 0 && is_space(text[end - 1])) --end;
    }
    if (end > 0) {
        say(spaces_);
        spaces_.clear();
        say(text.substr(0, end));
        skips_space_ = false;
    }
    spaces_ += text.substr(end);
    text_.read(num_bytes);
}

void MarkedParser::say(std::string_view text) {
    // The sign of a control token that turned out to be part of no marker.
    while (!text.empty()) {
        const size_t sign = text.find(kControlSign);
        const std::string_view part = text.substr(0, sign);
        if (!part.empty()) {
            if (where_ == Where::thought) {
                if (has_thought_text_ && !is_thought_begun_) sink_.on_thought("\n\n");
                has_thought_text_ = is_thought_begun_ = true;
                sink_.on_thought(part);
            } else {
                has_answer_text_ = true;
                sink_.on_answer(part);
            }
        }
        if (sign == std::string_view::npos) break;
        text.remove_prefix(sign + 1);
    }
}

}  // namespace hokku::reply
