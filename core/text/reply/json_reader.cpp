// SPDX-License-Identifier: Apache-2.0
// Calls as JSON objects, alone, one after another or in an array.
// Sources: Hermes 2 Pro and Qwen2.5/3 {"name", "arguments"}; Llama 3.1 {"name", "parameters"};
// Command R {"tool_name", "parameters"}; Mistral 7B v0.3 [{"name", "arguments", "id"}]; Apertus
// [{NAME: arguments}]; each as its chat template writes and describes it.
#include <optional>

#include "text/reply/call_reader.h"
#include "text/reply/json_pieces.h"

namespace hokku::reply {
namespace {

constexpr std::string_view kNotJson = "it is not valid JSON";

enum class Key { other, name, arguments, id };

Key key_of(std::string_view key, bool is_name_the_key) {
    if (is_name_the_key) return Key::arguments;
    if (key == "name" || key == "tool_name") return Key::name;
    if (key == "arguments" || key == "parameters") return Key::arguments;
    return key == "id" || key == "tool_call_id" ? Key::id : Key::other;
}

/// Finds name, id and arguments in an object that comes byte by byte.
class CallScanner {
  public:
    explicit CallScanner(bool is_name_the_key) : is_name_the_key_(is_name_the_key) {}

    BracketScanner::Step push(char c, size_t place) {
        const bool was_in_string = brackets_.is_in_string();
        const size_t old_depth = brackets_.depth();
        const auto step = brackets_.push(c);
        if (step == BracketScanner::Step::broken) return step;
        if (old_depth == 1) step_in_object(c, place, was_in_string);
        if (old_depth == 2 && brackets_.depth() == 1 && phase_ == Phase::value)
            end_value(place + 1);
        return phase_ == Phase::wrong ? BracketScanner::Step::broken : step;
    }

    [[nodiscard]] bool has_name() const { return has_name_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::string& id() const { return id_; }
    /// Of the value of the arguments; the end is 0 while it goes on.
    [[nodiscard]] size_t arguments_begin() const { return arguments_begin_; }
    [[nodiscard]] size_t arguments_end() const { return arguments_end_; }
    /// No call has a key like one that has been seen.
    [[nodiscard]] bool has_foreign_key() const { return has_foreign_key_; }

  private:
    enum class Phase { key, colon, value, after_value, wrong };

    void step_in_object(char c, size_t place, bool was_in_string) {
        if (brackets_.is_in_string() || was_in_string) return step_in_string(c, place);
        const bool ends = c == ',' || c == '}';
        if (is_scalar_ && (ends || is_space(c))) end_value(place);
        if (is_space(c)) return;
        switch (phase_) {
            case Phase::key:
                if (c != '}') phase_ = Phase::wrong;
                return;
            case Phase::colon:
                phase_ = c == ':' ? Phase::value : Phase::wrong;
                return;
            case Phase::value:
                if (!is_scalar_) begin_value(place);
                is_scalar_ = c != '{' && c != '[';
                if (ends || c == ':') phase_ = Phase::wrong;
                return;
            case Phase::after_value:
                phase_ = c == ',' ? Phase::key : c == '}' ? Phase::after_value : Phase::wrong;
                return;
            case Phase::wrong:
                return;
        }
    }
    void step_in_string(char c, size_t place) {
        if (phase_ != Phase::key && phase_ != Phase::value) phase_ = Phase::wrong;
        if (string_.empty() && phase_ == Phase::value) begin_value(place);
        // Of other strings, which may be long, only that they have begun.
        const bool is_wanted = phase_ == Phase::key || key_ == Key::name || key_ == Key::id;
        if (is_wanted || string_.empty()) string_ += c;
        if (brackets_.is_in_string()) return;
        if (phase_ == Phase::key) {
            const std::string key = decode_json_string(string_).value_or("");
            key_ = key_of(key, is_name_the_key_);
            if (key_ == Key::other && key != "type" && key != "function") has_foreign_key_ = true;
            const bool is_second =
                is_name_the_key_ ? has_name_ : key_ == Key::arguments && arguments_begin_ > 0;
            phase_ = is_second ? Phase::wrong : Phase::colon;
            if (is_name_the_key_) set_name(key);
        } else if (phase_ == Phase::value) {
            end_value(place + 1);
        }
        string_.clear();
    }
    void begin_value(size_t place) {
        if (key_ != Key::arguments) return;
        if (arguments_begin_ != 0) {  // twice
            phase_ = Phase::wrong;
            return;
        }
        arguments_begin_ = place;
    }
    void end_value(size_t place) {
        phase_ = Phase::after_value;
        is_scalar_ = false;
        if (key_ == Key::arguments) arguments_end_ = place;
        if (key_ == Key::name) set_name(decode_json_string(string_).value_or(""));
        // One that comes behind the name comes too late: the call has been told of.
        if (key_ == Key::id && !has_name_) id_ = decode_json_string(string_).value_or("");
    }
    void set_name(const std::string& name) {
        if (has_name_ || name.empty()) return;
        has_name_ = true;
        name_ = name;
    }

    BracketScanner brackets_;
    Phase phase_ = Phase::key;
    Key key_ = Key::other;
    bool is_name_the_key_, is_scalar_ = false, has_name_ = false, has_foreign_key_ = false;
    std::string string_, name_, id_;
    size_t arguments_begin_ = 0, arguments_end_ = 0;
};

class JsonReader final : public CallReader {
  public:
    using CallReader::CallReader;

