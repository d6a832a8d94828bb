// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "text/template/json.h"
#include "text/template/runtime.h"

namespace hokku::jinja {

namespace {

// Receives the parser's events and builds values. Containers are kept on an explicit stack.
class ValueBuilder : public nlohmann::json_sax<nlohmann::json> {
  public:
    explicit ValueBuilder(Runtime& runtime) : runtime_(runtime) {}

    bool null() override { return put(Value::none()); }
    bool boolean(bool value) override { return put(Value::boolean(value)); }
    bool number_integer(number_integer_t value) override { return put(Value::integer(value)); }
    bool number_unsigned(number_unsigned_t value) override {
        if (value <= static_cast<uint64_t>(INT64_MAX)) {
            return put(Value::integer(static_cast<int64_t>(value)));
        }
        return put(big_integer(std::to_string(value)));
    }
    bool number_float(number_float_t value, const string_t& text) override {
        // The parser gives integers beyond 64 bits as floats; their text tells them apart.
        if (text.find_first_of(".eE") == std::string::npos) return put(big_integer(text));
        return put(Value::floating(value));
    }
    bool string(string_t& value) override {
        return put(runtime_.string(Text(std::move(value), true)));
    }
    bool binary(binary_t&) override { return false; }
    bool start_object(std::size_t) override {
        const auto dict = runtime_.dict();
        dict->is_content = true;
        return open(Value(dict));
    }
    bool key(string_t& value) override {
        keys_.back() = runtime_.string(Text(std::move(value), true));
        return !runtime_.failed();
    }
    bool end_object() override { return close(); }
    bool start_array(std::size_t) override {
        Value list = runtime_.list({});
        list.as_list().is_content = true;
        return open(std::move(list));
    }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::json::exception&) override {
        message_ = fmt::format("not well-formed JSON at byte {}", position);
        return false;
    }

    [[nodiscard]] const Value& result() const { return result_; }
    [[nodiscard]] const std::string& message() const { return message_; }

  private:
    Value big_integer(std::string digits) {
        const size_t bytes = digits.size();
        return Value(make_object<BigInteger>(runtime_.heap(), bytes, std::move(digits)));
    }

    bool put(Value value) {
        if (!runtime_.spend()) return false;
        if (stack_.empty()) {
            result_ = std::move(value);
        } else if (stack_.back().is(Kind::dict)) {
            stack_.back().as_dict().set(keys_.back(), std::move(value));
        } else {
            stack_.back().as_list().push(std::move(value));
        }
        return true;
    }

    bool open(Value container) {
        if (stack_.size() >= static_cast<size_t>(kMaxNesting)) {
            message_ = fmt::format("nested deeper than {} levels", kMaxNesting);
            return false;
        }
        if (!put(container)) return false;
        stack_.push_back(std::move(container));
        keys_.emplace_back();
        return true;
    }

    bool close() {
        stack_.pop_back();
        keys_.pop_back();
        return true;
    }

    Runtime& runtime_;
    std::vector<Value> stack_, keys_;
    Value result_;
    std::string message_;
};

}  // namespace

std::optional<Value> read_json(Runtime& runtime, std::string_view text, std::string& message) {
    ValueBuilder builder(runtime);
    if (nlohmann::json::sax_parse(text, &builder) && !runtime.failed()) return builder.result();
    message = runtime.failed() ? runtime.error()->what : builder.message();
    return std::nullopt;
}

}  // namespace hokku::jinja
