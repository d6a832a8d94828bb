// SPDX-License-Identifier: Apache-2.0
// The built-in tests: "x is defined", "x is divisibleby(3)".
#include <fmt/format.h>

#include "text/template/builtin.h"
#include "text/template/compare.h"
#include "text/template/iterator.h"
#include "text/template/methods.h"
#include "text/template/operators.h"
#include "text/template/repr.h"
#include "text/template/unicode.h"

namespace hokku::jinja {

namespace {

template <Kind kind>
Value is_kind(Runtime&, const Value& self, Arguments&) {
    return Value::boolean(self.is(kind));
}

Value is_boolean(Runtime&, const Value& self, Arguments&) {
    return Value::boolean(self.is(Kind::boolean));
}

Value is_callable(Runtime&, const Value& self, Arguments&) {
    switch (self.kind()) {
        case Kind::function:
        case Kind::method:
        case Kind::macro:
        case Kind::loop:
        case Kind::joiner:
        case Kind::undefined:
            return Value::boolean(true);
        default:
            return Value::boolean(false);
    }
}

Value is_defined(Runtime&, const Value& self, Arguments&) {
    return Value::boolean(!self.is_undefined());
}

Value is_divisible(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Value rest = apply_operator(runtime, TokenType::mod, self, arguments[0]);
    return Value::boolean(rest.is_number() && rest.as_double() == 0);
}

template <int64_t remainder>
Value has_remainder(Runtime& runtime, const Value& self, Arguments&) {
    const Value rest = apply_operator(runtime, TokenType::mod, self, Value::integer(2));
    return Value::boolean(rest.is_number() && rest.as_double() == static_cast<double>(remainder));
}

Value is_equal(Runtime& runtime, const Value& self, Arguments& arguments) {
    return Value::boolean(runtime.equal(self, arguments[0]));
}

Value is_not_equal(Runtime& runtime, const Value& self, Arguments& arguments) {
    return Value::boolean(!runtime.equal(self, arguments[0]));
}

// Nothing is ever escaped here.
Value is_escaped(Runtime&, const Value&, Arguments&) {
    return Value::boolean(false);
}

template <bool truth>
Value is_truth(Runtime&, const Value& self, Arguments&) {
    return Value::boolean(self.is(Kind::boolean) && self.as_boolean() == truth);
}

Value is_filter(Runtime&, const Value& self, Arguments&) {
    return Value::boolean(self.is_string() && find_filter(self.as_string().view()) != nullptr);
}

Value is_test(Runtime&, const Value& self, Arguments&) {
    return Value::boolean(self.is_string() && find_test(self.as_string().view()) != nullptr);
}

Value is_in(Runtime& runtime, const Value& self, Arguments& arguments) {
    return Value::boolean(contains(runtime, arguments[0], self));
}

Value is_integer(Runtime&, const Value& self, Arguments&) {
    return Value::boolean(self.is(Kind::integer) || self.is(Kind::big_integer));
}

Value is_iterable_test(Runtime&, const Value& self, Arguments&) {
    return Value::boolean(is_iterable(self));
}

Value is_number_test(Runtime&, const Value& self, Arguments&) {
    return Value::boolean(self.is_number() || self.is(Kind::big_integer));
}

template <char first, char second>
Value is_ordered(Runtime& runtime, const Value& self, Arguments& arguments) {
    constexpr char kOp[] = {first, second, '\0'};
    return Value::boolean(runtime.ordered(self, arguments[0], kOp));
}

Value is_same(Runtime&, const Value& self, Arguments& arguments) {
    const Value& other = arguments[0];
    if (self.kind() != other.kind()) return Value::boolean(false);
    if (self.kind() == Kind::floating) return Value::boolean(self.as_double() == other.as_double());
    if (self.kind() < Kind::undefined) return Value::boolean(equals(self, other));
    return Value::boolean(self.object() == other.object());
}

Value is_sequence(Runtime&, const Value& self, Arguments&) {
    return Value::boolean(self.is_string() || self.is_sequence() || self.is(Kind::dict) ||
                          self.is(Kind::range) || self.is_undefined());
}

constexpr Builtin kTests[] = {
    {"!=", "other", is_not_equal},
    {"<", "other", is_ordered<'<', '\0'>},
    {"<=", "other", is_ordered<'<', '='>},
    {"==", "other", is_equal},
    {">", "other", is_ordered<'>', '\0'>},
    {">=", "other", is_ordered<'>', '='>},
    {"boolean", "", is_boolean},
    {"callable", "", is_callable},
    {"defined", "", is_defined},
    {"divisibleby", "num", is_divisible},
    {"eq", "other", is_equal},
    {"equalto", "other", is_equal},
    {"escaped", "", is_escaped},
    {"even", "", has_remainder<0>},
    {"false", "", is_truth<false>},
    {"filter", "", is_filter},
    {"float", "", is_kind<Kind::floating>},
    {"ge", "other", is_ordered<'>', '='>},
    {"greaterthan", "other", is_ordered<'>', '\0'>},
    {"gt", "other", is_ordered<'>', '\0'>},
    {"in", "seq", is_in},
    {"integer", "", is_integer},
    {"iterable", "", is_iterable_test},
    {"le", "other", is_ordered<'<', '='>},
    {"lessthan", "other", is_ordered<'<', '\0'>},
    {"lower", "", is_cased_text<false>},
    {"lt", "other", is_ordered<'<', '\0'>},
    {"mapping", "", is_kind<Kind::dict>},
    {"ne", "other", is_not_equal},
    {"none", "", is_kind<Kind::none>},
    {"number", "", is_number_test},
    {"odd", "", has_remainder<1>},
    {"sameas", "other", is_same},
    {"sequence", "", is_sequence},
    {"string", "", is_kind<Kind::string>},
    {"test", "", is_test},
    {"true", "", is_truth<true>},
    {"undefined", "", is_kind<Kind::undefined>},
    {"upper", "", is_cased_text<true>},
};

}  // namespace

template <bool wants_upper>
Value is_cased_text(Runtime& runtime, const Value& self, Arguments&) {
    Text scratch;
    const std::string_view text = str(runtime, self, scratch).bytes;
    bool has_wanted = false;
    for (size_t i = 0; i < text.size();) {
        const char32_t c = next_char(text, i);
        if (is_title(c) || (wants_upper ? is_lower(c) : is_upper(c))) return Value::boolean(false);
        has_wanted = has_wanted || (wants_upper ? is_upper(c) : is_lower(c));
    }
    return Value::boolean(has_wanted);
}
template Value is_cased_text<true>(Runtime&, const Value&, Arguments&);
template Value is_cased_text<false>(Runtime&, const Value&, Arguments&);

const Builtin* find_test(std::string_view name) {
    return find_builtin(kTests, name);
}

}  // namespace hokku::jinja