    Fit begins(const ReplyBuffer& in, size_t place) const override {
        place = in.skip_space(place);
        if (place == in.size()) return in.fits(place, "{");
        if (in.at(place) == '[') {
            place = in.skip_space(place + 1);
            if (place == in.size()) return in.fits(place, "{");
        }
        if (in.at(place) != '{') return Fit::no;
        return format_.only_known_tools ? is_known_call(in, place) : Fit::yes;
    }

    Reading read(ReplyBuffer& in, CallBuilder& out) override {
        for (;;) {
            if (!scanner_) {
                const Reading reading = read_between(in, out);
                if (!scanner_) return reading;
            }
            const BracketScanner::Step step = scan(in);
            send(in, out);
            if (step == BracketScanner::Step::broken) return fail(kNotJson);
            if (step == BracketScanner::Step::more)
                return in.is_closed() ? fail("the reply ends within it") : Reading::more;
            if (!is_json(in.unread().substr(begin_, place_ - begin_))) return fail(kNotJson);
            end_call(place_);
            scanner_.reset();
            if (format_.close.empty() && !is_in_list_) finish_call(in, out, place_);
        }
    }

  private:
    void reset() override {
        scanner_.reset();
        is_in_list_ = false;
    }

    /// Goes to the next object or to the end of the block.
    Reading read_between(ReplyBuffer& in, CallBuilder& out) {
        for (;; ++place_) {
            while (place_ < in.size() && is_space(in.at(place_))) ++place_;
            if (place_ == in.size())
                return in.is_closed() ? close_block(in, out, place_) : Reading::more;
            const char c = in.at(place_);
            if (c == '{') return begin_object(in, out);
            if (c == '[' && !is_in_list_) {
                is_in_list_ = true;
            } else if (c == ']' && is_in_list_) {
                is_in_list_ = false;
                if (format_.close.empty()) return close_block(in, out, place_ + 1);
                if (has_ended_call()) call_end_ = place_ + 1;
            } else if (c != ',' && c != ';') {
                const Fit fit = format_.close.empty() ? Fit::no : in.fits(place_, format_.close);
                if (fit == Fit::maybe) return Reading::more;
                if (fit == Fit::yes) return close_block(in, out, place_ + format_.close.size());
                return leave_block(in, out);  // what is no call is answer again
            }
        }
    }
    Reading begin_object(ReplyBuffer& in, CallBuilder& out) {
        if (format_.only_known_tools) {
            const Fit fit = is_known_call(in, place_);
            if (fit == Fit::maybe) return Reading::more;
            if (fit == Fit::no) return leave_block(in, out);
        }
        if (has_ended_call()) finish_call(in, out, place_);
        begin_ = place_;
        num_sent_ = 0;
        scanner_.emplace(format_.is_name_the_key);
        return Reading::more;
    }
    BracketScanner::Step scan(const ReplyBuffer& in) {
        while (place_ < in.size()) {
            const auto step = scanner_->push(in.at(place_), place_);
            if (step == BracketScanner::Step::broken) return step;
            ++place_;
            if (step == BracketScanner::Step::done) return step;
        }
        return BracketScanner::Step::more;
    }

    /// Hands on what is known by now.
    void send(const ReplyBuffer& in, CallBuilder& out) {
        const CallScanner& scanner = *scanner_;
        if (scanner.has_name() && !out.has_name()) out.set_name(scanner.name(), scanner.id());
        const size_t begin = scanner.arguments_begin();
        if (begin == 0) return;
        const bool is_whole = scanner.arguments_end() != 0;
        const size_t end = is_whole ? scanner.arguments_end() : place_;
        const std::string_view value = in.unread().substr(begin, end - begin);
        if (value.starts_with('{')) {
            out.add_arguments(value.substr(num_sent_));
            num_sent_ = value.size();
        } else if (is_whole && num_sent_ == 0) {
            // Some models put the object into a string; null stands for none.
            const auto inner = decode_json_string(value);
            out.add_arguments(inner ? *inner : value == "null" ? "{}" : value);
            num_sent_ = value.size();
        }
    }

    /// Whether the object at `place` is a call of a tool that was offered. Looks at a limited text,
    /// as it is held back until then.
    Fit is_known_call(const ReplyBuffer& in, size_t place) const {
        constexpr size_t kMostBytes = 4096;
        CallScanner scanner(format_.is_name_the_key);
        for (size_t i = place; i < in.size() && i < place + kMostBytes; ++i) {
            const auto step = scanner.push(in.at(i), i);
            if (scanner.has_name()) return tools_.has(scanner.name()) ? Fit::yes : Fit::no;
            if (step != BracketScanner::Step::more || scanner.has_foreign_key()) return Fit::no;
        }
        return in.is_closed() || in.size() >= place + kMostBytes ? Fit::no : Fit::maybe;
    }

    std::optional<CallScanner> scanner_;  ///< Of the object that is being read.
    bool is_in_list_ = false;
    size_t begin_ = 0;     ///< Of the object.
    size_t num_sent_ = 0;  ///< Bytes of the arguments handed on.
};

}  // namespace

std::unique_ptr<CallReader> make_json_reader(const CallFormat& format, const ToolList& tools) {
    return std::make_unique<JsonReader>(format, tools);
}

}  // namespace hokku::reply
