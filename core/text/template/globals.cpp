// SPDX-License-Identifier: Apache-2.0
// The functions that every template can call.
#include <fmt/format.h>

#include "text/template/builtin.h"
#include "text/template/iterator.h"
#include "text/template/methods.h"
#include "text/template/repr.h"
#include "text/template/strftime.h"

namespace hokku::jinja {

namespace {

constexpr int64_t kMaxRange = 100'000;  // as Jinja's sandbox

Value cycler(Runtime& runtime, const Value&, Arguments& arguments) {
    if (arguments.size() == 0) return runtime.fail("at least one item has to be provided");
    return Value(make_object<Cycler>(runtime.heap(), 0, std::move(arguments.positional)));
}

Value dict(Runtime& runtime, const Value&, Arguments& arguments) {
    const auto out = runtime.dict();
    return update_dict(runtime, *out, arguments) ? Value(out) : runtime.fail("");
}

Value joiner(Runtime& runtime, const Value&, Arguments& arguments) {
    return Value(make_object<Joiner>(runtime.heap(), 0,
                                     arguments.has(0) ? arguments[0] : runtime.string(", ")));
}

Value name_space(Runtime& runtime, const Value&, Arguments& arguments) {
    auto out = runtime.dict();
    if (!update_dict(runtime, *out, arguments)) return runtime.fail("");
    return Value(make_object<Namespace>(runtime.heap(), 0, std::move(out)));
}

Value raise_exception(Runtime& runtime, const Value&, Arguments& arguments) {
    Text scratch;
    return runtime.refuse(str(runtime, arguments[0], scratch).bytes);
}

Value range(Runtime& runtime, const Value&, Arguments& arguments) {
    const int64_t first = integer_argument(runtime, arguments[0]);
    const int64_t start = arguments.has(1) ? first : 0;
    const int64_t stop = arguments.has(1) ? integer_argument(runtime, arguments[1]) : first;
    const int64_t step = arguments.has(2) ? integer_argument(runtime, arguments[2]) : 1;
    if (step == 0) return runtime.fail("range() arg 3 must not be zero");
    auto out = make_object<Range>(runtime.heap(), 0, start, stop, step);
    if (out->count > kMaxRange) {
        return runtime.fail_limit(fmt::format(
            "Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).", kMaxRange));
    }
    return Value(out);
}

Value strftime_now(Runtime& runtime, const Value&, Arguments& arguments) {
    const Text& pattern = text_argument(runtime, arguments[0]);
    if (pattern.size() > 1000) return runtime.fail("a time format of more than 1000 bytes");
    return runtime.string(format_time(pattern.bytes, runtime.now()));
}

constexpr Builtin kGlobals[] = {
    {"cycler", "*", cycler},
    {"dict", "*", dict},
    {"joiner", "sep?", joiner},
    {"namespace", "*", name_space},
    {"raise_exception", "message", raise_exception},
    {"range", "start stop? step?", range},
    {"strftime_now", "format", strftime_now},
};

}  // namespace

const Builtin* find_global(std::string_view name) {
    return find_builtin(kGlobals, name);
}

}  // namespace hokku::jinja
